// What separation of duties and entitlements read of rows: the keys that a pattern confers,
// by their numbers.

package compiled

import "github.com/authzhost/authz/sdk/authz"

// conferred calls visit with the number of each declared key that the pattern
// confers at the scope, ascending.
func (v *Vocabulary) conferred(pattern, scope string, visit func(key uint32)) {
	s := v.spans[pattern]
	if scope == authz.Global {
		for i := s.lo; i < s.hi; i++ {
			visit(i)
		}
		return
	}
	t := v.typeNumber(authz.ScopeType(scope))
	if t == noType {
		return
	}
	for i := s.lo; i < s.hi; i++ {
		if hasBit(v.grantable[t], i) {
			visit(i)
		}
	}
}

// revokedEverywhere is the set of declared keys that a revoke at "*" takes: those
// that the user holds nowhere, whatever confers them.
func (v *Vocabulary) revokedEverywhere(h *reading) []uint64 {
	set := make([]uint64, v.words)
	for i := range h.Revokes {
		if r := &h.Revokes[i]; r.Scope == authz.Global && h.theirs(r) {
			v.conferred(r.Pattern, authz.Global, func(key uint32) { setBit(set, key) })
		}
	}
	return set
}
