package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// closureTimeout bounds what account surfaces wait for the org root: they go on
// without it.
const closureTimeout = 2 * time.Second

// closureKinds are the subjects of the root's closure that account gates read.
var closureKinds = []string{"group:", "org:", "directs:", "orgof:"}

// closure is a principal's own subject and those that the org root supplies. A root
// that is absent or silent supplies none, which can only narrow: account revokes
// name users, and whom a silent root last called inactive stays so.
func (s *Service) closure(ctx context.Context, org string, p authz.Principal, seat *account.StoredSeat, fresh bool) (subjects []string, active bool) {
	subjects = []string{p.Subject()}
	if p.IsService() {
		return append(subjects, authz.Everyone), true
	}
	limited, end := context.WithTimeout(ctx, closureTimeout)
	defer end()
	noted := seat != nil && seat.Inactive
	supplied, err := s.Root.Access(limited, org, p, fresh || noted) // no old copy takes the note back
	if err != nil {
		return subjects, !noted || rootless(err)
	}
	s.note(ctx, org, seat, supplied.Active)
	return ofAccount(p, supplied.Closure), supplied.Active
}

// ofAccount are the subjects of a closure that account rows may name.
func ofAccount(p authz.Principal, closure []string) []string {
	subjects := []string{p.Subject()}
	for _, subject := range closure {
		if slices.ContainsFunc(closureKinds, func(kind string) bool { return strings.HasPrefix(subject, kind) }) {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// rootless tells that the org has no root, which nobody is inactive at.
func rootless(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Code == "no_org_root"
}

// note keeps with the seat what the root says of its user now.
func (s *Service) note(ctx context.Context, org string, seat *account.StoredSeat, active bool) {
	if seat == nil || seat.Inactive == !active {
		return
	}
	seat.Inactive = !active
	s.NoteActive(ctx, org, seat.UserID, active)
}

// NoteActive keeps with a user's seat whether the org root calls them active, for as
// long as it cannot be asked again. That it is not kept is no failure of what the
// request is about.
func (s *Service) NoteActive(ctx context.Context, org, userID string, active bool) {
	err := account.Retry(func() error {
		ctx := account.Remember(account.WithWork(ctx, nil)) // nothing read before, no commit of the request's own
		row, found, err := account.Seats.Get(ctx, s.Accounts, org, userID)
		if err != nil || !found || row.Value.Inactive == !active {
			return err
		}
		row.Value.Inactive = !active
		tx := s.Accounts.Begin(ctx)
		account.Seats.Put(tx, org, userID, row.Value, row.Version)
		return tx.Commit()
	})
	if err != nil {
		s.Logger.Warn("could not store whether the org root calls a user active", "org", org, "user", userID, "active", active, "error", err)
	}
}

// provenanceOfSeat is of the grant that a seat stands for. No row has it.
const provenanceOfSeat authz.ProvenanceKind = "seat"

// seatGrants are what the kind of a principal's seat confers, before any row.
func seatGrants(p authz.Principal, seat *account.StoredSeat) []authz.Grant {
	if seat == nil || seat.State != account.SeatActive || !seat.Administers() {
		return nil
	}
	role := cloud.RoleAdmin
	if seat.Kind == account.SeatOwner {
		role = cloud.RoleOwner
	}
	grant := authz.Grant{ID: "seat", Subject: p.Subject(), RoleID: role, Scope: authz.Global, Provenance: authz.Provenance{Kind: provenanceOfSeat}, CreatedAt: seat.InvitedAt}
	if seat.ActivatedAt != nil {
		grant.CreatedAt = *seat.ActivatedAt
	}
	return []authz.Grant{grant}
}

// rows are the account rows of a principal; seat adds the built-in role of its kind.
func (s *Service) rows(ctx context.Context, org string, p authz.Principal, seat *account.StoredSeat, fresh bool) (*authz.SubjectAccess, error) {
	subjects, active := s.closure(ctx, org, p, seat, fresh)
	return s.rowsBy(ctx, org, p, seat, subjects, active)
}

// rowsWithRoot are rows by the closure that the root supplies now. What a write confers
// is judged by them: one that is silent is no reason to find less. An org without a root
// has no groups.
func (s *Service) rowsWithRoot(ctx context.Context, org string, p authz.Principal, seat *account.StoredSeat) (*authz.SubjectAccess, error) {
	supplied, err := s.Root.Access(ctx, org, p, true)
	switch {
	case rootless(err):
		return s.rowsBy(ctx, org, p, seat, []string{p.Subject()}, true)
	case err != nil:
		return nil, err
	}
	return s.rowsBy(ctx, org, p, seat, ofAccount(p, supplied.Closure), supplied.Active)
}

// rowsBy are the account rows of a principal with the subjects of a closure.
func (s *Service) rowsBy(ctx context.Context, org string, p authz.Principal, seat *account.StoredSeat, subjects []string, active bool) (*authz.SubjectAccess, error) {
	data, err := s.rowsOf(ctx, org, subjects)
	if err != nil {
		return nil, err
	}
	data.Active = active
	data.Grants = append(data.Grants, seatGrants(p, seat)...)
	if p.IsService() {
		return data, nil
	}
	data.UserID = &p.UserID
	for row, err := range account.Revokes.Under(ctx, s.Accounts, org, p.UserID) {
		if err != nil {
			return nil, err
		}
		data.Revokes = append(data.Revokes, row.Value)
	}
	return data, nil
}

// rowsOf are the account grants of subjects, with their roles.
func (s *Service) rowsOf(ctx context.Context, org string, subjects []string) (*authz.SubjectAccess, error) {
	data := &authz.SubjectAccess{Closure: subjects, Active: true, Roles: cloud.BuiltIn()}
	read := map[string]bool{cloud.RoleOwner: true, cloud.RoleAdmin: true}
	for _, subject := range subjects {
		for row, err := range account.Grants.Under(ctx, s.Accounts, org, subject) {
			if err != nil {
				return nil, err
			}
			data.Grants = append(data.Grants, row.Value)
			if id := row.Value.RoleID; id != "" && !read[id] {
				read[id] = true
				role, found, err := account.Roles.Get(ctx, s.Accounts, org, id)
				if err != nil {
					return nil, err
				}
				if found {
					data.Roles = append(data.Roles, role.Value)
				}
			}
		}
	}
	return data, nil
}

// previewRows are those of the previewed subject.
func (s *Service) previewRows(ctx context.Context, org string, view client.ViewAs) (*authz.SubjectAccess, error) {
	if view.Kind == client.ViewAsUser {
		var seat *account.StoredSeat
		row, found, err := account.Seats.Get(ctx, s.Accounts, org, view.UserID)
		if err != nil {
			return nil, err
		}
		if found {
			seat = &row.Value
		}
		return s.rows(ctx, org, authz.UserPrincipal(view.UserID), seat, false)
	}
	const subject = "preview"
	data := &authz.SubjectAccess{Closure: []string{subject}, Active: true}
	role, found, err := s.accountRole(ctx, org, view.RoleID)
	if err != nil {
		return nil, err
	}
	if !found {
		return data, nil // a role of the root has no patterns that reach account data
	}
	for _, pattern := range role.Patterns {
		data.Grants = append(data.Grants, authz.Grant{ID: pattern, Subject: subject, Pattern: pattern, Scope: authz.Global})
	}
	return data, nil
}

// vocabulary is that of account data, numbered for evaluation.
var vocabulary = sync.OnceValue(func() *compiled.Vocabulary { return compiled.NewVocabulary(cloud.Catalog()) })

// compiled are the actor's account rows, and the previewed subject's, read once a
// request.
func (a *Access) compiled(ctx context.Context) ([]*compiled.Access, error) {
	if a.judges != nil {
		return a.judges, nil
	}
	now := a.service.Clock()
	var data *authz.SubjectAccess
	var err error
	if a.recovers {
		p := a.Caller.Principal()
		data = &authz.SubjectAccess{Closure: []string{p.Subject()}, Active: true, Roles: cloud.BuiltIn(), Grants: seatGrants(p, a.Seat)}
	} else if data, err = a.service.rows(ctx, a.Org.ID, a.Caller.Principal(), a.Seat, a.fresh); err != nil {
		return nil, err
	}
	judges := []*compiled.Access{compiled.Compile(vocabulary(), data, now)}
	narrowed := revokedAt(nil, data)
	if a.ViewAs != nil {
		if data, err = a.service.previewRows(ctx, a.Org.ID, *a.ViewAs); err != nil {
			return nil, err
		}
		judges = append(judges, compiled.Compile(vocabulary(), data, now))
		narrowed = revokedAt(narrowed, data)
	}
	a.judges, a.narrowed = judges, narrowed
	return judges, nil
}

// revokedAt adds the scopes below * of the revokes.
func revokedAt(scopes []string, data *authz.SubjectAccess) []string {
	for _, v := range data.Revokes {
		if v.Scope != authz.Global && !slices.Contains(scopes, v.Scope) {
			scopes = append(scopes, v.Scope)
		}
	}
	return scopes
}

// decide is actor AND preview.
func (a *Access) decide(ctx context.Context, key, scope string) (bool, authz.DenialReason, error) {
	k, known := vocabulary().Lookup(key)
	if !known {
		return false, "", fault.Internal(cloud.Catalog().UnknownPermission(key, authz.ExpectedKey))
	}
	judges, err := a.compiled(ctx)
	if err != nil {
		return false, "", err
	}
	chain := compiled.NewChain(scope, nil)
	for _, judge := range judges {
		if !judge.Active() {
			return false, authz.ReasonInactive, nil
		}
		if allowed, _ := judge.Decide(k, chain); !allowed {
			return false, authz.ReasonForbidden, nil
		}
	}
	return true, "", nil
}

// ExplainAccount shows the working of a decision by account data.
func (s *Service) ExplainAccount(ctx context.Context, org string, p authz.Principal, key, scope string) (access.Explained, error) {
	var none access.Explained
	if !cloud.Catalog().HasKey(key) {
		return none, fault.UnknownPermission(cloud.Catalog().UnknownPermission(key, authz.ExpectedKey))
	}
	if _, isApp := cloud.AppOf(scope); scope != authz.Global && !isApp {
		return none, fault.Rejected(authz.CodeValidation, "keys of cloud are held at * or at cloud.app:<id>, not at %s", spell.Quote(scope))
	}
	var seat *account.StoredSeat
	if !p.IsService() {
		row, found, err := account.Seats.Get(ctx, s.Accounts, org, p.UserID)
		if err != nil {
			return none, err
		}
		if found {
			seat = &row.Value
		}
	}
	data, err := s.rows(ctx, org, p, seat, true)
	if err != nil {
		return none, err
	}
	chains := func(scope string) (access.Chain, error) { return access.NewChain(scope, nil), nil }
	chain, _ := chains(scope)
	now := s.Clock()
	e, err := access.Explain(cloud.Catalog(), data, key, chain, now, chains)
	if err != nil {
		return none, err
	}
	out := access.Around(cloud.Catalog(), data, e, key, now)
	if out.Near == nil {
		return out, nil
	}
	var roles []authz.Role
	for role, err := range s.AccountRoles(ctx, org, provider.Paging{}) {
		if err != nil {
			return none, err
		}
		roles = append(roles, role)
	}
	conferring := access.RolesConferring(cloud.Catalog(), roles, key)
	out.Near.More = out.Near.More || len(conferring) > access.MaxNear
	out.Near.Roles = conferring[:min(len(conferring), access.MaxNear)]
	return out, nil
}

// Held lists the cloud.* keys that the caller holds anywhere, with the scopes of
// the grants that no revoke takes away.
func (a *Access) Held(ctx context.Context) ([]HeldKey, error) {
	judges, err := a.compiled(ctx)
	if err != nil {
		return nil, err
	}
	held := []HeldKey{}
	for _, key := range cloud.Catalog().Keys() {
		k, _ := vocabulary().Lookup(key)
		scopes := []string{}
		for _, judge := range judges {
			for _, scope := range judge.GrantedScopes(k).Granted {
				if slices.Contains(scopes, scope) {
					continue
				}
				allowed, _, err := a.decide(ctx, key, scope)
				if err != nil {
					return nil, err
				}
				if allowed {
					scopes = append(scopes, scope)
				}
			}
		}
		if len(scopes) > 0 {
			slices.Sort(scopes)
			held = append(held, HeldKey{Key: key, Scopes: scopes})
		}
	}
	return held, nil
}
