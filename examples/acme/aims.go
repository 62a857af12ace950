package acme

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// aim is one kind of question: how to draw candidates and which of them to keep.
// An aim with a factor keeps what that factor decides.
type aim struct {
	why    string
	count  int
	want   bool
	factor Factor
	draw   func(*sampler) (ask, bool)
	keep   func(*sampler, ask, answer) bool // nil keeps everything of the wanted answer
}

// aims adds up to all questions but the first. Counts leave 40 to 60 % denied.
var aims = []aim{
	{why: "a grant to the user allows it", count: 30, want: true, factor: FactorUser, draw: throughKind(authz.SubjectUser)},
	{why: "a grant to a group of the user allows it", count: 30, want: true, factor: FactorGroup, draw: throughKind(authz.SubjectGroup)},
	{why: "a grant to a parent of a group of the user allows it", count: 30, want: true, factor: FactorNestedGroup, draw: throughKind(authz.SubjectGroup)},
	{why: "a grant to an org of the user allows it", count: 22, want: true, factor: FactorOrg, draw: throughKind(authz.SubjectOrg)},
	{why: "a grant to everyone allows it", count: 20, want: true, factor: FactorEveryone, draw: throughKind(authz.SubjectEveryone)},
	{why: "a grant to the service allows it", count: 24, want: true, factor: FactorService, draw: throughKind(authz.SubjectService)},
	{why: "a grant to the direct reports of the user's manager allows it", count: 20, want: true, factor: FactorDirects, draw: throughKind(authz.SubjectDirects)},
	{why: "a grant to all reports of somebody above the user allows it", count: 20, want: true, factor: FactorOrgOf, draw: throughKind(authz.SubjectOrgOf)},
	{why: "a role allows it", count: 20, want: true, factor: FactorRole, draw: throughGrant(func(g Grant) bool { return g.RoleID != "" })},
	{why: "a grant that expires in the far future allows it", count: 16, want: true, factor: FactorDated, draw: throughGrant(func(g Grant) bool { return !g.ExpiresAt.IsZero() })},
	{why: "a grant further down implies it on the ancestors", count: 24, want: true, factor: FactorImplied, draw: aboveGrant(true)},
	{why: "a revoke further down does not reach up", count: 8, want: true, draw: aboveRevoke(anyKey), keep: direct},

	{why: "the grant that would allow it has expired", count: 24, factor: FactorExpired, draw: throughGrant(Grant.Expiring)},
	{why: "a revoke at * takes it away", count: 30, factor: FactorGlobalRevoke, draw: throughRevoke},
	{why: "a revoke above the scope takes it away", count: 28, factor: FactorInheritedRevoke, draw: throughRevoke},
	{why: "a revoke at the scope takes it away", count: 16, factor: FactorScopeRevoke, draw: throughRevoke},
	{why: "a revoke on the way to the implying grant takes it away", count: 11, factor: FactorImpliedRevoke, draw: aboveRevoke(impliedKey)},
	{why: "the user is deactivated", count: 26, factor: FactorDeactivated, draw: deactivated},
	{why: "nothing grants it", count: 30, draw: anything, keep: noRows},
	{why: "the grant sits at another scope of the same type", count: 20, draw: sideways, keep: noRows},
	{why: "a grant does not reach up", count: 15, draw: aboveGrant(false), keep: noRows},
	{why: "a scoped grant does not answer the global question", count: 15, draw: globally, keep: noRows},
	{why: "the pattern matches, but the key is not grantable at the type of the grant's scope", count: 20, draw: ungrantable, keep: noRows},
}

// direct keeps what a row on the chain allows.
func direct(_ *sampler, _ ask, got answer) bool { return len(got.grants) > 0 }

// noRows keeps what no row and no rule but absence denies.
func noRows(s *sampler, a ask, got answer) bool {
	return len(got.grants) == 0 && len(got.revokes) == 0 && len(s.deciding(a, false)) == 0
}

// throughGrant draws a row, one of its people, a key it confers and a scope that
// it covers.
func throughGrant(which func(Grant) bool) func(*sampler) (ask, bool) {
	return func(s *sampler) (ask, bool) {
		i := s.rng.IntN(len(s.world.Grants))
		g := s.world.Grants[i]
		if !which(g) {
			return ask{}, false
		}
		a, ok := s.member(g.Subject)
		if !ok {
			return ask{}, false
		}
		a.key, a.scope = s.keyOf(i, anyKey), g.Scope
		if a.key == "" {
			return ask{}, false
		}
		switch {
		case g.Scope == authz.Global && chance(s.rng, 70):
			a.scope = s.at(a.key)
		case chance(s.rng, 60):
			a.scope = s.below(g.Scope)
		}
		return a, true
	}
}

func throughKind(kind authz.SubjectKind) func(*sampler) (ask, bool) {
	return throughGrant(func(g Grant) bool {
		got, _, _ := authz.ParseSubject(g.Subject)
		return got == kind
	})
}

// aboveGrant draws a scoped row and asks above it, for a key that implies there
// or for one that does not.
func aboveGrant(implies bool) func(*sampler) (ask, bool) {
	return func(s *sampler) (ask, bool) {
		i := s.rng.IntN(len(s.world.Grants))
		scope := s.above(s.world.Grants[i].Scope)
		a, ok := s.member(s.world.Grants[i].Subject)
		if !ok || scope == "" {
			return ask{}, false
		}
		a.key, a.scope = s.keyOf(i, func(p permission) bool { return impliedKey(p) == implies }), scope
		return a, a.key != ""
	}
}

// throughRevoke draws a revoke, a key it matches that its user has a row for,
// and a scope below both.
func throughRevoke(s *sampler) (ask, bool) {
	r := pick(s.rng, s.world.Revokes)
	a := ask{userID: r.UserID}
	grant := pick(s.rng, s.grantsOf(a))
	if a.key = s.keyOf(grant, keyUnder(r.Pattern)); a.key == "" {
		return ask{}, false
	}
	switch at := s.world.Grants[grant].Scope; {
	case at == authz.Global && r.Scope == authz.Global:
		a.scope = s.at(a.key)
	case slices.Contains(s.walk.chain(at), r.Scope):
		a.scope = at
	case slices.Contains(s.walk.chain(r.Scope), at):
		a.scope = r.Scope
	default:
		return ask{}, false
	}
	if chance(s.rng, 50) {
		a.scope = s.below(a.scope)
	}
	return a, true
}

// aboveRevoke asks above a revoke, about a key it matches.
func aboveRevoke(filter func(permission) bool) func(*sampler) (ask, bool) {
	return func(s *sampler) (ask, bool) {
		r := pick(s.rng, s.world.Revokes)
		a := ask{userID: r.UserID, scope: s.above(r.Scope)}
		if a.scope == "" {
			return ask{}, false
		}
		matched := keyUnder(r.Pattern)
		a.key = s.keyOf(pick(s.rng, s.grantsOf(a)), func(p permission) bool { return matched(p) && filter(p) })
		return a, a.key != ""
	}
}

func deactivated(s *sampler) (ask, bool) {
	u := pick(s.rng, s.world.Users)
	if u.Active {
		return ask{}, false
	}
	a := ask{userID: u.UserID}
	grant := pick(s.rng, s.grantsOf(a))
	a.key, a.scope = s.keyOf(grant, anyKey), s.below(s.world.Grants[grant].Scope)
	return a, a.key != ""
}

func anything(s *sampler) (ask, bool) {
	a := pick(s.rng, s.members[authz.Everyone])
	if chance(s.rng, 15) {
		a = ask{serviceID: pick(s.rng, s.world.Services)}
	}
	p := pick(s.rng, s.permissions)
	a.key, a.scope = p.key, s.at(p.key)
	return a, p.marks&conditional == 0
}

func sideways(s *sampler) (ask, bool) {
	a, ok := throughGrant(func(g Grant) bool { return g.Scope != authz.Global && !g.Expiring() })(s)
	if !ok {
		return ask{}, false
	}
	a.scope = pick(s.rng, s.scopes[authz.ScopeType(a.scope)])
	return a, true
}

func globally(s *sampler) (ask, bool) {
	a, ok := throughGrant(func(g Grant) bool { return g.Scope != authz.Global && !g.Expiring() })(s)
	a.scope = authz.Global
	return a, ok
}

// ungrantable asks, at the scope of a row, for a key that the row's patterns
// match but that no grant at such a scope confers.
func ungrantable(s *sampler) (ask, bool) {
	i := s.rng.IntN(len(s.world.Grants))
	g := s.world.Grants[i]
	p := pick(s.rng, s.permissions)
	if g.Scope == authz.Global || g.Expiring() || p.marks&conditional != 0 || slices.Contains(p.scopes, authz.ScopeType(g.Scope)) ||
		!slices.ContainsFunc(s.walk.patterns(g), func(pattern string) bool { return matches(pattern, p.key) }) {
		return ask{}, false
	}
	a, ok := s.member(g.Subject)
	a.key, a.scope = p.key, g.Scope
	return a, ok
}
