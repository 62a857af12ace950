package acme

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Factor is a kind of row or a rule that can decide a question: without it the
// answer would be the other one.
type Factor string

// The factors. Those of the first block allow, those of the second deny.
const (
	FactorUser        Factor = "user"         // grants to a user
	FactorGroup       Factor = "group"        // grants to a group the user is a member of
	FactorNestedGroup Factor = "nested-group" // grants to a group reached through a parent
	FactorOrg         Factor = "org"
	FactorEveryone    Factor = "everyone"
	FactorService     Factor = "service"
	FactorDirects     Factor = "directs" // grants to the direct reports of a manager
	FactorOrgOf       Factor = "orgof"   // grants to all reports of a manager
	FactorRole        Factor = "role"    // grants of a role
	FactorDated       Factor = "dated"   // grants that expire in the far future
	FactorImplied     Factor = "implied-on-ancestors"

	FactorExpired         Factor = "expired"          // the row that would allow has expired
	FactorDeactivated     Factor = "deactivated"      // the user is inactive
	FactorGlobalRevoke    Factor = "global-revoke"    // revokes at "*"
	FactorInheritedRevoke Factor = "inherited-revoke" // revokes above the scope asked about
	FactorScopeRevoke     Factor = "scope-revoke"     // revokes at that scope itself
	FactorImpliedRevoke   Factor = "implied-revoke"   // revokes further down, on the way to a row that would imply
)

// Allowing lists the factors without which fewer questions are allowed: only
// they can decide an answer of yes. Denying lists the others.
var (
	Allowing = []Factor{FactorUser, FactorGroup, FactorNestedGroup, FactorOrg, FactorEveryone, FactorService, FactorDirects,
		FactorOrgOf, FactorRole, FactorDated, FactorImplied}
	Denying = []Factor{FactorExpired, FactorDeactivated, FactorGlobalRevoke, FactorInheritedRevoke, FactorScopeRevoke,
		FactorImpliedRevoke}
)

// grantsOfFactor says which grants a factor stands for when this question is
// asked; nil for a factor that stands for something else.
func (k *walk) grantsOfFactor(f Factor, a ask) func(i int) bool {
	subject := func(kind authz.SubjectKind, more func(id string) bool) func(int) bool {
		return func(i int) bool {
			got, id, _ := authz.ParseSubject(k.grants[i].Subject)
			return got == kind && (more == nil || more(id))
		}
	}
	member := func(id string) bool { return slices.Contains(k.users[a.userID].groups, id) }
	switch f {
	case FactorUser:
		return subject(authz.SubjectUser, nil)
	case FactorGroup:
		return subject(authz.SubjectGroup, member)
	case FactorNestedGroup:
		return subject(authz.SubjectGroup, func(id string) bool { return !member(id) })
	case FactorOrg:
		return subject(authz.SubjectOrg, nil)
	case FactorEveryone:
		return subject(authz.SubjectEveryone, nil)
	case FactorService:
		return subject(authz.SubjectService, nil)
	case FactorDirects:
		return subject(authz.SubjectDirects, nil)
	case FactorOrgOf:
		return subject(authz.SubjectOrgOf, nil)
	case FactorRole:
		return func(i int) bool { return k.grants[i].RoleID != "" }
	case FactorDated:
		return func(i int) bool { return !k.grants[i].ExpiresAt.IsZero() }
	}
	return nil
}

// revokesOfFactor is grantsOfFactor for revokes.
func (k *walk) revokesOfFactor(f Factor, a ask) func(i int) bool {
	chain := k.chain(a.scope)
	at := func(i int) string { return k.revokes[i].Scope }
	switch f {
	case FactorGlobalRevoke:
		return func(i int) bool { return at(i) == "*" }
	case FactorScopeRevoke:
		return func(i int) bool { return at(i) != "*" && at(i) == a.scope }
	case FactorInheritedRevoke:
		return func(i int) bool { return at(i) != "*" && at(i) != a.scope && slices.Contains(chain, at(i)) }
	case FactorImpliedRevoke:
		return func(i int) bool { return !slices.Contains(chain, at(i)) }
	}
	return nil
}

// without is the world with a factor taken out of it.
func (k *walk) without(f Factor, a ask) removal {
	return removal{
		grant: k.grantsOfFactor(f, a), revoke: k.revokesOfFactor(f, a),
		expiry: f == FactorExpired, deactivation: f == FactorDeactivated, implication: f == FactorImplied,
	}
}

// decides reports whether the answer would be the other one without the factor.
func (s *sampler) decides(f Factor, a ask, allowed bool) bool {
	return s.answer(a, s.walk.without(f, a)).allowed != allowed
}

// deciding lists the factors each of which decides the question alone.
func (s *sampler) deciding(a ask, allowed bool) (decisive []Factor) {
	candidates := Denying
	if allowed {
		candidates = Allowing
	}
	for _, f := range candidates {
		if s.decides(f, a, allowed) {
			decisive = append(decisive, f)
		}
	}
	return decisive
}

func joinFactors(list []Factor) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}
