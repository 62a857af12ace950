package provider

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// The operations on rows of the application's own: grants, revokes, catalog,
// ancestry, the audit log.

// filter keeps the members that are set.
func filter(members map[string]*string) map[string]string {
	kept := map[string]string{}
	for name, v := range members {
		if v != nil {
			kept[name] = *v
		}
	}
	return kept
}

// withProvenance is an input that carries its provenance, as two of them do.
type grantWithProvenance struct {
	GrantInput
	Provenance authz.Provenance `json:"provenance"`
}

type revokeWithProvenance struct {
	RevokeInput
	Provenance authz.Provenance `json:"provenance"`
}

func (h *Hosted) CreateGrant(ctx context.Context, in GrantInput, prov authz.Provenance) (authz.Grant, error) {
	return field[authz.Grant](ctx, h, "createGrant", params{"input": grantWithProvenance{in, prov}}, "grant")
}

func (h *Hosted) CreateGrants(ctx context.Context, in []GrantInput, prov authz.Provenance) ([]authz.Grant, error) {
	if in == nil {
		in = []GrantInput{}
	}
	return field[[]authz.Grant](ctx, h, "createGrants", params{"inputs": in, "provenance": prov}, "grants")
}

func (h *Hosted) DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error {
	return h.post(ctx, "deleteGrant", params{"grantId": id, "provenance": prov})
}

func (h *Hosted) ListGrants(ctx context.Context, q GrantQuery) iter.Seq2[authz.Grant, error] {
	return paged(ctx, h, "listGrants", "grants", params{"filter": grantFilter(q)}, q.Paging,
		func(g authz.Grant) string { return g.ID })
}

func (h *Hosted) CountGrants(ctx context.Context, q GrantQuery) (int64, error) {
	return field[int64](ctx, h, "countGrants", params{"filter": grantFilter(q)}, "count")
}

func grantFilter(q GrantQuery) map[string]string {
	return filter(map[string]*string{"subject": q.Subject, "scope": q.Scope, "roleId": q.RoleID})
}

func (h *Hosted) CreateRevoke(ctx context.Context, in RevokeInput, prov authz.Provenance) (authz.Revoke, error) {
	return field[authz.Revoke](ctx, h, "createRevoke", params{"input": revokeWithProvenance{in, prov}}, "revoke")
}

func (h *Hosted) DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error {
	return h.post(ctx, "deleteRevoke", params{"revokeId": id, "provenance": prov})
}

func (h *Hosted) ListRevokes(ctx context.Context, q RevokeQuery) iter.Seq2[authz.Revoke, error] {
	p := params{"filter": filter(map[string]*string{"userId": q.UserID, "scope": q.Scope})}
	return paged(ctx, h, "listRevokes", "revokes", p, q.Paging, func(r authz.Revoke) string { return r.ID })
}

func (h *Hosted) PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (int64, error) {
	return version(ctx, h, "publishCatalog", params{"document": document, "provenance": prov})
}

func (h *Hosted) GetPublishedCatalog(ctx context.Context) (*PublishedCatalog, error) {
	return published[PublishedCatalog](ctx, h, "getPublishedCatalog")
}

func version(ctx context.Context, h *Hosted, op string, p params) (int64, error) {
	v, err := whole[struct {
		Version int64 `json:"version"`
	}](ctx, h, op, p)
	return v.Version, err
}

func published[T any](ctx context.Context, h *Hosted, op string) (*T, error) {
	m, err := h.members(ctx, op, nil)
	if err != nil {
		return nil, err
	}
	return optional[T](m, "published")
}

func (h *Hosted) SetScopeParents(ctx context.Context, entries []ScopeParents, prov authz.Provenance) (int, error) {
	if entries == nil {
		entries = []ScopeParents{}
	}
	return field[int](ctx, h, "setScopeParents", params{"entries": entries, "provenance": prov}, "changed")
}

func (h *Hosted) ListAuditEvents(ctx context.Context, q AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	f := map[string]any{}
	for name, v := range map[string]*string{"target": q.Target, "actor": q.Actor, "action": q.Action} {
		if v != nil {
			f[name] = *v
		}
	}
	for name, v := range map[string]*int64{"from": q.From, "to": q.To, "limit": q.Limit} {
		if v != nil {
			f[name] = *v
		}
	}
	if q.Cursor != nil {
		f["cursor"] = q.Cursor
	}
	return listed[authz.AuditEntry](ctx, h, "listAuditEvents", "events", params{"filter": f})
}

func (h *Hosted) DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (CleanupResult, error) {
	return whole[CleanupResult](ctx, h, "deleteSubject", params{"subject": subject, "provenance": prov})
}

func (h *Hosted) DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (CleanupResult, error) {
	return whole[CleanupResult](ctx, h, "deleteScope", params{"scope": scope, "provenance": prov})
}

func (h *Hosted) PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (int64, error) {
	return version(ctx, h, "publishImports", params{"manifest": manifest, "provenance": prov})
}

func (h *Hosted) GetPublishedImports(ctx context.Context) (*PublishedImports, error) {
	return published[PublishedImports](ctx, h, "getPublishedImports")
}
