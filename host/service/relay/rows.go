package relay

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The rows of an application's own, its catalog and its audit log.

func (a *application) CreateGrant(ctx context.Context, in provider.GrantInput, prov authz.Provenance) (authz.Grant, error) {
	return one(ctx, a, "createGrant", func(ctx context.Context, to Application) (authz.Grant, error) { return to.CreateGrant(ctx, in, prov) })
}

func (a *application) CreateGrants(ctx context.Context, in []provider.GrantInput, prov authz.Provenance) ([]authz.Grant, error) {
	return one(ctx, a, "createGrants", func(ctx context.Context, to Application) ([]authz.Grant, error) {
		return to.CreateGrants(ctx, in, prov)
	})
}

func (a *application) DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error {
	return void(ctx, a, "deleteGrant", func(ctx context.Context, to Application) error { return to.DeleteGrant(ctx, id, prov) })
}

func (a *application) ListGrants(ctx context.Context, q provider.GrantQuery) iter.Seq2[authz.Grant, error] {
	return list(ctx, a, "listGrants", func(ctx context.Context, to Application) iter.Seq2[authz.Grant, error] { return to.ListGrants(ctx, q) })
}

func (a *application) CountGrants(ctx context.Context, q provider.GrantQuery) (int64, error) {
	return one(ctx, a, "countGrants", func(ctx context.Context, to Application) (int64, error) { return to.CountGrants(ctx, q) })
}

func (a *application) CreateRevoke(ctx context.Context, in provider.RevokeInput, prov authz.Provenance) (authz.Revoke, error) {
	return one(ctx, a, "createRevoke", func(ctx context.Context, to Application) (authz.Revoke, error) { return to.CreateRevoke(ctx, in, prov) })
}

func (a *application) DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error {
	return void(ctx, a, "deleteRevoke", func(ctx context.Context, to Application) error { return to.DeleteRevoke(ctx, id, prov) })
}

func (a *application) ListRevokes(ctx context.Context, q provider.RevokeQuery) iter.Seq2[authz.Revoke, error] {
	return list(ctx, a, "listRevokes", func(ctx context.Context, to Application) iter.Seq2[authz.Revoke, error] {
		return to.ListRevokes(ctx, q)
	})
}

func (a *application) DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (provider.CleanupResult, error) {
	return one(ctx, a, "deleteSubject", func(ctx context.Context, to Application) (provider.CleanupResult, error) {
		return to.DeleteSubject(ctx, subject, prov)
	})
}

func (a *application) DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (provider.CleanupResult, error) {
	return one(ctx, a, "deleteScope", func(ctx context.Context, to Application) (provider.CleanupResult, error) {
		return to.DeleteScope(ctx, scope, prov)
	})
}

func (a *application) PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (int64, error) {
	return one(ctx, a, "publishCatalog", func(ctx context.Context, to Application) (int64, error) {
		return to.PublishCatalog(ctx, document, prov)
	})
}

func (a *application) GetPublishedCatalog(ctx context.Context) (*provider.PublishedCatalog, error) {
	return one(ctx, a, "getPublishedCatalog", func(ctx context.Context, to Application) (*provider.PublishedCatalog, error) {
		return to.GetPublishedCatalog(ctx)
	})
}

func (a *application) PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (int64, error) {
	return one(ctx, a, "publishImports", func(ctx context.Context, to Application) (int64, error) {
		return to.PublishImports(ctx, manifest, prov)
	})
}

func (a *application) GetPublishedImports(ctx context.Context) (*provider.PublishedImports, error) {
	return one(ctx, a, "getPublishedImports", func(ctx context.Context, to Application) (*provider.PublishedImports, error) {
		return to.GetPublishedImports(ctx)
	})
}

func (a *application) SetScopeParents(ctx context.Context, entries []provider.ScopeParents, prov authz.Provenance) (int, error) {
	return one(ctx, a, "setScopeParents", func(ctx context.Context, to Application) (int, error) { return to.SetScopeParents(ctx, entries, prov) })
}

func (a *application) ListAuditEvents(ctx context.Context, q provider.AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	return list(ctx, a, "listAuditEvents", func(ctx context.Context, to Application) iter.Seq2[authz.AuditEntry, error] {
		return to.ListAuditEvents(ctx, q)
	})
}
