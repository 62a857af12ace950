package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// ErrNotAllowed is the answer to a good credential of a kind that may not call.
func ErrNotAllowed() error {
	return fault.Cloud("credential_not_allowed", "a credential of this kind cannot be used here")
}

func errNoOrg() error { return fault.Cloud("org_not_found", "org not found") }

// Authorize passes a caller through the gate of an endpoint below /orgs/{org}:
// membership first, then the gate; existence is judged later, by what the Access is
// used for. app is the application in the path, for gates at it. With write the org
// root is asked fresh; that a session which previews writes nothing is for the
// endpoint to say, since leaving a preview is a write too.
func (s *Service) Authorize(ctx context.Context, caller Caller, org, app string, gate Gate, write bool) (*Access, error) {
	if !gate.Admits(caller.Kind) {
		return nil, ErrNotAllowed()
	}
	a, err := s.enter(ctx, caller, org, write)
	if err != nil {
		return nil, err
	}
	a.recovers = a.recovers && gate.Recovers
	switch gate.Kind {
	case GateOwner:
		err = s.requireOwner(ctx, a)
	case GateCloud:
		scope := authz.Global
		if gate.AtApp {
			scope = cloud.App(app)
		}
		err = a.Require(ctx, gate.Key, scope)
	case GateOrg:
		err = a.RequireOrg(ctx, gate.Key, write)
	default:
		err = a.requireActive(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// AuthorizeSession is Authorize for endpoints of no org: a session that previews
// anywhere writes nothing here either.
func (s *Service) AuthorizeSession(ctx context.Context, caller Caller, write bool) error {
	if !AnySession.Admits(caller.Kind) {
		return ErrNotAllowed()
	}
	if !write {
		return nil
	}
	row, found, err := account.Sessions.Get(ctx, s.Accounts, "", caller.CredentialID)
	switch {
	case err != nil:
		return err
	case !found:
		return errSession()
	case len(row.Value.Views) > 0:
		return errReadOnly()
	}
	return nil
}

// AuthorizeOperator is Authorize for what the host shows to its operator.
func (s *Service) AuthorizeOperator(ctx context.Context, caller Caller) error {
	if !Operator.Admits(caller.Kind) {
		return ErrNotAllowed()
	}
	operates, err := s.operates(ctx, caller)
	if err == nil && !operates {
		err = fault.Cloud("operator_required", "only a session of the bootstrap user may see the host")
	}
	return err
}

// operates tells whether a session is the operator's: of the user whom the host's
// configuration names, opened in no org or with an owner seat that is theirs still.
// An owner of an org is a tenant, and so is who was invited to one.
func (s *Service) operates(ctx context.Context, caller Caller) (bool, error) {
	if caller.Kind != CallerSession || !s.isBootstrap(caller.UserID) {
		return false, nil
	}
	if caller.Org == "" {
		return true, nil
	}
	seat, found, err := account.Seats.Get(ctx, s.Accounts, caller.Org, caller.UserID)
	return found && seat.Value.Kind == account.SeatOwner && seat.Value.State == account.SeatActive, err
}

func errReadOnly() error {
	return fault.Cloud("view_as_read_only", "while previewing nothing can be changed; leave the preview first")
}

// enter answers org_not_found for every org that the caller has no seat in and no
// key of, whether or not it exists. A key's org is compared before anything else is
// looked up.
func (s *Service) enter(ctx context.Context, caller Caller, org string, write bool) (*Access, error) {
	if caller.Kind != CallerSession && caller.Org != org || !account.ValidOrgID(org) {
		return nil, errNoOrg()
	}
	a := &Access{Caller: caller, service: s, fresh: write}
	if caller.UserID != "" {
		seat, found, err := account.Seats.Get(ctx, s.Accounts, org, caller.UserID)
		if err != nil {
			return nil, err
		}
		switch {
		case !found || seat.Value.State == account.SeatRemoved:
			return nil, errNoOrg()
		case seat.Value.State != account.SeatActive:
			return nil, fault.Cloud("seat_required", "the seat is invited; sign in to this org to accept it")
		}
		a.Seat = &seat.Value
		if !caller.Quiet {
			s.touches.seat(org, seat.Value.Seat, s.Clock())
		}
	}
	row, found, err := account.Orgs.Get(ctx, s.Accounts, org, account.OrgID)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoOrg()
	}
	a.Org = row.Value
	if caller.Kind != CallerSession {
		return a, nil
	}
	session, found, err := account.Sessions.Get(ctx, s.Accounts, "", caller.CredentialID)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errSession()
	}
	a.recovers = session.Value.AuthMethod == MethodBootstrap && a.Seat != nil && a.Seat.Kind == account.SeatOwner
	a.Previewing, a.signedIn = len(session.Value.Views) > 0, session.Value.CreatedAt
	if view, previews := session.Value.Views[org]; previews {
		a.ViewAs = &view
	}
	return a, nil
}

func (s *Service) requireOwner(ctx context.Context, a *Access) error {
	if err := a.requireActive(ctx); err != nil {
		return err
	}
	return a.RequireOwner(ctx, "the endpoint")
}

// RequireOwner is the gate of owner-only acts; a refusal is recorded.
func (a *Access) RequireOwner(ctx context.Context, act string) error {
	if a.Seat != nil && a.Seat.Kind == account.SeatOwner && a.Caller.Kind != CallerPrincipal {
		return nil
	}
	tx := a.service.Accounts.Begin(ctx)
	tx.Audit(a.Org.ID, a.Caller.Actor(), "owner.refuse", act, nil)
	if err := tx.Commit(); err != nil {
		return err
	}
	return fault.Cloud("owner_required", "an active owner seat is required")
}

// RequireOrg asks the org root for a key of authz_internal at *. Where it cannot be
// asked the answer is its error, never a denial.
func (a *Access) RequireOrg(ctx context.Context, key string, fresh bool) error {
	q := Question{Org: a.Org.ID, Principal: a.Caller.Principal(), ViewAs: a.ViewAs, Key: key, Fresh: fresh}
	if key == client.ViewAsKey {
		q.ViewAs = nil // whether the actor may preview is a question of real access
	}
	allowed, reason, err := a.service.Root.Decide(ctx, q)
	if err != nil || allowed {
		return err
	}
	if reason == authz.ReasonInactive {
		a.service.note(ctx, a.Org.ID, a.Seat, false)
	}
	return fault.Denied(string(reason), key, authz.Global, a.Caller.Principal())
}

// Require is Can whose denial is an AccessDeniedError.
func (a *Access) Require(ctx context.Context, key, scope string) error {
	allowed, reason, err := a.decide(ctx, key, scope)
	if err != nil || allowed {
		return err
	}
	return fault.Denied(string(reason), key, scope, a.Caller.Principal())
}

// Can tells whether the caller, and the previewed subject, hold a cloud.* key at a
// scope: * or cloud.app:<id>.
func (a *Access) Can(ctx context.Context, key, scope string) (bool, error) {
	allowed, _, err := a.decide(ctx, key, scope)
	return allowed, err
}

// requireActive refuses users whom the org root reports inactive. It needs no root.
func (a *Access) requireActive(ctx context.Context) error {
	if a.Caller.UserID == "" || a.recovers {
		return nil
	}
	if _, active := a.service.closure(ctx, a.Org.ID, a.Caller.Principal(), a.Seat, a.fresh); !active {
		return fault.Denied(string(authz.ReasonInactive), "seat", authz.Global, a.Caller.Principal())
	}
	return nil
}
