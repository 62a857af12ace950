package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// neighbours is an application's way into the mesh; nil is one that is in none.
type neighbours struct {
	cfg    config.Mesh
	conn   *mesh.Connection
	member *mesh.Member
	poller *eventlog.Poller
	log    hclog.Logger

	mu     sync.Mutex
	stores []*store.Store // of other partitions
}

// connect makes the connection of an application whose own store is open. It reads
// nothing.
func (h *Host) connect(name string, cfg config.Application, vocabulary *catalog.Catalog, driver storage.Driver, a *served) (*neighbours, error) {
	if !cfg.Mesh.Enabled {
		return nil, nil
	}
	n := &neighbours{cfg: cfg.Mesh, log: a.log.Named("mesh")}
	var err error
	n.conn, err = mesh.Connect(mesh.Options{
		Partition: cfg.Storage.Partition, Driver: driver.Info(), Clock: h.options.Clock, IDs: h.options.IDs, Logger: n.log,
		Open: func(ctx context.Context, partition string) (storage.Store, error) {
			if partition == cfg.Storage.Partition {
				return lentStore{a.store}, nil
			}
			s, err := store.Open(ctx, driver, partition, store.Options{Logger: n.log, Application: name + " (partition " + partition + ")",
				OnLost: a.forget, Observe: h.observation.storage(name)})
			if err != nil {
				return nil, err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			n.stores = append(n.stores, s)
			return s, nil
		},
	})
	if err != nil {
		return nil, err
	}
	n.member = n.conn.Member(a.store, vocabulary, mesh.MemberOptions{Imports: cfg.Mesh.Imports, Except: cfg.Mesh.Except})
	return n, nil
}

// lentStore is the application's own store in the hands of the mesh.
type lentStore struct{ *store.Store }

func (lentStore) Close() error { return nil }

// join sets what an application of the mesh is constructed with.
func (n *neighbours) join(o *application.Options) {
	if n != nil {
		o.Store, o.Log, o.Elsewhere, o.Mesh = n.member, n.member.Log, n.member.Elsewhere, n.view
	}
}

func (n *neighbours) view(ctx context.Context) (*provider.MeshView, error) {
	registry, err := n.conn.Registry(ctx)
	if err != nil {
		return nil, err
	}
	return &provider.MeshView{Partition: n.conn.Partition(), Registry: registry}, nil
}

// enter refuses a start that would fail at the first check, and tells peers what binds
// every writer of this partition.
func (n *neighbours) enter(ctx context.Context, first *application.Application, o application.Options) error {
	if n == nil {
		return nil
	}
	if err := n.verify(ctx, first); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	return n.conn.PublishSettings(ctx, mesh.Settings{SoDEnforce: o.SoD.Enforce, HashChain: o.HashChain, Imports: n.cfg.Imports, EventsOff: !first.HasEventLog()})
}

func (n *neighbours) verify(ctx context.Context, first *application.Application) error {
	if want := n.cfg.OrgRoot; want != nil && *want != first.OrgRoot() {
		return &authz.MeshError{Code: authz.MeshOrgRootMismatch, Partition: n.conn.Partition(),
			Message: fmt.Sprintf("mesh.org_root is %v, and what is stored says %v: correct the configuration, or move the organization with authz mesh promote", *want, first.OrgRoot())}
	}
	warnings, err := n.conn.Verify(ctx, mesh.Verify{Read: n.cfg.Verify.Read, Write: n.cfg.Verify.Write, OrgRoot: first.OrgRoot(), Imports: n.cfg.Imports,
		Namespaces: OwnNamespaces(first.Catalog()), PersistsEvents: first.HasEventLog()})
	if err == nil && n.cfg.Imports {
		var more []string
		more, err = n.member.VerifyImports(ctx)
		warnings = append(warnings, more...)
	}
	for _, w := range warnings {
		n.log.Warn("found while verifying the mesh", "warning", w)
	}
	return err
}

// OwnNamespaces are those that a catalog declares itself: what the registry of a mesh has
// for its partition.
func OwnNamespaces(c *catalog.Catalog) []string {
	return slices.DeleteFunc(slices.Clone(c.Namespaces()), func(ns string) bool {
		return ns == authz.InternalNamespace || c.NamespaceOrigin(ns) != authz.NamespaceOwned
	})
}

// follow keeps up with every log that takes part.
func (n *neighbours) follow(ctx context.Context, first *Application, log hclog.Logger) (err error) {
	own := application.LogOf(first.store, func(op string, err error) error { return fmt.Errorf("%s: %w", op, err) })
	n.poller, err = eventlog.StartPoller(ctx, first.Application, n.member.Parts(own), eventlog.PollerOptions{
		OnError: func(err error) { log.Debug("an event log of the mesh could not be read", "error", err) }})
	return err
}

// reopen hurries the stores of other partitions after their plugin came back.
func (n *neighbours) reopen(ctx context.Context) error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	stores := slices.Clone(n.stores)
	n.mu.Unlock()
	var errs []error
	for _, s := range stores {
		errs = append(errs, s.Reopen(ctx))
	}
	return errors.Join(errs...)
}

// status is that of the log that lags most.
func (n *neighbours) status() (worst provider.PollerStatus) {
	first := true
	for _, s := range n.poller.Status() {
		if first || s.LastLook.Before(worst.LastLook) {
			worst.LastLook = s.LastLook
		}
		worst.Cursor, worst.Head, worst.Failures, first = worst.Cursor+s.Cursor, worst.Head+s.Head, worst.Failures+s.Failures, false
	}
	return worst
}

func (n *neighbours) stopFollowing() {
	if n != nil && n.poller != nil {
		n.poller.Stop()
	}
}

func (n *neighbours) close() error {
	if n == nil {
		return nil
	}
	return n.conn.Close()
}

// ReconcileRows also counts what the own partition still holds of an organization that
// lives elsewhere in the mesh.
func (a *Application) ReconcileRows(ctx context.Context, in provider.Reconciliation) (provider.Reconciled, error) {
	found, err := a.Application.ReconcileRows(ctx, in)
	if err != nil || a.mesh == nil {
		return found, err
	}
	left, err := a.mesh.conn.Superseded(ctx)
	var none *authz.MeshError
	if errors.As(err, &none) && (none.Code == authz.MeshOrgNotDesignated || none.Code == authz.MeshOrgRootMismatch) {
		return found, nil // the organization is the application's own
	}
	found.Superseded = left.Total()
	return found, err
}

// followed says how far the application has followed its log, or those of the mesh.
func (a *served) followed() (status provider.PollerStatus, ok bool) {
	switch {
	case a.poller != nil:
		return a.poller.Status(), true
	case a.mesh != nil && a.mesh.poller != nil:
		return a.mesh.status(), true
	}
	return provider.PollerStatus{}, false
}
