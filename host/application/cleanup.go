package application

import (
	"context"

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

func (c cleanup) result() provider.CleanupResult {
	return provider.CleanupResult{DeletedGrants: c.Grants, DeletedRevokes: c.Revokes}
}

// DeleteSubject removes the grants of a subject. With a user go the grants of its
// implicit groups, its revokes, its pending requests and its record; edges of
// others that point at the user stay (contract: application §11.1).
func (a *Application) DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (provider.CleanupResult, error) {
	var s shape
	s.text("subject", subject, maxID)
	if s.err != nil {
		return provider.CleanupResult{}, s.err
	}
	prov, err := provenance(prov)
	if err != nil {
		return provider.CleanupResult{}, err
	}
	var gone cleanup
	err = a.run(ctx, write{op: "deleteSubject", prov: prov, plan: func(ctx context.Context, d *draft) error {
		kind, id, ok := authz.ParseSubject(subject)
		if !ok {
			return authz.Validation("%s is not a valid subject id", authz.Quote(subject))
		}
		gone = cleanup{}
		if kind == authz.SubjectUser {
			if err := d.gate(nounOffboarding); err != nil {
				return err
			}
			if err := d.offboard(ctx, id, &gone); err != nil {
				return err
			}
		} else if err := d.dropGrantsOf(ctx, subject, &gone); err != nil {
			return err
		}
		d.audit("subject.delete", subject, gone)
		d.emit(authz.SubjectEvents(subject)...)
		if kind == authz.SubjectUser {
			d.emit(authz.SubjectEvent(authz.SubjectOf(authz.SubjectDirects, id)),
				authz.SubjectEvent(authz.SubjectOf(authz.SubjectOrgOf, id)))
		}
		return nil
	}})
	if err != nil {
		return provider.CleanupResult{}, err
	}
	return gone.result(), nil
}

// offboard drafts the removal of all that belongs to a user.
func (d *draft) offboard(ctx context.Context, userID string, gone *cleanup) error {
	for _, kind := range []authz.SubjectKind{authz.SubjectUser, authz.SubjectDirects, authz.SubjectOrgOf} {
		if err := d.dropGrantsOf(ctx, authz.SubjectOf(kind, userID), gone); err != nil {
			return err
		}
	}
	filter := storage.RevokeFilter{UserID: &userID}
	for v, err := range d.app.store.ListRevokes(ctx, filter, storage.Page{}) {
		if err != nil {
			return err
		}
		if err := d.dropRevoke(v, reasonSubjectDeleted, gone); err != nil {
			return err
		}
	}
	pending := authz.RequestPending
	requests := storage.RequestFilter{State: &pending, RequesterUserID: &userID}
	for r, err := range d.app.store.ListRequests(ctx, requests, storage.RequestPage{}) {
		if err != nil {
			return err
		}
		gone.Requests++
		d.change(storage.DeleteRequest{ID: r.ID, MustExist: true, Expect: asRead(r)})
		d.audit("request.cancel", r.ID, struct {
			Reason          string `json:"reason"`
			RequesterUserID string `json:"requesterUserId"`
			RoleID          string `json:"roleId,omitempty"`
			Pattern         string `json:"pattern,omitempty"`
			Scope           string `json:"scope"`
		}{reasonSubjectDeleted, r.RequesterUserID, r.RoleID, r.Pattern, r.Scope})
		if err := d.fits(); err != nil {
			return err
		}
	}
	d.change(storage.DeleteUser{UserID: userID})
	return nil
}

// dropGrantsOf drafts the removal of a subject's grants; global ones belong to the
// org root.
func (d *draft) dropGrantsOf(ctx context.Context, subject string, gone *cleanup) error {
	for g, err := range d.app.store.ListGrants(ctx, storage.GrantFilter{Subject: &subject}, storage.Page{}) {
		if err != nil {
			return err
		}
		if err := d.gateScope(g.Scope, nounSubjectGlobalRows); err != nil {
			return err
		}
		if err := d.dropGrant(g, reasonSubjectDeleted, gone); err != nil {
			return err
		}
	}
	return nil
}

// dropGrant insists on the row: who races with another deletion starts over and
// does not record what the other did.
func (d *draft) dropGrant(g authz.Grant, reason string, gone *cleanup) error {
	gone.Grants++
	d.change(storage.DeleteGrant{ID: g.ID, MustExist: true})
	d.audit("grant.delete", g.ID, struct {
		Subject string `json:"subject"`
		Reason  string `json:"reason"`
	}{g.Subject, reason})
	return d.fits()
}

func (d *draft) dropRevoke(v authz.Revoke, reason string, gone *cleanup) error {
	gone.Revokes++
	d.change(storage.DeleteRevoke{ID: v.ID, MustExist: true})
	d.audit("revoke.delete", v.ID, struct {
		UserID string `json:"userId"`
		Reason string `json:"reason"`
	}{v.UserID, reason})
	return d.fits()
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
	if s.err != nil {
		return provider.CleanupResult{}, s.err
	}
	prov, err := provenance(prov)
	if err != nil {
		return provider.CleanupResult{}, err
	}
	if scope == authz.Global {
		return provider.CleanupResult{}, authz.Validation("the global scope is not a deletable resource")
	}
	if err := checkScope(scope); err != nil {
		return provider.CleanupResult{}, err
	}
	var gone cleanup
	err = a.run(ctx, write{op: "deleteScope", prov: prov, plan: func(ctx context.Context, d *draft) error {
		gone = cleanup{}
		return d.dropScope(ctx, scope, &gone)
	}})
	if err != nil {
		return provider.CleanupResult{}, err
	}
	return gone.result(), nil
}

func (d *draft) dropScope(ctx context.Context, scope string, gone *cleanup) error {
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
			return err
		}
		if err := d.dropGrant(g, reasonScopeDeleted, gone); err != nil {
			return err
		}
		tell(authz.SubjectEvent(g.Subject), authz.SubjectEvents(g.Subject)...)
	}
	for v, err := range d.app.store.ListRevokes(ctx, storage.RevokeFilter{Scope: &scope}, storage.Page{}) {
		if err != nil {
			return err
		}
		if err := d.dropRevoke(v, reasonScopeDeleted, gone); err != nil {
			return err
		}
		tell(authz.UserEvent(v.UserID), authz.UserEvent(v.UserID))
	}
	pending := authz.RequestPending
	filter := storage.RequestFilter{State: &pending, Scope: &scope}
	for r, err := range d.app.store.ListRequests(ctx, filter, storage.RequestPage{}) {
		if err != nil {
			return err
		}
		gone.Requests++
		expect := asRead(r)
		r.State, r.DecidedAt = authz.RequestCancelled, &d.now
		d.change(storage.UpdateRequest{Request: r, Expect: expect})
		d.audit("request.cancel", r.ID, reasonDetail{reasonScopeDeleted})
		if err := d.fits(); err != nil {
			return err
		}
	}
	d.audit("scope.delete", scope, *gone)
	return nil
}
