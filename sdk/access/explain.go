package access

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Explanation is the working of a check.
type Explanation struct {
	Allowed        bool           `json:"allowed"`
	MatchedGrants  []authz.Grant  `json:"matchedGrants"`  // live rows on the chain, listed even when something denies
	MatchedRevokes []authz.Revoke `json:"matchedRevokes"` // the user's revokes on the chain; any one denies
	ObjectClosure  []string       `json:"objectClosure"`  // the chain used
	Active         bool           `json:"active"`
	Implied        bool           `json:"implied"`   // allowed by implication only
	ImpliedBy      []authz.Grant  `json:"impliedBy"` // rows at descendants that implied it

	// RequiresCondition says that the rows are not all: a gate of the key also asks the
	// application's predicate, which no explanation can.
	RequiresCondition bool `json:"requiresCondition,omitempty"`

	// Expired are the rows of a denial that would allow had they not expired, as far as
	// they were supplied.
	Expired []authz.Grant `json:"expired,omitempty"`
}

// Denied reports a denial for want of a grant: another grant would change it.
func (e Explanation) Denied() bool { return !e.Allowed && e.Active && len(e.MatchedRevokes) == 0 }

// Chains answers the chain of a scope, for implication.
type Chains func(scope string) (*Chain, error)

// Explain judges a key on a chain by walking the rows. It serves keys that the
// catalog declares and keys that a permissive policy admits. Rows come in supply
// order.
func Explain(v *Vocabulary, data *authz.SubjectAccess, key string, c *Chain, now int64, chains Chains) (Explanation, error) {
	w := newWalk(v, data, key, now)
	e := Explanation{
		MatchedGrants:  w.onChain(c),
		MatchedRevokes: w.revokes(c),
		ObjectClosure:  c.Scopes(),
		Active:         data.Active,
		ImpliedBy:      []authz.Grant{},

		RequiresCondition: w.key.RequiresCondition(),
	}
	if !data.Active || len(e.MatchedRevokes) > 0 {
		return e, nil
	}
	if e.Allowed = len(e.MatchedGrants) > 0; e.Allowed {
		return e, nil
	}
	implied, err := w.implied(c, chains)
	if err != nil {
		return Explanation{}, err
	}
	e.ImpliedBy = implied
	e.Implied = len(implied) > 0
	if e.Allowed = e.Implied; !e.Allowed {
		e.Expired = w.wouldAllow(c, chains)
	}
	return e, nil
}

// Expired is Explanation.Expired of a question.
func Expired(v *Vocabulary, data *authz.SubjectAccess, key string, c *Chain, now int64, chains Chains) []authz.Grant {
	e, err := Explain(v, data, key, c, now, chains)
	if err != nil {
		return nil
	}
	return e.Expired
}

// wouldAllow lists the expired rows that would allow on the chain, or else imply. Where a
// chain below is not known nothing is said of it.
func (w *walk) wouldAllow(c *Chain, chains Chains) []authz.Grant {
	w.expired = true
	defer func() { w.expired = false }()
	if found := w.onChain(c); len(found) > 0 {
		return found
	}
	if found, err := w.implied(c, chains); err == nil && len(found) > 0 {
		return found
	}
	return nil
}

// DecideUndeclared judges a key that the catalog does not declare, by walking
// the rows: only rows that name its namespace confer it, every revoke counts.
func DecideUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, c *Chain, now int64) bool {
	w := newWalk(v, data, key, now)
	if !data.Active || len(w.revokes(c)) > 0 {
		return false
	}
	return slices.ContainsFunc(data.Grants, func(g authz.Grant) bool { return w.live(&g) && c.Contains(g.Scope) })
}

// walk asks the rows about one key.
type walk struct {
	vocabulary *Vocabulary
	data       *authz.SubjectAccess
	name       string
	key        Key
	declared   bool
	region     *catalog.Region // admits a key that is not declared; nil: a policy does
	now        int64
	expired    bool // asks about the rows that have expired instead of those that have not
	members    map[string]bool
	roles      map[string][]string
}

func newWalk(v *Vocabulary, data *authz.SubjectAccess, name string, now int64) *walk {
	w := &walk{vocabulary: v, data: data, name: name, now: now,
		members: make(map[string]bool, len(data.Closure)), roles: make(map[string][]string, len(data.Roles))}
	if w.key, w.declared = v.Lookup(name); !w.declared {
		w.region, _ = v.catalog.RegionOf(name)
	}
	for _, s := range data.Closure {
		w.members[s] = true
	}
	for i := range data.Roles {
		w.roles[data.Roles[i].ID] = data.Roles[i].Patterns
	}
	return w
}

// live reports whether the grant confers the key at its own scope, now.
func (w *walk) live(g *authz.Grant) bool {
	return w.applies(g.Scope) && w.conferring(g, w.confers)
}

// conferring reports whether the grant is the principal's, has not expired, and
// has a pattern as wanted.
func (w *walk) conferring(g *authz.Grant, wanted func(pattern string) bool) bool {
	if !w.members[g.Subject] || g.ExpiresAt.Expired(w.now) != w.expired {
		return false
	}
	if g.Pattern != "" {
		return wanted(g.Pattern)
	}
	return slices.ContainsFunc(w.roles[g.RoleID], wanted)
}

// confers: the bare "*" confers declared keys only, and nothing confers a
// built-in key that the catalog leaves out.
func (w *walk) confers(pattern string) bool {
	if !w.declared && (pattern == authz.Global || authz.NamespaceOf(w.name) == authz.InternalNamespace) {
		return false
	}
	return authz.Match(pattern, w.name)
}

func (w *walk) applies(scope string) bool {
	if scope == authz.Global {
		return true
	}
	if w.region != nil {
		return slices.Contains(w.region.Scopes, authz.ScopeType(scope))
	}
	return w.declared && w.vocabulary.applies(w.key, w.vocabulary.typeNumber(authz.ScopeType(scope)))
}

// revokes lists the user's revokes that match the key on the chain.
func (w *walk) revokes(c *Chain) []authz.Revoke {
	matched := []authz.Revoke{}
	for i := range w.data.Revokes {
		if r := &w.data.Revokes[i]; w.matches(r) && c.Contains(r.Scope) {
			matched = append(matched, *r)
		}
	}
	return matched
}

// matches reports whether the revoke is the user's and takes the key.
func (w *walk) matches(r *authz.Revoke) bool { return w.theirs(r) && authz.Match(r.Pattern, w.name) }

// theirs: a service has no revokes, also where a user shares its id.
func (w *walk) theirs(r *authz.Revoke) bool {
	return w.data.UserID != nil && r.UserID == *w.data.UserID
}

// overlapped reports whether a revoke on the chain takes any part of the pattern.
func (w *walk) overlapped(pattern string, c *Chain) bool {
	return slices.ContainsFunc(w.data.Revokes, func(r authz.Revoke) bool {
		return w.theirs(&r) && authz.Intersects(r.Pattern, pattern) && c.Contains(r.Scope)
	})
}

// implied lists the live rows below the chain's scope that imply the key there:
// those of every implying scope whose own chain no revoke touches.
func (w *walk) implied(c *Chain, chains Chains) ([]authz.Grant, error) {
	found := []authz.Grant{}
	target := c.Scopes()[0]
	if !w.declared || !w.key.ImpliedOnAncestors() || target == authz.Global {
		return found, nil
	}
	implies := map[string]bool{}
	for i := range w.data.Grants {
		g := &w.data.Grants[i]
		if g.Scope == authz.Global || g.Scope == target || !w.live(g) {
			continue
		}
		yes, judged := implies[g.Scope]
		if !judged {
			own, err := chains(g.Scope)
			if err != nil {
				return nil, err
			}
			yes = own.Contains(target) && len(w.revokes(own)) == 0
			implies[g.Scope] = yes
		}
		if yes {
			found = append(found, *g)
		}
	}
	return found, nil
}
