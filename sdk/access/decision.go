// What a check is. Everything else that decides is an optimisation of this file: it
// reads the rows one after the other and the catalog by name, numbers nothing and
// remembers nothing. Property tests hold the other forms to it.

package access

import (
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Decide defines a check (spec: access §6). It reports whether the principal of the
// rows may use the key at the scope that the chain begins with, at the instant now. A
// provider supplied the rows. The key need not be declared. Only implication asks for
// chains: of a key that is not declared impliedOnAncestors they may be nil.
func Decide(c *catalog.Catalog, rows *authz.SubjectAccess, key string, chain Chain, now int64, chains Chains) (bool, error) {
	return hold(rows, now).ask(c, key, chain, chains).decide()
}

// Conferring lists the live grants that confer the key at their own scope, wherever that
// is, in supply order; never nil. An active principal holds the key somewhere when there
// is one, and none of its revokes at "*" matches the key.
func Conferring(c *catalog.Catalog, rows *authz.SubjectAccess, key string, now int64) []authz.Grant {
	return copies(hold(rows, now).ask(c, key, nil, nil).conferring())
}

func (q *question) decide() (bool, error) {
	if !q.Active {
		return false, nil // whatever the rows
	}
	for range q.revokes(q.chain) {
		return false, nil // whatever grants there are beside it
	}
	for range q.grants() {
		return true, nil
	}
	for _, err := range q.implying() {
		return err == nil, err
	}
	return false, nil
}

// revokes are the principal's revokes at the scopes of a chain that match the key.
func (q *question) revokes(chain Chain) iter.Seq[*authz.Revoke] {
	return func(yield func(*authz.Revoke) bool) {
		for i := range q.Revokes {
			if r := &q.Revokes[i]; q.suppresses(r) && chain.contains(r.Scope) && !yield(r) {
				return
			}
		}
	}
}

// grants are the live grants at the scopes of the chain.
func (q *question) grants() iter.Seq[*authz.Grant] {
	return func(yield func(*authz.Grant) bool) {
		for g := range q.conferring() {
			if q.chain.contains(g.Scope) && !yield(g) {
				return
			}
		}
	}
}

// implying are the live grants below the chain's own scope that answer there too. The
// sequence ends with the first error of a chain.
func (q *question) implying() iter.Seq2[*authz.Grant, error] {
	return func(yield func(*authz.Grant, error) bool) {
		if q.leaf == nil || !q.leaf.ImpliedOnAncestors || q.chain.own() == authz.Global {
			return
		}
		for g := range q.conferring() {
			switch implies, err := q.implies(g.Scope); {
			case err != nil:
				yield(nil, err)
				return
			case implies && !yield(g, nil):
				return
			}
		}
	}
}

// implies reports whether a grant at the scope answers at the chain's own scope. The
// scope must lie below that one, and no revoke may stand on the scope's own chain.
func (q *question) implies(scope string) (bool, error) {
	target := q.chain.own()
	if scope == authz.Global || scope == target {
		return false, nil
	}
	if known, ok := q.below[scope]; ok {
		return known, nil
	}
	own, err := q.chains(scope)
	if err != nil {
		return false, err
	}
	implies := own.contains(target)
	for range q.revokes(own) {
		implies = false
	}
	if q.below == nil {
		q.below = map[string]bool{}
	}
	q.below[scope] = implies
	return implies, nil
}

// conferring are the live grants: those that confer the key at their own scope,
// wherever that is.
func (q *question) conferring() iter.Seq[*authz.Grant] {
	return func(yield func(*authz.Grant) bool) {
		for i := range q.Grants {
			if g := &q.Grants[i]; q.live(g) && !yield(g) {
				return
			}
		}
	}
}

func (q *question) live(g *authz.Grant) bool {
	return q.counts(g) && slices.ContainsFunc(q.patterns(g), q.confers) && q.grantable(g.Scope)
}

// confers reports whether a grant of the pattern confers the key. "*" confers only
// declared keys. Nothing confers a built-in key that the catalog leaves out.
func (q *question) confers(pattern string) bool {
	if q.leaf == nil && (pattern == authz.Global || authz.NamespaceOf(q.key) == authz.InternalNamespace) {
		return false
	}
	return authz.Match(pattern, q.key)
}

// grantable reports whether the key can be granted at the scope. At "*" it always can.
// Elsewhere the declaration of the key, or of the open region that admits it, must list
// the scope's type.
func (q *question) grantable(scope string) bool {
	return scope == authz.Global || slices.Contains(q.scopeTypes, authz.ScopeType(scope))
}

// suppresses reports whether the revoke takes the key. It has none of the limits of
// confers and grantable: a revoke of "*" takes every key.
func (q *question) suppresses(r *authz.Revoke) bool {
	return q.theirs(r) && authz.Match(r.Pattern, q.key)
}

// question is one key, asked of the rows of one principal at the scope that a chain
// begins with.
type question struct {
	*holdings
	key        string
	leaf       *catalog.Leaf // nil of a key that an open region or a policy admits
	scopeTypes []string      // those at which the key is grantable
	chain      Chain
	chains     Chains
	below      map[string]bool // what implies answered, by scope
}

func (h *holdings) ask(c *catalog.Catalog, key string, chain Chain, chains Chains) *question {
	q := &question{holdings: h, key: key, chain: chain, chains: chains}
	if leaf, ok := c.Leaf(key); ok {
		q.leaf, q.scopeTypes = leaf, leaf.Scopes
	} else if region, ok := c.RegionOf(key); ok {
		q.scopeTypes = region.Scopes
	}
	return q
}

// holdings are the rows of one principal, read at an instant.
type holdings struct {
	*authz.SubjectAccess
	now     int64
	expired bool // reads the grants that have expired instead of those that have not
	members map[string]bool
	roles   map[string][]string
}

func hold(rows *authz.SubjectAccess, now int64) *holdings {
	h := &holdings{SubjectAccess: rows, now: now,
		members: make(map[string]bool, len(rows.Closure)), roles: make(map[string][]string, len(rows.Roles))}
	for _, s := range rows.Closure {
		h.members[s] = true
	}
	for i := range rows.Roles {
		h.roles[rows.Roles[i].ID] = rows.Roles[i].Patterns
	}
	return h
}

// counts reports whether the grant is the principal's and has not expired.
func (h *holdings) counts(g *authz.Grant) bool {
	return h.members[g.Subject] && g.ExpiresAt.Expired(h.now) == h.expired
}

// patterns are the grant's own pattern, else those of its role.
func (h *holdings) patterns(g *authz.Grant) []string {
	if g.Pattern != "" {
		return []string{g.Pattern}
	}
	return h.roles[g.RoleID]
}

// theirs reports whether the revoke is the principal's. A service has no revokes, even
// when a user shares its id.
func (h *holdings) theirs(r *authz.Revoke) bool { return h.UserID != nil && r.UserID == *h.UserID }

// copies collects the rows for a caller to keep. It never returns nil.
func copies[T any](rows iter.Seq[*T]) []T {
	list := []T{}
	for r := range rows {
		list = append(list, *r)
	}
	return list
}
