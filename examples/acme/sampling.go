package acme

import (
	"fmt"
	"math/rand/v2"

	"github.com/authzhost/authz/sdk/authz"
)

// sampler draws what belongs together from a world: members of a subject, keys
// of a grant, scopes around a scope.
type sampler struct {
	rng         *rand.Rand
	world       *World
	walk        *walk
	permissions []permission
	children    map[string][]string
	members     map[string][]ask // of each subject, as askers without a question
	scopes      map[string][]string
}

// ask is one question without its answer. userID or serviceID is "".
type ask struct{ userID, serviceID, key, scope string }

func newSampler(rng *rand.Rand, w *World, leaves []permission) *sampler {
	s := &sampler{rng: rng, world: w, walk: newWalk(w, leaves), permissions: leaves,
		children: map[string][]string{}, members: map[string][]ask{}, scopes: scopesByType(w)}
	for _, sc := range w.Scopes {
		for _, p := range sc.Parents {
			s.children[p] = append(s.children[p], sc.ID)
		}
	}
	enlist := func(a ask) {
		for _, subject := range s.walk.closure(a.userID, a.serviceID) {
			s.members[subject] = append(s.members[subject], a)
		}
	}
	for _, u := range w.Users {
		enlist(ask{userID: u.UserID})
	}
	for _, id := range w.Services {
		enlist(ask{serviceID: id})
	}
	for n := range visitors { // people without a record are part of everyone
		enlist(ask{userID: fmt.Sprintf("visitor_%d", n+1)})
	}
	return s
}

// visitors is how many people without a user record ask questions.
const visitors = 20

func scopesByType(w *World) map[string][]string {
	byType := map[string][]string{typeAccount: w.Accounts}
	for _, sc := range w.Scopes {
		t := authz.ScopeType(sc.ID)
		byType[t] = append(byType[t], sc.ID)
	}
	return byType
}

// below draws a proper descendant, or answers the scope itself when it has none.
func (s *sampler) below(scope string) string {
	for first := true; len(s.children[scope]) > 0 && (first || chance(s.rng, 60)); first = false {
		scope = pick(s.rng, s.children[scope])
	}
	return scope
}

// above draws a proper ancestor other than "*"; "" when there is none.
func (s *sampler) above(scope string) string {
	chain := s.walk.chain(scope)
	if len(chain) < 3 {
		return ""
	}
	return pick(s.rng, chain[1:len(chain)-1])
}

// keyOf draws a key that the grant confers, of those that the filter lets
// through; "" when there is none.
func (s *sampler) keyOf(grant int, filter func(permission) bool) string {
	var keys []string
	for _, p := range s.permissions {
		if p.marks&conditional == 0 && filter(p) && s.walk.live(grant, p, removal{expiry: true}) {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return pick(s.rng, keys)
}

// at draws a scope of a type that the key is grantable at; "*" when it is none.
func (s *sampler) at(key string) string {
	if types := s.walk.leaves[key].scopes; len(types) > 0 {
		return pick(s.rng, s.scopes[pick(s.rng, types)])
	}
	return "*"
}

// grantsOf lists the rows of everything the principal is.
func (s *sampler) grantsOf(a ask) (rows []int) {
	for _, subject := range s.walk.closure(a.userID, a.serviceID) {
		rows = append(rows, s.walk.bySubject[subject]...)
	}
	return rows
}

// member draws a principal that the subject stands for, active or not.
func (s *sampler) member(subject string) (ask, bool) {
	m := s.members[subject]
	if len(m) == 0 {
		return ask{}, false
	}
	return pick(s.rng, m), true
}

func (s *sampler) answer(a ask, without removal) answer {
	return s.walk.ask(a.userID, a.serviceID, a.key, a.scope, without)
}

func anyKey(permission) bool { return true }

func impliedKey(p permission) bool { return p.marks&implied != 0 }

// keyUnder lets through what a pattern matches.
func keyUnder(pattern string) func(permission) bool {
	return func(p permission) bool { return matches(pattern, p.key) }
}
