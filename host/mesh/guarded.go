package mesh

import (
	"context"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// guarded is a neighbour's store. Whatever changes it is admitted first, so that a peer
// which only reads sends nothing, whoever calls it (spec: mesh §5.1).
type guarded struct {
	storage.Store
	admit func(ctx context.Context, call string) error
}

func (g *guarded) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := g.admit(ctx, "commit"); err != nil {
		return storage.CommitResult{}, err
	}
	return g.Store.Commit(ctx, c)
}

func (g *guarded) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := g.admit(ctx, "acquire"); err != nil {
		return nil, err
	}
	return g.Store.Acquire(ctx, key)
}

func (g *guarded) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if err := g.admit(ctx, "reportMetrics"); err != nil {
		return err
	}
	return g.Store.RecordMetrics(ctx, deltas)
}

func (g *guarded) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	if err := g.admit(ctx, "pruneEvents"); err != nil {
		return 0, err
	}
	return g.Store.PruneEvents(ctx, p)
}

func (g *guarded) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	if err := g.admit(ctx, "pruneMetrics"); err != nil {
		return 0, err
	}
	return g.Store.PruneMetrics(ctx, before)
}

// Close leaves the store to the connection.
func (g *guarded) Close() error { return nil }

// admitWrite reads the registry anew before each write, inside its operation.
func (p *Peer) admitWrite(ctx context.Context, op string) (registryVersion int64, err error) {
	if p.mode != authz.MeshWrite {
		return 0, p.readOnly(op)
	}
	m, err := p.conn.Registry(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := p.conn.enter(m, p.to, authz.MeshWrite); err != nil {
		return 0, err
	}
	return m.Version, nil
}

// mayWrite is what holds for a call of the store whatever asked for it.
func (p *Peer) mayWrite(_ context.Context, call string) error {
	if p.mode != authz.MeshWrite {
		return p.readOnly(call)
	}
	return nil
}

func catalogInvalid(to string, err error) error {
	e := &authz.MeshError{Code: authz.MeshPeerCatalogInvalid, To: to, Message: "what " + spell.Quote(to) + " has published is no catalog that this program can read: " + err.Error()}
	e.Issues = issuesOf(err)
	return e
}
