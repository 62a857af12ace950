package host

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/anchor"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/host/pluginhost"
)

// Options is what a program gives a host beside its configuration.
type Options struct {
	// Version is what status reports.
	Version string

	// Embedded are the plugins that the program's own binary carries, by name.
	Embedded map[string]pluginhost.Command

	// Logger takes everything; nil is silent.
	Logger hclog.Logger

	// AccessLog receives one whole line a request when log.access is set. One
	// goroutine at a time writes to it. nil receives none.
	AccessLog io.Writer

	// Applications holds what the program gives to configured applications, by name.
	Applications map[string]ApplicationOptions

	// Clock and IDs are seams for tests; several goroutines call them. Clock is the
	// time of every application, in epoch milliseconds; nil is the wall clock. IDs
	// makes the ids of new rows and audit entries; nil makes random UUIDs.
	Clock func() int64
	IDs   func() string
}

// Host is a running host. Open makes it and Close ends it.
type Host struct {
	options   Options
	log       hclog.Logger
	startedAt time.Time

	config  atomic.Pointer[config.Config]
	refused struct{ config, catalogs atomic.Bool } // the last time that they were read again

	certificate atomic.Pointer[x509.Certificate] // that listen shows; nil without TLS

	plugins *pluginhost.Host
	sinks   []countSink // of every application
	apps    map[string]*served
	dirs    []*directory.Directory // by name
	service *hostedService         // nil when it is off
	anchors *anchor.Anchors        // nil when it is off
	servers []*listener

	observation observation

	ready    atomic.Bool // Open went through and Close has not begun
	failures chan error
	close    sync.Once
	closed   error
}

// Open starts a host. It builds the catalogs, starts the plugins, and opens stores,
// applications and, last, listeners. When it fails, it takes down everything that had
// started. The error says what to do. It is a *CatalogFileError for a catalog, a
// *pluginhost.StartError for a plugin, or another error.
func Open(ctx context.Context, cfg *config.Config, o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	h := &Host{options: o, log: o.Logger, startedAt: time.Now(), apps: map[string]*served{}, failures: make(chan error, 4)}
	h.config.Store(cfg)
	if err := h.open(ctx, cfg); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
		defer cancel()
		return nil, errors.Join(err, h.Close(stop))
	}
	h.ready.Store(true)
	h.log.Info("ready", "listen", h.Address(), "applications", len(h.apps))
	return h, nil
}

func (h *Host) open(ctx context.Context, cfg *config.Config) error {
	h.warnOfConfig(cfg)
	catalogs, err := LoadCatalogs(cfg)
	if err != nil {
		return err
	}
	conditions, err := LoadConditions(cfg, catalogs)
	if err != nil {
		return err
	}
	if err := h.options.checkSupplied(cfg, catalogs); err != nil {
		return err
	}
	if err := h.openObservation(cfg); err != nil {
		return err
	}
	plugins, err := pluginhost.New(pluginhost.Options{
		Dirs: cfg.PluginDirs, Embedded: h.options.Embedded, RunDir: cfg.RunDir, RequireChecksum: cfg.Plugins.RequireChecksum,
		InsecurePermissions: cfg.AllowsInsecure(), Logger: h.log,
	})
	if err != nil {
		return err
	}
	h.plugins = plugins
	drivers := map[string]*pluginhost.Plugin{}
	for _, name := range sorted(cfg.Plugins.Instances) {
		drivers[name], err = plugins.Start(ctx, h.observation.pluginEnvironment(cfg, PluginSpec(cfg, name)))
		if err != nil {
			return err
		}
	}
	if h.sinks, err = openSinks(cfg, drivers); err != nil {
		return err
	}
	for _, name := range sorted(cfg.Applications) {
		a := cfg.Applications[name]
		app, err := h.openApplication(ctx, name, a, catalogs[name], conditions[name], drivers[a.Storage.Driver])
		if err != nil {
			return fmt.Errorf("application %q: %w", name, err)
		}
		h.apps[name] = app
	}
	if err := h.openDirectories(ctx, cfg, drivers); err != nil {
		return err
	}
	if err := h.listen(ctx, cfg, drivers); err != nil {
		return err
	}
	return h.openAnchors(cfg)
}

// PluginSpec is a configured plugin instance as the plugin host starts it.
func PluginSpec(cfg *config.Config, name string) pluginhost.Spec {
	p := cfg.Plugins.Instances[name]
	env := make(map[string]string, len(p.Env))
	for variable, value := range p.Env {
		env[variable] = value.Reveal()
	}
	hang := p.HangTimeout
	if hang == 0 {
		hang = -1 // off here, the default there
	}
	return pluginhost.Spec{
		Name: name, Plugin: p.Plugin, SHA256: p.SHA256, Env: env, Dir: cfg.Dir, Config: p.Config.Reveal(),
		StartTimeout: p.StartTimeout, HangTimeout: hang,
	}
}

// Application finds an application by its name. When its authority moves, the host
// replaces the value: call Application again.
func (h *Host) Application(name string) (*Application, bool) {
	a, ok := h.apps[name]
	if !ok {
		return nil, false
	}
	return a.current.Load(), true
}

// Ready reports whether every readiness check that the host needs passes.
func (h *Host) Ready() bool { return api.Ready(h.checks()) }

// Failures yields the errors that end a running host, such as a broken listener.
func (h *Host) Failures() <-chan error { return h.failures }

// Close stops the host, in this order:
//
//  1. The host is no longer ready. It serves for another drain_delay, so that load
//     balancers notice.
//  2. Readings of directories end. The host accepts no new connections.
//  3. Requests in flight end, and so does what directories had begun to apply, within
//     shutdown_timeout.
//  4. The last anchors of audit logs are written.
//  5. Caches and applications close. Their last counts go to sinks and to stored usage.
//  6. Stores close, then plugins.
//
// The context bounds the whole. When it ends, Close cuts off what is left.
func (h *Host) Close(ctx context.Context) error {
	h.close.Do(func() { h.closed = h.shutdown(ctx) })
	return h.closed
}

func (h *Host) shutdown(ctx context.Context) error {
	if h.ready.Swap(false) {
		select {
		case <-time.After(h.config.Load().DrainDelay):
		case <-ctx.Done():
		}
	}
	var errs []error
	// Requests have a deadline of their own: a caller who stalls must not use up the
	// time of the plugins.
	requests, cancel := context.WithTimeout(ctx, h.config.Load().ShutdownTimeout)
	defer cancel()
	// Directories and listeners stop at the same time: requests wait for readings, and
	// must not lose their time to rows that are being applied.
	var directories error
	var ending sync.WaitGroup
	ending.Go(func() { directories = h.closeDirectories(requests) })
	if h.service != nil {
		h.service.endStreams()
	}
	for _, l := range slices.Backward(h.servers) {
		errs = append(errs, l.stop(requests))
	}
	ending.Wait()
	errs = append(errs, directories)
	errs = append(errs, h.closeAnchors(ctx)) // of all that was written
	if h.service != nil {                    // before the applications that it may be asking
		errs = append(errs, h.service.close())
	}
	// Applications close at the same time: each may wait its full time for a store that
	// does not answer.
	closed := make([]error, len(h.apps))
	var closing sync.WaitGroup
	for i, name := range sorted(h.apps) {
		closing.Go(func() { closed[i] = h.apps[name].close(ctx) })
	}
	closing.Wait()
	errs = append(errs, closed...)
	if h.plugins != nil {
		errs = append(errs, h.plugins.Close(ctx))
	}
	errs = append(errs, h.observation.close(ctx))
	return errors.Join(errs...)
}

// Reload takes over what may change while the host runs: secrets, TLS files and the
// log level. It returns the changed keys that need a restart.
func (h *Host) Reload(next *config.Config) (restart []string) {
	h.refused.config.Store(false)
	changes := h.config.Load().Diff(next)
	current := *h.config.Load()
	current.Log.Level = next.Log.Level
	if (current.TLS.Cert == "") == (next.TLS.Cert == "") {
		current.TLS.Cert, current.TLS.Key, current.TLS.ClientCA = next.TLS.Cert, next.TLS.Key, next.TLS.ClientCA
	}
	applications := make(map[string]config.Application, len(current.Applications))
	for name, a := range current.Applications {
		if n, ok := next.Applications[name]; ok {
			p := n.Provider
			a.Provider.Secrets, a.Provider.ReadSecrets, a.Provider.CheckSecrets, a.Provider.CheckLookups = p.Secrets, p.ReadSecrets, p.CheckSecrets, p.CheckLookups
			h.apps[name].setSecrets(a.Provider)
		}
		applications[name] = a
	}
	current.Applications = applications
	if h.service != nil {
		current.Service = h.service.reload(current.Service, next.Service)
	}
	h.config.Store(&current)
	h.warnOfConfig(next)
	h.log.SetLevel(hclog.LevelFromString(next.Log.Level))
	return changes.Restart
}

// ReloadRefused notes that what Reload should have taken over could not be read. The host
// goes on with what it has, and says so.
func (h *Host) ReloadRefused(err error) {
	h.refused.config.Store(true)
	h.log.Error("the configuration was not reloaded; the host goes on with the one it has", "error", err)
}

// warnOfConfig warns of what insecure_permissions let through and of older names of keys.
func (h *Host) warnOfConfig(cfg *config.Config) {
	for _, p := range cfg.Outdated {
		h.log.Warn("the configuration has an older key", "key", p.Path, "line", p.Line, "advice", p.Message)
	}
	for _, err := range cfg.Exposed {
		h.log.Warn("an exposed file is used, because insecure_permissions allows it", "exposed", err)
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
