package service

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// conferred is what a row would give: patterns of account vocabulary at a scope.
type conferred struct {
	patterns []string
	scope    string
}

// Missing is a key that a caller lacks, and where.
type Missing struct {
	Key   string `json:"key"`
	Scope string `json:"scope"`
}

// Escalation is escalation_refused with what the caller lacks, nil for nothing.
func Escalation(lacking []Missing) error {
	if len(lacking) == 0 {
		return nil
	}
	return fault.Cloud("escalation_refused", "nobody gives what they do not hold").With("missing", lacking)
}

// holdsAll is escalation_refused unless the caller holds every key that the rows
// would confer, at their scopes.
func (a *Access) holdsAll(ctx context.Context, rows []conferred) error {
	lacking, err := a.lacks(ctx, rows, nil)
	if err != nil {
		return err
	}
	return Escalation(lacking)
}

// lacks lists the keys that the rows would confer and the caller does not hold; all of
// them, or those that count. A row at * confers at every application, also where a
// revoke keeps the caller out, or kept out whoever it confers on: at names those.
func (a *Access) lacks(ctx context.Context, rows []conferred, counts func(Missing) bool, at ...string) ([]Missing, error) {
	if _, err := a.compiled(ctx); err != nil {
		return nil, err
	}
	lacking := []Missing{}
	for _, row := range rows {
		for _, m := range row.keys(slices.Concat(a.narrowed, at)) {
			if slices.Contains(lacking, m) || counts != nil && !counts(m) {
				continue
			}
			allowed, err := a.Can(ctx, m.Key, m.Scope)
			if err != nil {
				return nil, err
			}
			if !allowed {
				lacking = append(lacking, m)
			}
		}
	}
	return lacking, nil
}

// keys are those that a row gives at its scope and, when that is *, at the scopes below
// it that are named.
func (c conferred) keys(below []string) (given []Missing) {
	scopes := []string{c.scope}
	if c.scope == authz.Global {
		scopes = append(scopes, below...)
	}
	for _, pattern := range c.patterns {
		for _, key := range cloud.Catalog().KeysMatching(pattern) {
			for _, scope := range scopes {
				if cloud.Catalog().AppliesAt(key, scope) {
					given = append(given, Missing{key, scope})
				}
			}
		}
	}
	return given
}

// holder tells what rows confer, revokes included.
func (s *Service) holder(data *authz.SubjectAccess) func(Missing) bool {
	by := compiled.Compile(vocabulary(), data, s.Clock())
	return func(m Missing) bool {
		key, known := vocabulary().Lookup(m.Key)
		allowed, _ := by.Decide(key, compiled.NewChain(m.Scope, nil))
		return known && allowed
	}
}

// confers are the live grants among account rows, with their roles' patterns.
func (s *Service) confers(data *authz.SubjectAccess) []conferred {
	patterns := map[string][]string{}
	for _, role := range data.Roles {
		patterns[role.ID] = role.Patterns
	}
	var rows []conferred
	for _, g := range data.Grants {
		if g.ExpiresAt.Expired(s.Clock()) {
			continue
		}
		row := conferred{[]string{g.Pattern}, g.Scope}
		if g.Pattern == "" {
			row.patterns = patterns[g.RoleID]
		}
		rows = append(rows, row)
	}
	return rows
}

// holdsService judges who comes to know a secret of a machine subject, by which they
// act as it: the caller holds all that its rows confer, in account data and at every
// application that is or may become the org root.
func (s *Service) holdsService(ctx context.Context, a *Access, id string) error {
	service := authz.ServicePrincipal(id)
	data, err := s.rows(ctx, a.Org.ID, service, nil, true)
	if err != nil {
		return err
	}
	lacking, err := a.lacks(ctx, s.confers(data), nil)
	if err != nil {
		return err
	}
	beyond, err := s.Root.Beyond(ctx, a.Org.ID, a.Caller.Principal(), service)
	if err != nil {
		return err
	}
	for _, key := range beyond {
		lacking = append(lacking, Missing{key, authz.Global})
	}
	return Escalation(lacking)
}

// MayReach judges that account rows of subjects come to reach somebody whom they did
// not: the caller holds every key that they confer.
func (s *Service) MayReach(ctx context.Context, a *Access, subjects []string) error {
	var rows []conferred
	for _, subject := range subjects {
		data, err := s.rowsOf(ctx, a.Org.ID, []string{subject})
		if err != nil {
			return err
		}
		rows = append(rows, s.confers(data)...)
	}
	return a.holdsAll(ctx, rows)
}

// MayRestore judges that a user whom the org root calls inactive becomes active again:
// the caller holds every key that the user's seat, once they signed in, and account
// rows then confer. A root that does not say whether they are active is its error.
func (s *Service) MayRestore(ctx context.Context, a *Access, userID string) error {
	active, err := s.Root.Active(ctx, a.Org.ID, userID)
	if err != nil || active {
		return err
	}
	row, found, err := s.seatOf(ctx, a.Org.ID, userID)
	if err != nil {
		return err
	}
	var seat *account.StoredSeat
	if found && row.Value.State != account.SeatRemoved {
		row.Value.State = account.SeatActive
		seat = &row.Value
	}
	data, err := s.rowsWithRoot(ctx, a.Org.ID, authz.UserPrincipal(userID), seat)
	if err != nil {
		return err
	}
	data.Active = true
	lacking, err := a.lacks(ctx, s.confers(data), s.holder(data))
	if err != nil {
		return err
	}
	return Escalation(lacking)
}

// mayUnseat judges that a user loses the seat, and with it their revokes: what these took
// of the rows of groups and orgs the caller holds. In which of them the user is does not
// count, since that changes, and the org's root with it.
func (s *Service) mayUnseat(ctx context.Context, a *Access, seat account.StoredSeat) error {
	p := authz.UserPrincipal(seat.UserID)
	full := &authz.SubjectAccess{UserID: &p.UserID, Active: true, Closure: []string{p.Subject()},
		Grants: []authz.Grant{{ID: "all", Subject: p.Subject(), Pattern: cloud.Everything, Scope: authz.Global}}}
	for row, err := range account.Revokes.Under(ctx, s.Accounts, a.Org.ID, seat.UserID) {
		if err != nil {
			return err
		}
		full.Revokes = append(full.Revokes, row.Value)
	}
	if len(full.Revokes) == 0 {
		return nil
	}
	shared, err := s.Granted(ctx, a.Org.ID, authz.SubjectGroup, authz.SubjectOrg)
	if err != nil {
		return err
	}
	data, err := s.rowsOf(ctx, a.Org.ID, slices.Sorted(maps.Keys(shared)))
	if err != nil {
		return err
	}
	kept := s.holder(full)
	lacking, err := a.lacks(ctx, s.confers(data), func(m Missing) bool { return !kept(m) }, revokedAt(nil, full)...)
	if err != nil {
		return err
	}
	return Escalation(lacking)
}

// Granted are the subjects of some kinds that have account rows.
func (s *Service) Granted(ctx context.Context, org string, kinds ...authz.SubjectKind) (map[string]bool, error) {
	subjects := map[string]bool{}
	for row, err := range account.Grants.All(ctx, s.Accounts, org) {
		if err != nil {
			return nil, err
		}
		if k, _, ok := authz.ParseSubject(row.Value.Subject); ok && slices.Contains(kinds, k) {
			subjects[row.Value.Subject] = true
		}
	}
	return subjects, nil
}

// Strict tells whether service.strict_escalation is on.
func (s *Service) Strict() bool { return s.StrictEscalation }

// entrusted is why an account row leaves to others who holds it, "" when it does not:
// an application or a directory decides who is in a group or an org.
func entrusted(subject string) string {
	kind, _, _ := authz.ParseSubject(subject)
	if kind != authz.SubjectGroup && kind != authz.SubjectOrg {
		return ""
	}
	return fmt.Sprintf("who is in %s is decided by the org root's application and its directories, not here: they give these rights from now on", spell.Quote(subject))
}

// Warnings tell what the author of account rows may not have meant.
func Warnings(rows ...authz.Grant) []string {
	var told []string
	for _, row := range rows {
		if w := entrusted(row.Subject); w != "" && !slices.Contains(told, w) {
			told = append(told, w)
		}
	}
	return told
}

// mayEntrust refuses, when escalation is strict, what Warnings tells otherwise.
func (s *Service) mayEntrust(subject string) error {
	w := entrusted(subject)
	if w == "" || !s.StrictEscalation {
		return nil
	}
	return fault.Cloud("escalation_refused", "service.strict_escalation is on: grant to users or services; %s", w).With("missing", []Missing{})
}
