package application

import (
	"context"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounOffboarding       = "offboarding a user"
	nounSubjectGlobalRows = "deleting a subject's global-scope rows"

	reasonSubjectDeleted = "subject deleted"
	reasonScopeDeleted   = "scope deleted"
)

// cleanup counts what one clean-up removes.
type cleanup struct {
	Grants   int `json:"grants"`
	Revokes  int `json:"revokes"`
	Requests int `json:"cancelledRequests,omitempty"`
}

func (c cleanup) result(err error) (provider.CleanupResult, error) {
	return answered(&provider.CleanupResult{DeletedGrants: c.Grants, DeletedRevokes: c.Revokes}, err)
}

func (c cleanup) plus(other cleanup) cleanup {
	return cleanup{c.Grants + other.Grants, c.Revokes + other.Revokes, c.Requests + other.Requests}
}

// clear carries out a clean-up: in one commit, unless it has many rows. Then they go in
// parts, grants before revokes, so that nobody ever has what a revoke of them kept back,
// and closing is drafted with the last; repeating one that ended before does the rest. rows drafts
// what fits and says whether that was all.
func (a *Application) clear(ctx context.Context, s shape, w write, rows func(ctx context.Context, d *draft, total cleanup, part *cleanup) (all bool, err error),
	closing func(d *draft, total cleanup)) (total cleanup, err error) {
	if w.prov, err = s.provenance(w.prov); err != nil {
		return total, err
	}
	ended := false
	w.plan = func(ctx context.Context, d *draft) error {
		var part cleanup
		all, err := rows(ctx, d, total, &part)
		if err != nil {
			return err
		}
		sum := total.plus(part)
		if all {
			closing(d, sum)
		}
		d.landed = func() { total, ended = sum, all }
		return nil
	}
	err = a.inParts(ctx, w, a.newPace(wholePart), func() bool { return ended })
	return total, err
}

// DeleteSubject removes the grants of a subject. With a user go the grants of its
// implicit groups, its revokes, its pending requests and its record; edges of
// others that point at the user stay (spec: application §11.1).
func (a *Application) DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (provider.CleanupResult, error) {
	var s shape
	s.text("subject", subject, maxID)
	kind, id, ok := authz.ParseSubject(subject)
	gone, err := a.clear(ctx, s, write{op: "deleteSubject", prov: prov}, func(ctx context.Context, d *draft, _ cleanup, part *cleanup) (all bool, err error) {
		if !ok {
			return false, authz.Validation("%s is not a valid subject id", spell.Quote(subject))
		}
		d.emit(authz.SubjectEvents(subject)...)
		if kind != authz.SubjectUser {
			return d.dropGrantsOf(ctx, subject, part)
		}
		if err := d.requireOrgRoot(nounOffboarding); err != nil {
			return false, err
		}
		d.emit(authz.SubjectEvent(authz.SubjectOf(authz.SubjectDirects, id)),
			authz.SubjectEvent(authz.SubjectOf(authz.SubjectOrgOf, id)))
		return d.offboard(ctx, id, part)
	}, func(d *draft, total cleanup) {
		if kind == authz.SubjectUser {
			d.change(storage.DeleteUser{UserID: id})
		}
		d.audit("subject.delete", subject, total)
	})
	return gone.result(err)
}

// offboard drafts the removal of all rows that belong to a user, as far as they fit.
func (d *draft) offboard(ctx context.Context, userID string, gone *cleanup) (all bool, err error) {
	for _, kind := range []authz.SubjectKind{authz.SubjectUser, authz.SubjectDirects, authz.SubjectOrgOf} {
		if all, err := d.dropGrantsOf(ctx, authz.SubjectOf(kind, userID), gone); err != nil || !all {
			return false, err
		}
	}
	filter := storage.RevokeFilter{UserID: &userID}
	for v, err := range d.app.store.ListRevokes(ctx, filter, storage.Page{}) {
		if err != nil {
			return false, err
		}
		if !d.dropRevoke(v, reasonSubjectDeleted, gone) {
			return false, nil
		}
	}
	pending := authz.RequestPending
	requests := storage.RequestFilter{State: &pending, RequesterUserID: &userID}
	for r, err := range d.app.store.ListRequests(ctx, requests, storage.RequestPage{}) {
		if err != nil {
			return false, err
		}
		if !d.fill(storage.DeleteRequest{ID: r.ID, MustExist: true, Expect: asRead(r)}, len(r.ID)) {
			return false, nil
		}
		gone.Requests++
		d.audit("request.cancel", r.ID, struct {
			Reason          string `json:"reason"`
			RequesterUserID string `json:"requesterUserId"`
			RoleID          string `json:"roleId,omitempty"`
			Pattern         string `json:"pattern,omitempty"`
			Scope           string `json:"scope"`
		}{reasonSubjectDeleted, r.RequesterUserID, r.RoleID, r.Pattern, r.Scope})
	}
	return true, nil
}

// dropGrantsOf drafts the removal of a subject's grants, as far as they fit; global ones
// belong to the org root, which is judged of all of them before any goes.
func (d *draft) dropGrantsOf(ctx context.Context, subject string, gone *cleanup) (all bool, err error) {
	all = true
	for g, err := range d.app.store.ListGrants(ctx, storage.GrantFilter{Subject: &subject}, storage.Page{}) {
		if err != nil {
			return false, err
		}
		if err := d.requireOrgRootAt(g.Scope, nounSubjectGlobalRows); err != nil {
			return false, err
		}
		if all = all && d.dropGrant(g, reasonSubjectDeleted, gone); !all && d.authority.OrgRoot {
			return false, nil
		}
	}
	return all, nil
}

// dropGrant insists on the row: who races with another deletion starts over and
// does not record what the other did. It reports whether there was room.
func (d *draft) dropGrant(g authz.Grant, reason string, gone *cleanup) bool {
	if !d.fill(storage.DeleteGrant{ID: g.ID, MustExist: true}, len(g.ID)+len(g.Subject)) {
		return false
	}
	gone.Grants++
	d.audit("grant.delete", g.ID, struct {
		Subject string `json:"subject"`
		Reason  string `json:"reason"`
	}{g.Subject, reason})
	return true
}

func (d *draft) dropRevoke(v authz.Revoke, reason string, gone *cleanup) bool {
	if !d.fill(storage.DeleteRevoke{ID: v.ID, MustExist: true}, len(v.ID)+len(v.UserID)) {
		return false
	}
	gone.Revokes++
	d.audit("revoke.delete", v.ID, struct {
		UserID string `json:"userId"`
		Reason string `json:"reason"`
	}{v.UserID, reason})
	return true
}

// asRead is the state that a request must still be in when it is written.
func asRead(r authz.Request) *storage.RequestExpect {
	return &storage.RequestExpect{State: r.State, StageIndex: r.StageIndex}
}

// DeleteScope removes every grant and revoke at exactly this scope and cancels
// the pending requests for it. Descendants are rows of their own.
func (a *Application) DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (provider.CleanupResult, error) {
	var s shape
	s.text("scope", scope, maxID)
	gone, err := a.clear(ctx, s, write{op: "deleteScope", prov: prov}, func(ctx context.Context, d *draft, _ cleanup, part *cleanup) (bool, error) {
		if scope == authz.Global {
			return false, authz.Validation("the global scope is not a deletable resource")
		}
		if err := checkScope(scope); err != nil {
			return false, err
		}
		return d.dropScope(ctx, scope, part)
	}, func(d *draft, total cleanup) { d.audit("scope.delete", scope, total) })
	return gone.result(err)
}

// dropScope drafts the removal of the rows at a scope, as far as they fit.
func (d *draft) dropScope(ctx context.Context, scope string, gone *cleanup) (all bool, err error) {
	d.emit(authz.ScopeEvent(scope))
	told := map[authz.Event]bool{}
	tell := func(about authz.Event, events ...authz.Event) {
		if !told[about] {
			told[about] = true
			d.emit(events...)
		}
	}
	for g, err := range d.app.store.ListGrants(ctx, storage.GrantFilter{Scope: &scope}, storage.Page{}) {
		if err != nil {
			return false, err
		}
		if !d.dropGrant(g, reasonScopeDeleted, gone) {
			return false, nil
		}
		tell(authz.SubjectEvent(g.Subject), authz.SubjectEvents(g.Subject)...)
	}
	for v, err := range d.app.store.ListRevokes(ctx, storage.RevokeFilter{Scope: &scope}, storage.Page{}) {
		if err != nil {
			return false, err
		}
		if !d.dropRevoke(v, reasonScopeDeleted, gone) {
			return false, nil
		}
		tell(authz.UserEvent(v.UserID), authz.UserEvent(v.UserID))
	}
	pending := authz.RequestPending
	filter := storage.RequestFilter{State: &pending, Scope: &scope}
	for r, err := range d.app.store.ListRequests(ctx, filter, storage.RequestPage{}) {
		if err != nil {
			return false, err
		}
		expect := asRead(r)
		r.State, r.DecidedAt = authz.RequestCancelled, &d.now
		if !d.fill(storage.UpdateRequest{Request: r, Expect: expect}, requestBytes(r)) {
			return false, nil
		}
		gone.Requests++
		d.audit("request.cancel", r.ID, reasonDetail{reasonScopeDeleted})
	}
	return true, nil
}

// requestBytes is about what a request holds of text.
func requestBytes(r authz.Request) int {
	size := len(r.ID) + len(r.RequesterUserID) + len(r.Scope)
	for prompt, answer := range r.Justification {
		size += len(prompt) + len(answer)
	}
	return size
}
