package access

import "github.com/authzhost/authz/sdk/authz"

// patterns lists what the grant confers by: nothing when it is not the
// principal's, has expired, or names a role that is not there.
func (w *walk) patterns(g *authz.Grant) []string {
	switch {
	case !w.members[g.Subject] || g.ExpiresAt.Expired(w.now):
		return nil
	case g.Pattern != "":
		return []string{g.Pattern}
	}
	return w.roles[g.RoleID]
}

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
func (w *walk) revokedEverywhere() []uint64 {
	set := make([]uint64, w.vocabulary.words)
	for i := range w.data.Revokes {
		if r := &w.data.Revokes[i]; r.Scope == authz.Global && w.theirs(r) {
			w.vocabulary.conferred(r.Pattern, authz.Global, func(key uint32) { setBit(set, key) })
		}
	}
	return set
}
