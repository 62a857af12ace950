package mesh

import (
	"context"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Log joins the application's own log with those of all that takes part in its
// evaluation: the registry, the org partition, the owners of what it imports
// (spec: mesh §6.3, §7).
func (m *Member) Log(own provider.EventLog) provider.EventLog {
	return eventlog.Compose(func(ctx context.Context) ([]eventlog.Part, error) { return m.evaluated(ctx, own) })
}

// Parts are the logs that a poller of the application follows: beside those of its
// evaluation, every partition that it may reach (spec: mesh §6.5). The own store tells
// when its log moved.
func (m *Member) Parts(own provider.EventLog) eventlog.Parts {
	return func(ctx context.Context) ([]eventlog.Part, error) {
		parts, err := m.evaluated(ctx, own)
		if err != nil {
			return nil, err
		}
		if m.Store.Info().Capabilities.Has(storage.CapWatch) {
			parts[0].Hints = m.Store.Watch
		}
		known := map[string]bool{}
		for _, p := range parts {
			known[p.Partition] = true
		}
		r, err := m.conn.recent(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range r.Edges {
			if e.From != m.conn.partition || known[e.To] {
				continue
			}
			part, err := m.part(ctx, eventlog.Peer, e.To)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		return parts, nil
	}
}

func (m *Member) evaluated(ctx context.Context, own provider.EventLog) ([]eventlog.Part, error) {
	r, err := m.conn.recent(ctx)
	if err != nil {
		return nil, err
	}
	parts := []eventlog.Part{{Kind: eventlog.Own, Partition: m.conn.partition, Log: own, Losing: m}}
	add := func(kind eventlog.Kind, partition string) error {
		part, err := m.part(ctx, kind, partition)
		parts = append(parts, part)
		return err
	}
	if err := add(eventlog.Registry, Partition); err != nil {
		return nil, err
	}
	if r.Org != nil {
		org, err := orgOf(r, m.partition)
		if err != nil || org == "" {
			return parts, err
		}
		return parts, add(eventlog.Org, org)
	}
	// The log of an owner that may no longer be read is another set of logs, which empties
	// the caches; the next closure then says why it cannot be had.
	owners, _ := m.imports.readable(r)
	for _, o := range owners {
		if err := add(eventlog.Owner, o.partition); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part is the log of another partition. A position that it lost is its own process's
// to find: this one empties its caches.
func (m *Member) part(ctx context.Context, kind eventlog.Kind, partition string) (eventlog.Part, error) {
	s, err := m.conn.store(ctx, partition)
	if err != nil {
		return eventlog.Part{}, err
	}
	part := eventlog.Part{Kind: kind, Partition: partition}
	if s.Info().Capabilities.Has(storage.CapEvents) {
		part.Log = application.LogOf(s, failed)
		if s.Info().Capabilities.Has(storage.CapWatch) {
			part.Hints = s.Watch
		}
		if kind == eventlog.Registry {
			part.Log = registryLog{part.Log, m.conn}
		}
	} else if kind != eventlog.Peer {
		return part, &authz.MeshError{Code: authz.MeshEventsNotPersisted, Partition: partition, DriverName: m.conn.driver.Name,
			Message: "rows of " + partition + " take part in checks here, and its events are not persisted"}
	}
	return part, nil
}

// registryLog is the log of the registry. Whoever sees it move must not go on with the
// registry of before: what is fetched by that would be taken for new.
type registryLog struct {
	provider.EventLog
	conn *Connection
}

func (l registryLog) Head(ctx context.Context) (provider.EventLogHead, error) {
	head, err := l.EventLog.Head(ctx)
	if err == nil {
		l.conn.noticed(head)
	}
	return head, err
}
