package service

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// maxGrants is how many grants one bulk writes.
const maxGrants = 1000

// Rows of account data (spec: hosted-api §5, §10): whoever routed a write here
// calls these. Each judges its own gate, cloud.seats.update_seat at *, and that
// nobody confers what they do not hold.

type grantDetail struct {
	ID        string       `json:"id,omitempty"` // in bulk entries only
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Scope     string       `json:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
}

// IsAccountWrite tells whether a row belongs to account data
// (spec: hosted-api §10): at a scope cloud.app:<id> always, at * by its pattern
// or role.
func (s *Service) IsAccountWrite(ctx context.Context, org, scope, pattern, roleID string) (bool, error) {
	if _, ok := cloud.AppOf(scope); ok {
		return true, nil
	}
	switch {
	case scope != "" && scope != authz.Global:
		return false, nil
	case pattern != "":
		return cloud.IsPattern(pattern), nil
	}
	_, found, err := s.accountRole(ctx, org, roleID)
	return found, err
}

// MayCreateAccountGrants is the gate of CreateAccountGrants, the roles as they are
// now.
func (s *Service) MayCreateAccountGrants(ctx context.Context, a *Access, in []provider.GrantInput) error {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	giving := make([]conferred, len(in))
	for i, g := range in {
		if err := s.mayEntrust(g.Subject); err != nil {
			return err
		}
		giving[i] = conferred{[]string{g.Pattern}, cmp.Or(g.Scope, authz.Global)}
		if g.RoleID == "" {
			continue
		}
		role, _, err := s.accountRole(ctx, a.Org.ID, g.RoleID)
		if err != nil {
			return err
		}
		giving[i].patterns = role.Patterns
	}
	return a.holdsAll(ctx, giving)
}

// CreateAccountGrants writes all grants in one commit, or none. one says that they
// are a single grant and not a bulk, which the log tells apart.
func (s *Service) CreateAccountGrants(ctx context.Context, a *Access, in []provider.GrantInput, one bool) ([]authz.Grant, error) {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return nil, err
	}
	if len(in) > maxGrants {
		return nil, fault.Rejected(authz.CodeValidation, "at most %d grants at once", maxGrants)
	}
	return s.granting(ctx, a, in, func(ctx context.Context, ids []string) ([]authz.Grant, error) {
		return s.createAccountGrants(ctx, a, in, ids, one)
	})
}

// granting tries a write, which creates those grants with the ids, until nothing moves
// beside it. It warns of what was granted to whom the account does not know.
func (s *Service) granting(ctx context.Context, a *Access, in []provider.GrantInput, try func(ctx context.Context, ids []string) ([]authz.Grant, error)) ([]authz.Grant, error) {
	var rows []authz.Grant
	ids := make([]string, len(in)) // before the first try: a repeat after this host died has the same
	for i := range ids {
		ids[i] = account.NewID(ctx)
	}
	write := func(ctx context.Context) error {
		return account.Retry(func() (err error) {
			rows, err = try(ctx, ids)
			return err
		})
	}
	err := s.beside(ctx, a.Org.ID, write, func(yield func(string) bool) {
		for _, g := range in {
			if !yield(g.Scope) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, w := range Warnings(rows...) {
		s.Logger.Warn("account rights were granted: "+w, "org", a.Org.ID, "by", a.Caller.Actor())
	}
	return rows, nil
}

func (s *Service) createAccountGrants(ctx context.Context, a *Access, in []provider.GrantInput, ids []string, one bool) ([]authz.Grant, error) {
	rows := make([]authz.Grant, 0, len(in))
	var giving []conferred
	roles := map[string]account.Row[authz.Role]{}
	for i, g := range in {
		row, patterns, err := s.accountGrant(ctx, a, g, roles)
		if err != nil {
			return nil, err
		}
		row.ID = ids[i]
		rows, giving = append(rows, row), append(giving, conferred{patterns, row.Scope})
	}
	if err := a.holdsAll(ctx, giving); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := s.mayEntrust(row.Subject); err != nil {
			return nil, err
		}
	}
	tx := s.Accounts.Begin(ctx)
	details := make([]grantDetail, 0, len(rows))
	for _, row := range rows {
		account.Grants.Put(tx, a.Org.ID, row.ID, row, 0)
		details = append(details, grantDetail{"", row.Subject, row.RoleID, row.Pattern, row.Scope, row.ExpiresAt})
	}
	s.keepRoles(tx, a.Org.ID, roles)
	if one && len(rows) == 1 {
		tx.Audit(a.Org.ID, a.Caller.Actor(), "grant.create", ids[0], details[0])
	} else {
		for i := range details {
			details[i].ID = ids[i]
		}
		tx.Audit(a.Org.ID, a.Caller.Actor(), "grant.create_bulk", account.NewID(ctx), struct {
			Count    int           `json:"count"`
			GrantIDs []string      `json:"grantIds"`
			Grants   []grantDetail `json:"grants"`
		}{len(rows), ids, details})
	}
	return rows, tx.Commit()
}

// keepRoles writes roles that grants name as they are: their deletion, which counted no
// grant of them, must not go through beside this commit.
func (s *Service) keepRoles(tx *account.Tx, org string, roles map[string]account.Row[authz.Role]) {
	for id, role := range roles {
		if role.Version > 0 { // built-in ones are no records
			account.Roles.Put(tx, org, id, role.Value, role.Version)
		}
	}
}

// accountGrant judges one grant as an application would, and answers its patterns.
func (s *Service) accountGrant(ctx context.Context, a *Access, in provider.GrantInput, roles map[string]account.Row[authz.Role]) (authz.Grant, []string, error) {
	refused := func(format string, args ...any) (authz.Grant, []string, error) {
		return authz.Grant{}, nil, fault.Rejected(authz.CodeValidation, format, args...)
	}
	now := s.Accounts.Now(ctx)
	row := authz.Grant{Subject: in.Subject, RoleID: in.RoleID, Pattern: in.Pattern, Scope: in.Scope,
		ExpiresAt: in.ExpiresAt, Provenance: a.Caller.Provenance(), CreatedAt: now}
	if row.Scope == "" {
		row.Scope = authz.Global
	}
	kind, id, ok := authz.ParseSubject(in.Subject)
	switch {
	case !ok || !newID(id, maxUser):
		return refused("%s is not a valid subject id", spell.Quote(in.Subject))
	case !slices.Contains([]authz.SubjectKind{authz.SubjectUser, authz.SubjectGroup, authz.SubjectOrg, authz.SubjectService}, kind):
		return refused("%s cannot hold account rows; grant to users, groups, orgs or services", spell.Quote(in.Subject))
	case (in.RoleID == "") == (in.Pattern == ""):
		return refused("a grant carries exactly one of roleId / pattern")
	}
	if err := s.accountScope(ctx, a.Org.ID, row.Scope); err != nil {
		return authz.Grant{}, nil, err
	}
	if at, set := in.ExpiresAt.At(); set && (!authz.ValidInstant(at) || at == -authz.MaxInstant) {
		return refused("expiresAt must be a finite epoch-millisecond number")
	} else if set && at <= now {
		return refused("expiresAt is already in the past")
	}
	if in.Pattern != "" {
		if err := accountPattern(in.Pattern); err != nil {
			return authz.Grant{}, nil, err
		}
		if issue := cloud.Catalog().ValidateGrantableAt(in.Pattern, row.Scope); issue != nil {
			return refused("%s", issue.Message)
		}
		return row, []string{in.Pattern}, nil
	}
	role, known := roles[in.RoleID]
	if !known {
		var found bool
		var err error
		if role, found, err = s.accountRoleRow(ctx, a.Org.ID, in.RoleID); err != nil {
			return authz.Grant{}, nil, err
		}
		if !found {
			return authz.Grant{}, nil, fault.Rejected(authz.CodeNotFound, "role %s does not exist", spell.Quote(in.RoleID))
		}
		roles[in.RoleID] = role
	}
	if !slices.ContainsFunc(role.Value.Patterns, func(p string) bool { return cloud.Catalog().ValidateGrantableAt(p, row.Scope) == nil }) {
		return refused("role %s has no pattern grantable at %s", spell.Quote(in.RoleID), spell.Echo(row.Scope))
	}
	return row, role.Value.Patterns, nil
}

// accountScope wants * or the scope of an application that exists.
func (s *Service) accountScope(ctx context.Context, org, scope string) error {
	if scope == authz.Global {
		return nil
	}
	id, ok := cloud.AppOf(scope)
	if !ok || authz.ValidateScope(scope) != nil {
		return fault.Rejected(authz.CodeValidation, "account rows are at * or at %s:<application>", cloud.AppType)
	}
	exists, err := s.Applications.Exists(ctx, org, id)
	if err == nil && !exists {
		err = fault.Rejected(authz.CodeValidation, "application %s does not exist", spell.Quote(id))
	}
	return err
}

// beside runs a write of rows at scopes, without a deletion of an application beside
// it where one of them is an application's.
func (s *Service) beside(ctx context.Context, org string, write func(context.Context) error, scopes iter.Seq[string]) error {
	for scope := range scopes {
		if _, ok := cloud.AppOf(scope); ok {
			return s.Applications.Steady(ctx, org, write)
		}
	}
	return write(ctx)
}

// accountPattern wants a known pattern of account vocabulary; a bare * is none.
func accountPattern(pattern string) error {
	if err := authz.ValidatePattern(pattern); err != nil {
		return fault.Rejected(authz.CodeValidation, "%s", err.Reason)
	}
	if !cloud.IsPattern(pattern) {
		return fault.Rejected(authz.CodeValidation, "%s is not of the account vocabulary %s", spell.Quote(pattern), cloud.Everything)
	}
	if issue := cloud.Catalog().ValidateKnownPattern(pattern); issue != nil {
		return fault.Rejected(authz.CodeValidation, "%s", issue.Message)
	}
	return nil
}

// AccountGrant reads a grant of account data.
func (s *Service) AccountGrant(ctx context.Context, org, id string) (authz.Grant, bool, error) {
	row, found, err := account.Grants.Get(ctx, s.Accounts, org, id)
	return row.Value, found, err
}

// AccountGrants finds the grants of account data that a search selects, in its order.
func (s *Service) AccountGrants(ctx context.Context, org string, q authz.GrantSearch) iter.Seq2[authz.Grant, error] {
	rows := account.Grants.All(ctx, s.Accounts, org)
	if q.Subject != nil {
		rows = account.Grants.Under(ctx, s.Accounts, org, *q.Subject)
	}
	found := selected(values(rows), func(g authz.Grant) bool { return q.Selects(&g) }, func(g authz.Grant) string { return g.ID }, provider.Paging{})
	if q.Order == authz.GrantsByID {
		return found
	}
	return func(yield func(authz.Grant, error) bool) {
		var sorted []authz.Grant
		for g, err := range found {
			if err != nil {
				yield(g, err)
				return
			}
			sorted = append(sorted, g)
		}
		slices.SortFunc(sorted, func(a, b authz.Grant) int { return q.Order.Compare(q.Order.Place(&a), q.Order.Place(&b)) })
		for _, g := range sorted {
			if !yield(g, nil) {
				return
			}
		}
	}
}

// DeleteAccountGrant removes a grant of account data.
func (s *Service) DeleteAccountGrant(ctx context.Context, a *Access, id string) error {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	return account.Retry(func() error {
		row, found, err := account.Grants.Get(ctx, s.Accounts, a.Org.ID, id)
		if err != nil {
			return err
		}
		if !found {
			return fault.Rejected(authz.CodeNotFound, "grant not found")
		}
		tx := s.Accounts.Begin(ctx)
		account.Grants.Delete(tx, a.Org.ID, id, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "grant.delete", id, struct {
			Subject string `json:"subject"`
		}{row.Value.Subject})
		return tx.Commit()
	})
}

// selected is the page of those rows, by id already, that are wanted.
func selected[T any](rows iter.Seq2[T, error], wanted func(T) bool, id func(T) string, p provider.Paging) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := 0
		for row, err := range rows {
			if err != nil {
				yield(row, err)
				return
			}
			if !wanted(row) || p.After != "" && id(row) <= p.After {
				continue
			}
			if n++; !yield(row, nil) || n == p.Limit {
				return
			}
		}
	}
}
