package application

import (
	"context"
	"fmt"
	"iter"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// ListCatalogVersions lists the retained publications, ascending. A driver
// without history is a refusal with CodeUnsupported.
func (a *Application) ListCatalogVersions(ctx context.Context) iter.Seq2[catalog.Publication, error] {
	return listed(a, "listCatalogVersions", a.checkHistory(), func() iter.Seq2[catalog.Publication, error] {
		return func(yield func(catalog.Publication, error) bool) {
			for v, err := range a.store.ListCatalogVersions(ctx) {
				if !yield(catalog.Publication{Version: v.Version, PublishedAt: v.PublishedAt}, err) {
					return
				}
			}
		}
	})
}

func (a *Application) checkHistory() error {
	if a.caps.Has(storage.CapHistory) {
		return nil
	}
	return authz.Rejected(authz.CodeUnsupported, "this storage driver retains no catalog history: only the last published document is kept")
}

// ListWildcardDrift compares a retained publication with the head and names the
// wildcards in use that gained keys meanwhile. Refusals have CodeUnsupported over
// a driver without history, CodeNotFound when the version is not retained or
// nothing was published. The findings read the rows as they are consumed, under
// ctx.
func (a *Application) ListWildcardDrift(ctx context.Context, sinceVersion int64) (access.DriftReport, error) {
	const op = "listWildcardDrift"
	drift, from, to, err := a.driftBetween(ctx, op, sinceVersion, 0)
	if err != nil {
		return access.DriftReport{}, err
	}
	report := access.DriftReport{FromVersion: from, ToVersion: to, Drift: drift}
	report.Findings = listed(a, op, nil, func() iter.Seq2[access.DriftFinding, error] {
		return report.Drift.Findings(a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}), a.store.ListRoles(ctx, storage.Page{}), a.clock())
	})
	return report, nil
}

// driftBetween compares two publications, to 0 the head.
func (a *Application) driftBetween(ctx context.Context, op string, since, to int64) (drift access.Drift, fromVersion, toVersion int64, err error) {
	refused := func(err error) (access.Drift, int64, int64, error) { return access.Drift{}, 0, 0, err }
	var s shape
	s.instant("sinceVersion", &since)
	if s.err != nil {
		return refused(s.err)
	}
	if err := a.checkHistory(); err != nil {
		return refused(err)
	}
	from, err := a.retainedKeys(ctx, op, since)
	if err != nil {
		return refused(err)
	}
	if to != 0 {
		keys, err := a.retainedKeys(ctx, op, to)
		return access.NewDrift(from, keys), since, to, err
	}
	head, found, err := a.store.GetCatalog(ctx)
	switch {
	case err != nil:
		return refused(a.readFailed(op, err))
	case !found:
		return refused(authz.Rejected(authz.CodeNotFound, "no catalog has been published"))
	}
	keys, err := a.publishedKeys(op, head.Version, head.Document)
	return access.NewDrift(from, keys), since, head.Version, err
}

func (a *Application) retainedKeys(ctx context.Context, op string, version int64) ([]string, error) {
	row, found, err := a.store.GetCatalogVersion(ctx, version)
	switch {
	case err != nil:
		return nil, a.readFailed(op, err)
	case !found:
		return nil, authz.Rejected(authz.CodeNotFound, "catalog version %d is not retained", version)
	}
	return a.publishedKeys(op, row.Version, row.Document)
}

// publishedKeys reads a document that was checked when it was published: one that
// does not read now is the store's fault and not the caller's.
func (a *Application) publishedKeys(op string, version int64, document []byte) ([]string, error) {
	d, err := catalog.CheckDocument(document)
	if err != nil {
		return nil, a.readFailed(op, fmt.Errorf("catalog version %d: %s", version, err.Error()))
	}
	return d.Keys, nil
}
