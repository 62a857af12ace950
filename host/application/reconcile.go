package application

import (
	"context"
	"fmt"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounSweep      = "sweeping global-scope rows"
	reasonOrphaned = "reconciliation: orphaned"
)

// ReconcileRows finds the rows of subjects, scopes and roles that do not exist
// (contract: application §11.3), and deletes them when asked to. The error of a
// predicate passes through and nothing is deleted.
func (a *Application) ReconcileRows(ctx context.Context, in provider.Reconciliation) (provider.Reconciled, error) {
	if !in.Sweep {
		found, err := a.orphans(ctx, in)
		if err != nil {
			return provider.Reconciled{}, a.readFailed("reconcileRows", err)
		}
		return found, nil
	}
	if in.Provenance.Kind == "" {
		return provider.Reconciled{}, authz.Validation("reconcileRows with sweep: true requires provenance for the audited deletions")
	}
	prov, err := provenance(in.Provenance)
	if err != nil {
		return provider.Reconciled{}, err
	}
	var found provider.Reconciled
	err = a.run(ctx, write{op: "reconcileRows", prov: prov, plan: func(ctx context.Context, d *draft) error {
		var err error
		if found, err = a.orphans(ctx, in); err != nil {
			return err
		}
		found.Swept = true
		return d.sweep(found, in.KeepRoleGrants)
	}})
	if err != nil {
		return provider.Reconciled{}, err
	}
	return found, nil
}

func (d *draft) sweep(found provider.Reconciled, keepRoleGrants bool) error {
	var gone cleanup
	lists := [][]authz.Grant{found.OrphanedGrants, found.DanglingRoleGrants}
	if keepRoleGrants {
		lists = lists[:1]
	}
	for _, list := range lists {
		for _, g := range list {
			if err := d.gateScope(g.Scope, nounSweep); err != nil {
				return err
			}
			gone.Grants++
			d.change(storage.DeleteGrant{ID: g.ID, MustExist: true})
			d.audit("grant.delete", g.ID, struct {
				Subject string `json:"subject"`
				Scope   string `json:"scope"`
				Reason  string `json:"reason"`
			}{g.Subject, g.Scope, reasonOrphaned})
			d.emit(authz.SubjectEvents(g.Subject)...)
			if err := d.fits(); err != nil {
				return err
			}
		}
	}
	for _, v := range found.OrphanedRevokes {
		if err := d.gateScope(v.Scope, nounSweep); err != nil {
			return err
		}
		if err := d.dropRevoke(v, reasonOrphaned, &gone); err != nil {
			return err
		}
		d.emit(authz.UserEvent(v.UserID))
	}
	d.audit("reconcile.sweep", "rows", gone)
	return nil
}

// orphans looks twice: what the first look suspects is judged again by fresh
// answers, all of them newer than the rows. Otherwise a group, or a user of the
// caller's, that came into being while the rows were read would lose the grants
// that were given to it then.
func (a *Application) orphans(ctx context.Context, in provider.Reconciliation) (provider.Reconciled, error) {
	suspects, err := a.look(ctx, in, a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}),
		a.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}))
	if err != nil || len(suspects.OrphanedGrants)+len(suspects.OrphanedRevokes)+len(suspects.DanglingRoleGrants) == 0 {
		return suspects, err
	}
	return a.look(ctx, in, sequence(grantsOf(suspects)), sequence(suspects.OrphanedRevokes))
}

// grantsOf merges both lists by id.
func grantsOf(r provider.Reconciled) []authz.Grant {
	merged := make([]authz.Grant, 0, len(r.OrphanedGrants)+len(r.DanglingRoleGrants))
	orphaned, dangling := r.OrphanedGrants, r.DanglingRoleGrants
	for len(orphaned) > 0 && len(dangling) > 0 {
		from := &orphaned
		if dangling[0].ID < orphaned[0].ID {
			from = &dangling
		}
		merged = append(merged, (*from)[0])
		*from = (*from)[1:]
	}
	return append(append(merged, orphaned...), dangling...)
}

func sequence[Row any](list []Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, row := range list {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (a *Application) look(ctx context.Context, in provider.Reconciliation, grants iter.Seq2[authz.Grant, error],
	revokes iter.Seq2[authz.Revoke, error]) (provider.Reconciled, error) {
	found := provider.Reconciled{OrphanedGrants: []authz.Grant{}, OrphanedRevokes: []authz.Revoke{}, DanglingRoleGrants: []authz.Grant{}}
	w, err := a.world(ctx, in)
	if err != nil {
		return provider.Reconciled{}, err
	}
	for g, err := range grants {
		if err != nil {
			return provider.Reconciled{}, err
		}
		orphaned, err := w.orphanedGrant(ctx, g)
		switch {
		case err != nil:
			return provider.Reconciled{}, err
		case orphaned:
			found.OrphanedGrants = append(found.OrphanedGrants, g)
		case g.RoleID != "" && !w.roles[g.RoleID]:
			found.DanglingRoleGrants = append(found.DanglingRoleGrants, g)
		}
	}
	for v, err := range revokes {
		if err != nil {
			return provider.Reconciled{}, err
		}
		orphaned, err := w.orphanedRevoke(ctx, v)
		if err != nil {
			return provider.Reconciled{}, err
		}
		if orphaned {
			found.OrphanedRevokes = append(found.OrphanedRevokes, v)
		}
	}
	return found, nil
}

// world remembers what exists for one look.
type world struct {
	groups, roles       map[string]bool
	users, orgs, scopes provider.Exists
}

func (a *Application) world(ctx context.Context, in provider.Reconciliation) (*world, error) {
	w := &world{groups: map[string]bool{}, roles: map[string]bool{},
		users: asked("userExists", in.UserExists), orgs: asked("orgExists", in.OrgExists), scopes: asked("scopeExists", in.ScopeExists)}
	for g, err := range a.store.ListGroups(ctx, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		w.groups[g.ID] = true
	}
	for r, err := range a.store.ListRoles(ctx, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		w.roles[r.ID] = true
	}
	return w, nil
}

// predicateError is the failure of a predicate on its way to the caller.
type predicateError struct {
	predicate, id string
	cause         error
}

func (e *predicateError) Error() string {
	return fmt.Sprintf("%s(%s): %v", e.predicate, authz.Quote(e.id), e.cause)
}
func (e *predicateError) Unwrap() error { return e.cause }

// asked is a predicate that asks about each id once.
func asked(name string, exists provider.Exists) provider.Exists {
	if exists == nil {
		return func(context.Context, string) (bool, error) { return true, nil }
	}
	answers := map[string]bool{}
	return func(ctx context.Context, id string) (bool, error) {
		if answer, known := answers[id]; known {
			return answer, nil
		}
		answer, err := exists(ctx, id)
		if err != nil {
			return false, &predicateError{name, id, err}
		}
		answers[id] = answer
		return answer, nil
	}
}

func (w *world) orphanedGrant(ctx context.Context, g authz.Grant) (bool, error) {
	exists, err := true, error(nil)
	switch kind, id, _ := authz.ParseSubject(g.Subject); kind {
	case authz.SubjectUser, authz.SubjectDirects, authz.SubjectOrgOf:
		exists, err = w.users(ctx, id)
	case authz.SubjectGroup:
		exists = w.groups[id]
	case authz.SubjectOrg:
		exists, err = w.orgs(ctx, id)
	}
	if err != nil || !exists {
		return err == nil, err
	}
	return w.scopeGone(ctx, g.Scope)
}

func (w *world) orphanedRevoke(ctx context.Context, v authz.Revoke) (bool, error) {
	exists, err := w.users(ctx, v.UserID)
	if err != nil || !exists {
		return err == nil, err
	}
	return w.scopeGone(ctx, v.Scope)
}

func (w *world) scopeGone(ctx context.Context, scope string) (bool, error) {
	if scope == authz.Global {
		return false, nil
	}
	exists, err := w.scopes(ctx, scope)
	return err == nil && !exists, err
}
