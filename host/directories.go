package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/host/directory/schedule"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/telemetry"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// openDirectories comes after plugins and applications: a schedule may be due at
// once.
func (h *Host) openDirectories(ctx context.Context, cfg *config.Config, plugins map[string]*pluginhost.Plugin) error {
	for _, name := range sorted(cfg.Directories) {
		d := cfg.Directories[name]
		importer, err := plugins[d.Importer].Importer()
		if err != nil {
			return fmt.Errorf("directory %q: %w", name, err)
		}
		due, err := schedule.Parse(d.Schedule)
		if err != nil {
			return fmt.Errorf("directory %q: schedule: %w", name, err)
		}
		app := h.apps[d.Application]
		o := directory.Options{
			Name: name, ApplicationName: d.Application, Source: d.Source, ImporterName: d.Importer, Authoritative: d.Authoritative,
			MaxDeactivations: d.MaxDeactivations, Timeout: d.Timeout, Jitter: d.Jitter, Cron: d.Schedule,
			Importer: importer, Store: app.store, Logger: h.log.Named(name),
			Application: func() directory.Target { return app.current.Load() },
		}
		if !due.Never() {
			o.Schedule = due
		}
		if o.Host, err = os.Hostname(); err != nil {
			o.Host = "" // shown to people only
		}
		h.dirs = append(h.dirs, directory.Open(ctx, o))
	}
	return nil
}

// closeDirectories closes them at once: each may have commits to wait for.
func (h *Host) closeDirectories(ctx context.Context) error {
	errs := make([]error, len(h.dirs))
	var closing sync.WaitGroup
	for i, d := range h.dirs {
		closing.Go(func() { errs[i] = d.Close(ctx) })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// Directory finds a directory by its name.
func (h *Host) Directory(name string) (*directory.Directory, bool) {
	for _, d := range h.dirs {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

func (c control) Directories(ctx context.Context) ([]directory.Status, error) {
	list := []directory.Status{}
	for _, d := range c.host.dirs {
		list = append(list, d.Status(ctx))
	}
	return list, nil
}

func (c control) RunDirectory(ctx context.Context, name string, r directory.Request) (directory.Report, error) {
	d, err := c.directory(name)
	if err != nil {
		return directory.Report{}, err
	}
	return d.Run(ctx, r)
}

func (c control) CancelDirectory(_ context.Context, name string) (bool, error) {
	d, err := c.directory(name)
	if err != nil {
		return false, err
	}
	return d.Cancel(), nil
}

func (c control) directory(name string) (*directory.Directory, error) {
	if d, ok := c.host.Directory(name); ok {
		return d, nil
	}
	names := sorted(c.host.config.Load().Directories)
	if near := spell.Nearest(name, names); near != "" {
		return nil, authz.Rejected(authz.CodeNotFound, "no directory %s is configured; did you mean %s?", spell.Quote(name), near)
	}
	return nil, authz.Rejected(authz.CodeNotFound, "no directory %s is configured", spell.Quote(name))
}

// readyDetails tells a prober who asks for more; it is no condition of readiness.
func (h *Host) readyDetails() map[string]any {
	if len(h.dirs) == 0 {
		return nil
	}
	type last struct {
		State  string             `json:"state"`
		Last   *directory.Outcome `json:"last"`
		NextAt int64              `json:"next,omitempty"`
	}
	directories := map[string]last{}
	for _, d := range h.dirs {
		s := d.Known()
		directories[s.Name] = last{s.State, s.Last, s.Next}
	}
	return map[string]any{"directories": directories}
}

func (h *Host) directoryFacts() (facts []telemetry.Directory) {
	for _, d := range h.dirs {
		s := d.Known()
		f := telemetry.Directory{Name: s.Name, Runs: map[string]uint64{}}
		for _, r := range directory.Results() {
			f.Runs[string(r)] = s.Runs[r]
		}
		if s.Last != nil {
			f.LastDuration = float64(s.Last.EndedAt-s.Last.StartedAt) / 1000
		}
		if o := s.LastSuccess; o != nil {
			f.Succeeded, f.LastSuccess = true, float64(o.EndedAt)/1000
			f.People, f.Groups, f.Warnings = o.People, o.Groups, o.Warnings
		}
		facts = append(facts, f)
	}
	return facts
}
