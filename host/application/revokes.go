package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// CreateRevoke writes a personal revoke. The pattern must be known, because a
// mistyped revoke would fail open; it need not be grantable at the scope.
func (a *Application) CreateRevoke(ctx context.Context, in provider.RevokeInput, prov authz.Provenance) (authz.Revoke, error) {
	var s shape
	s.id("userId", in.UserID)
	s.text("pattern", in.Pattern, maxID)
	s.text("scope", in.Scope, maxID)
	s.newID("userId", in.UserID)
	s.newID("scope", in.Scope)
	scope := orGlobal(in.Scope)
	var row authz.Revoke
	err := a.propose(ctx, s, write{op: "createRevoke", prov: prov, plan: func(ctx context.Context, d *draft) error {
		if err := d.requireOrgRootAt(scope, nounGlobalRevoke); err != nil {
			return err
		}
		if err := a.checkPatternAt(ctx, in.Pattern, scope); err != nil {
			return err
		}
		if err := checkScope(scope); err != nil {
			return err
		}
		row = authz.Revoke{ID: a.ids(), UserID: in.UserID, Pattern: in.Pattern, Scope: scope, Provenance: d.prov, CreatedAt: d.now}
		d.change(storage.InsertRevoke{Revoke: row})
		d.audit("revoke.create", row.ID, struct {
			UserID  string `json:"userId"`
			Pattern string `json:"pattern"`
			Scope   string `json:"scope"`
		}{row.UserID, row.Pattern, row.Scope})
		d.emit(authz.UserEvent(row.UserID))
		return nil
	}})
	return answered(&row, err)
}

// DeleteRevoke removes a revoke.
func (a *Application) DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error {
	var s shape
	s.text("revokeId", id, maxID)
	return a.propose(ctx, s, write{op: "deleteRevoke", prov: prov, plan: func(ctx context.Context, d *draft) error {
		row, found, err := a.store.GetRevoke(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "revoke not found")
		}
		if err := d.requireOrgRootAt(row.Scope, nounGlobalRevoke); err != nil {
			return err
		}
		d.change(storage.DeleteRevoke{ID: id, MustExist: true})
		d.audit("revoke.delete", id, struct {
			UserID string `json:"userId"`
		}{row.UserID})
		d.emit(authz.UserEvent(row.UserID))
		return nil
	}})
}

// ListRevokes lists revokes by id.
func (a *Application) ListRevokes(ctx context.Context, q provider.RevokeQuery) iter.Seq2[authz.Revoke, error] {
	var s shape
	s.filter("userId", q.UserID)
	s.filter("scope", q.Scope)
	s.page(q.Paging)
	return listed(a, "listRevokes", s.err, func() iter.Seq2[authz.Revoke, error] {
		return a.store.ListRevokes(ctx, storage.RevokeFilter{UserID: q.UserID, Scope: q.Scope}, storage.Page(q.Paging))
	})
}
