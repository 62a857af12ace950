package application

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounSweep      = "sweeping global-scope rows"
	reasonOrphaned = "reconciliation: orphaned"
)

// ReconcileRows finds the rows of subjects, scopes and roles that do not exist
// (spec: application §11.3), and deletes them when asked to. The error of a
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
	sw := &sweeping{app: a, in: in}
	_, err := a.clear(ctx, shape{}, write{op: "reconcileRows", prov: in.Provenance}, sw.rows, func(d *draft, total cleanup) {
		d.audit("reconcile.sweep", "rows", total)
	})
	if err != nil {
		return provider.Reconciled{}, err
	}
	return sw.result(), nil
}

// sweeping is one sweep: all that is found at first is deleted, in parts if it is much.
type sweeping struct {
	app     *Application
	in      provider.Reconciliation
	found   *provider.Reconciled // nil before the first look
	grants  []authz.Grant        // to be deleted, those that are gone already first
	revokes []authz.Revoke
	judged  cleanup // how many of them were looked at last
	spared  spared
	planned *cleanup // what stood when a part was planned last
}

// spared are the rows that a later look found to have a reason to stay, or to be gone.
type spared struct{ grants, revokes map[string]bool }

func (sw *sweeping) result() provider.Reconciled {
	r := *sw.found
	r.Swept = true
	isSpared := func(g authz.Grant) bool { return sw.spared.grants[g.ID] }
	r.OrphanedGrants = slices.DeleteFunc(r.OrphanedGrants, isSpared)
	r.DanglingRoleGrants = slices.DeleteFunc(r.DanglingRoleGrants, isSpared)
	r.OrphanedRevokes = slices.DeleteFunc(r.OrphanedRevokes, func(v authz.Revoke) bool { return sw.spared.revokes[v.ID] })
	return r
}

// rows drafts what fits of the rows that are left.
func (sw *sweeping) rows(ctx context.Context, d *draft, total cleanup, part *cleanup) (all bool, err error) {
	if sw.found == nil {
		err = sw.begin(ctx, d)
	} else {
		for more := true; more && err == nil; { // until there is something to delete
			more, err = sw.lookAgain(ctx, d, total)
		}
	}
	if err != nil {
		return false, err
	}
	sw.planned = &total
	for _, g := range sw.grants[total.Grants:sw.judged.Grants] {
		if err := d.requireOrgRootAt(g.Scope, nounSweep); err != nil {
			return false, err
		}
		if !d.fill(storage.DeleteGrant{ID: g.ID, MustExist: true}, len(g.ID)+len(g.Subject)+len(g.Scope)) {
			return false, nil
		}
		part.Grants++
		d.audit("grant.delete", g.ID, struct {
			Subject string `json:"subject"`
			Scope   string `json:"scope"`
			Reason  string `json:"reason"`
		}{g.Subject, g.Scope, reasonOrphaned})
		d.emit(authz.SubjectEvents(g.Subject)...)
	}
	for _, v := range sw.revokes[total.Revokes:sw.judged.Revokes] {
		if err := d.requireOrgRootAt(v.Scope, nounSweep); err != nil {
			return false, err
		}
		if !d.dropRevoke(v, reasonOrphaned, part) {
			return false, nil
		}
		d.emit(authz.UserEvent(v.UserID))
	}
	return sw.judged.Grants == len(sw.grants) && sw.judged.Revokes == len(sw.revokes), nil
}

// begin looks for all rows, and judges whether all of them may go.
func (sw *sweeping) begin(ctx context.Context, d *draft) error {
	found, err := sw.app.orphans(ctx, sw.in)
	if err != nil {
		return err
	}
	sw.found, sw.spared = &found, spared{map[string]bool{}, map[string]bool{}}
	sw.grants, sw.revokes = slices.Clone(found.OrphanedGrants), found.OrphanedRevokes
	if !sw.in.KeepRoleGrants {
		sw.grants = append(sw.grants, found.DanglingRoleGrants...)
	}
	sw.revokes = slices.Clone(sw.revokes)
	sw.judged = cleanup{Grants: len(sw.grants), Revokes: len(sw.revokes)}
	for _, g := range sw.grants {
		if err := d.requireOrgRootAt(g.Scope, nounSweep); err != nil {
			return err
		}
	}
	for _, v := range sw.revokes {
		if err := d.requireOrgRootAt(v.Scope, nounSweep); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain judges the rows of the next part by fresh answers: others may have had their
// turn since they were found. After a refusal somebody else has deleted one of them. more
// says that none of them goes, and others are left.
func (sw *sweeping) lookAgain(ctx context.Context, d *draft, total cleanup) (more bool, err error) {
	a := sw.app
	grants := sw.grants[total.Grants:]
	grants = slices.Clone(grants[:min(len(grants), d.pace.size)])
	revokes := sw.revokes[total.Revokes:]
	revokes = slices.Clone(revokes[:min(len(revokes), d.pace.size-len(grants))])
	found, err := a.look(ctx, sw.in, sequence(grants), sequence(revokes))
	if err != nil {
		return false, err
	}
	stay := spared{map[string]bool{}, map[string]bool{}}
	for _, g := range grants {
		stay.grants[g.ID] = true
	}
	for _, v := range revokes {
		stay.revokes[v.ID] = true
	}
	kinds := [][]authz.Grant{found.OrphanedGrants, found.DanglingRoleGrants}
	if sw.in.KeepRoleGrants {
		kinds = kinds[:1]
	}
	refused := *sw.planned == total
	for _, list := range kinds {
		for _, g := range list {
			there := true
			if refused {
				if _, there, err = a.store.GetGrant(ctx, g.ID); err != nil {
					return false, err
				}
			}
			stay.grants[g.ID] = !there
		}
	}
	for _, v := range found.OrphanedRevokes {
		there := true
		if refused {
			if _, there, err = a.store.GetRevoke(ctx, v.ID); err != nil {
				return false, err
			}
		}
		stay.revokes[v.ID] = !there
	}
	sw.grants = slices.DeleteFunc(sw.grants, func(g authz.Grant) bool { return stay.grants[g.ID] })
	sw.revokes = slices.DeleteFunc(sw.revokes, func(v authz.Revoke) bool { return stay.revokes[v.ID] })
	for id, spare := range stay.grants {
		sw.spared.grants[id] = spare
	}
	for id, spare := range stay.revokes {
		sw.spared.revokes[id] = spare
	}
	sw.judged = total
	for _, g := range grants {
		if !stay.grants[g.ID] {
			sw.judged.Grants++
		}
	}
	for _, v := range revokes {
		if !stay.revokes[v.ID] {
			sw.judged.Revokes++
		}
	}
	return sw.judged == total && (total.Grants < len(sw.grants) || total.Revokes < len(sw.revokes)), nil
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
	return fmt.Sprintf("%s(%s): %v", e.predicate, spell.Quote(e.id), e.cause)
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
