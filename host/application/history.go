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
	refused := func(err error) (access.DriftReport, error) { return access.DriftReport{}, err }
	var s shape
	s.instant("sinceVersion", &sinceVersion)
	if s.err != nil {
		return refused(s.err)
	}
	if err := a.checkHistory(); err != nil {
		return refused(err)
	}
	since, found, err := a.store.GetCatalogVersion(ctx, sinceVersion)
	switch {
	case err != nil:
		return refused(a.readFailed(op, err))
	case !found:
		return refused(authz.Rejected(authz.CodeNotFound, "catalog version %d is not retained", sinceVersion))
	}
	head, found, err := a.store.GetCatalog(ctx)
	switch {
	case err != nil:
		return refused(a.readFailed(op, err))
	case !found:
		return refused(authz.Rejected(authz.CodeNotFound, "no catalog has been published"))
	}
	from, err := a.publishedKeys(op, since.Version, since.Document)
	if err != nil {
		return refused(err)
	}
	to, err := a.publishedKeys(op, head.Version, head.Document)
	if err != nil {
		return refused(err)
	}
	report := access.DriftReport{FromVersion: since.Version, ToVersion: head.Version, Drift: access.NewDrift(from, to)}
	report.Findings = listed(a, op, nil, func() iter.Seq2[access.DriftFinding, error] {
		return report.Drift.Findings(a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}), a.store.ListRoles(ctx, storage.Page{}), a.clock())
	})
	return report, nil
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
