package host

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/storage"
)

// control serves what the administration socket asks of the host itself.
type control struct{ host *Host }

func (c control) Status(context.Context) (api.HostStatus, error) {
	h := c.host
	return api.HostStatus{
		Version: h.options.Version, StartedAt: h.startedAt.UnixMilli(), Ready: h.Ready(), Address: h.Address(),
		Checks: h.checks(), Applications: sorted(h.apps),
	}, nil
}

// checks lists every condition of readiness. A plugin that keeps no rows which this
// host serves is told, and keeps nobody from their answers.
func (h *Host) checks() []api.Check {
	checks := []api.Check{{Name: "host", OK: h.ready.Load()}}
	if !checks[0].OK {
		checks[0].Message = "starting or stopping"
	}
	if h.plugins != nil {
		needed := h.config.Load().Drivers()
		for _, p := range h.plugins.Plugins() {
			s := p.Status()
			check := api.Check{Name: "plugin." + s.Name, OK: s.State == pluginhost.StateRunning, Optional: !needed[s.Name]}
			if !check.OK {
				check.Message = string(s.State)
			}
			checks = append(checks, check)
		}
	}
	for name, s := range h.stores() {
		if ahead, warning := s.Clock(); ahead != nil {
			checks = append(checks, api.Check{Name: "clock." + name, OK: warning == "", Message: warning, Optional: true})
		}
		s := s.Status()
		check := api.Check{Name: "storage." + name, OK: s.State == store.StateReady}
		if !check.OK {
			check.Message = string(s.State) + ": " + s.Reason
		}
		checks = append(checks, check)
	}
	return checks
}

func (c control) Plugins(context.Context) ([]api.PluginStatus, error) {
	list := []api.PluginStatus{}
	for _, p := range c.host.plugins.Plugins() {
		s := p.Status()
		list = append(list, api.PluginStatus{Name: s.Name, Plugin: s.Plugin, Version: s.Version, Kinds: s.Kinds, Path: s.Path, Embedded: s.Embedded,
			State: string(s.State), PID: s.PID, Restarts: s.Restarts, Error: s.LastError, Counts: c.host.sinkCounts(s.Name)})
	}
	return list, nil
}

// sinkCounts is what became of the counts on their way to a sink.
func (h *Host) sinkCounts(sink string) (list []api.SinkCounts) {
	for name, forwarder := range h.forwarders(sink) {
		counts := forwarder.Counts()
		one := api.SinkCounts{Application: name, Windows: map[string]uint64{}, Checks: map[string]uint64{}, Pending: counts.Pending}
		for _, o := range metrics.Outcomes() {
			one.Windows[string(o)], one.Checks[string(o)] = counts.Of(o).Windows, counts.Of(o).Checks
		}
		list = append(list, one)
	}
	return list
}

// forwarders yields those of a sink by the names of their applications, in order.
func (h *Host) forwarders(sink string) iter.Seq2[string, *metrics.Forwarder] {
	return func(yield func(string, *metrics.Forwarder) bool) {
		for _, name := range sorted(h.apps) {
			c := h.apps[name].counts
			if c == nil {
				continue
			}
			if at := slices.Index(c.sinks, sink); at >= 0 && !yield(name, c.forwarders[at]) {
				return
			}
		}
	}
}

func (c control) RestartPlugin(ctx context.Context, name string) error {
	for _, p := range c.host.plugins.Plugins() {
		if p.Status().Name == name {
			return p.Restart(ctx)
		}
	}
	return authz.Rejected(authz.CodeNotFound, "no plugin %s is configured", spell.Quote(name))
}

// stores yields the store of each application by its name, and that of the account
// data by its partition's, which is no application's.
func (h *Host) stores() iter.Seq2[string, *store.Store] {
	return func(yield func(string, *store.Store) bool) {
		for _, name := range sorted(h.apps) {
			if !yield(name, h.apps[name].store) {
				return
			}
		}
		if h.service != nil {
			yield(account.Partition, h.service.store)
		}
	}
}

func (c control) store(name string) (*store.Store, error) {
	var names []string
	for one, s := range c.host.stores() {
		if one == name {
			return s, nil
		}
		names = append(names, one)
	}
	if near := spell.Nearest(name, names); near != "" {
		return nil, authz.Rejected(authz.CodeNotFound, "this host serves no application %s; did you mean %s?", spell.Quote(name), near)
	}
	return nil, authz.Rejected(authz.CodeNotFound, "this host serves no application %s", spell.Quote(name))
}

func (c control) service() (*hostedService, error) {
	if c.host.service == nil {
		return nil, authz.Rejected(authz.CodeUnsupported, "this host has no hosted service: service is not configured")
	}
	return c.host.service, nil
}

// AccountLogs are those of every org, and that of none.
func (c control) AccountLogs(ctx context.Context) (logs []api.AccountLog, err error) {
	s, err := c.service()
	if err != nil {
		return nil, err
	}
	add := func(ctx context.Context, org string) error {
		head, _, err := s.accounts.LogHead(ctx, org)
		logs = append(logs, api.AccountLog{Org: org, Count: head.Count, Hash: head.Hash})
		return err
	}
	err = errors.Join(add(ctx, ""), s.forOrgs(ctx, add))
	return logs, accountFailed(err)
}

// AccountLog reads a part of one.
func (c control) AccountLog(ctx context.Context, org string, after authz.AuditCursor, limit int) ([]authz.AuditEntry, error) {
	s, err := c.service()
	if err != nil {
		return nil, err
	}
	entries, err := s.accounts.LogEntries(ctx, org, after, limit)
	return entries, accountFailed(err)
}

func accountFailed(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Code == "storage_unavailable" {
		return &authz.UnavailableError{Message: "the account data cannot be read", Outcome: authz.OutcomeNotApplied, Cause: err}
	}
	return err
}

// RekeyService seals the hosted service's secrets with its newest host key.
func (c control) RekeyService(ctx context.Context) (api.RekeyResult, error) {
	s, err := c.service()
	if err != nil {
		return api.RekeyResult{}, err
	}
	r, err := s.rekey(ctx)
	return api.RekeyResult{KeyID: r.KeyID, Resealed: r.Resealed, Retired: r.Retired}, err
}

// Dashboard looks at the orgs alone that may link the application, as they are configured.
func (c control) Dashboard(ctx context.Context, app string) (api.Dashboard, error) {
	h := c.host
	if _, served := h.apps[app]; !served {
		return api.Dashboard{}, authz.Rejected(authz.CodeNotFound, "no application %s is configured", spell.Quote(app))
	}
	cfg := h.config.Load().Service
	if h.service == nil || !cfg.Dashboard {
		return api.Dashboard{}, nil
	}
	d := api.Dashboard{URL: h.service.at + "/dashboard"}
	for _, org := range sorted(cfg.Local) {
		if !slices.Contains(cfg.Local[org], app) {
			continue
		}
		entry, err := h.service.entries.Get(ctx, org, app)
		if f := new(fault.Error); errors.As(err, &f) && f.Code == "application_not_found" {
			continue
		} else if err != nil {
			return api.Dashboard{}, err
		}
		if entry.Reachable() && relay.IsLocal(*entry.RelayURL) {
			d.Orgs = append(d.Orgs, org)
		}
	}
	return d, nil
}

func (c control) StorageStatus(context.Context) ([]api.StorageStatus, error) {
	list := []api.StorageStatus{}
	for name, s := range c.host.stores() {
		s := s.Status()
		list = append(list, api.StorageStatus{Application: name, Driver: s.DriverName, Partition: s.Partition, Incarnation: s.Incarnation,
			Durable: s.Durable, CrossProcess: s.CrossProcess, SchemaVersion: s.SchemaVersion, Capabilities: names(s.Capabilities), Lost: s.State == store.StateLost, Error: s.Reason})
	}
	return list, nil
}

func (c control) AcceptStorage(ctx context.Context, app string) error {
	s, err := c.store(app)
	if err != nil {
		return err
	}
	if state := s.State(); !s.Accept() && state.State == store.StateLost {
		return authz.Rejected(authz.CodeConflict, "there is no content to accept yet: %s", state.Reason)
	}
	if hosted := c.host.service; hosted != nil && s == hosted.store {
		if err := hosted.readmit(ctx); err != nil {
			hosted.log.Error("the account data was accepted, and service.host_keys do not fit it", "error", err)
		}
	}
	return nil
}

func (c control) RenewStorage(ctx context.Context, app string) (string, error) {
	s, err := c.store(app)
	if err != nil {
		return "", err
	}
	incarnation, err := s.Renew(ctx, "")
	switch storage.CodeOf(err) {
	case storage.CodeUnsupported:
		return "", authz.Rejected(authz.CodeUnsupported, "the storage driver of %s cannot give its content a new incarnation", spell.Quote(app))
	case storage.CodeUnavailable:
		var e *storage.Error
		errors.As(err, &e)
		return "", &authz.UnavailableError{Message: "the storage of " + app + " did not answer", Outcome: e.Outcome, Cause: err}
	}
	return incarnation, err
}

func (c control) Config(context.Context) (map[string]any, error) {
	return c.host.config.Load().Redacted(), nil
}

func names(set storage.Capabilities) []string {
	list := make([]string, len(set))
	for i, c := range set {
		list[i] = string(c)
	}
	return list
}
