// What lies around an answer, for people: the way from the principal to the key by each
// row, and of a denial what came near.

package access

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Explained is an explanation with what lies around it.
type Explained struct {
	Explanation
	Paths []Path `json:"paths,omitempty"` // of MatchedGrants, then of ImpliedBy
	Near  *Near  `json:"near,omitempty"`  // where another grant would allow: Explanation.Denied

	// Notes say what of a supposed change does not concern the principal.
	Notes []string `json:"notes,omitempty"`
}

// Path is the way by which one grant confers a key on a principal.
type Path struct {
	GrantID string `json:"grantId"`

	// Through are the groups between the user and the grant's subject, from one that the
	// user is a direct member of to that subject; empty where no group stands between.
	Through []string `json:"through,omitempty"`

	RoleID   string `json:"roleId,omitempty"`
	RoleName string `json:"roleName,omitempty"`
	Pattern  string `json:"pattern"` // of the role, else of the grant
}

// Near is what came near of a denial, and what would allow. Each list has at most MaxNear
// members.
type Near struct {
	Elsewhere []authz.Grant `json:"elsewhere,omitempty"` // they confer the key, and lie off the chain

	// NotGrantable lie on the chain and match the key, which counts only at "*" and at
	// scopes of the types of GrantableAt.
	NotGrantable []authz.Grant `json:"notGrantable,omitempty"`
	GrantableAt  []string      `json:"grantableAt,omitempty"`

	Lacking []Lacking `json:"lacking,omitempty"` // the nearest first

	// Parentless: nothing is above the scope, though its type lies below another. Perhaps
	// its parents were never recorded. ParentType is the type that lies above.
	Parentless bool   `json:"parentless,omitempty"`
	ParentType string `json:"parentType,omitempty"`

	GrantAt string `json:"grantAt"` // the first scope of the chain at which the key can be granted

	// LentBy is another member of the mesh, whose roles and groups confer the key: they are
	// not told here.
	LentBy string `json:"lentBy,omitempty"`

	Roles    []NearRole    `json:"roles,omitempty"`    // those of which a grant at GrantAt would allow
	Groups   []NearGroup   `json:"groups,omitempty"`   // whose members are allowed
	Requests []NearRequest `json:"requests,omitempty"` // that the user may submit

	More bool `json:"more,omitempty"` // some list was longer
}

// MaxNear bounds each list of a Near.
const MaxNear = 10

// Lacking is a live grant on the chain that confers other keys of the same namespace.
type Lacking struct {
	Grant    authz.Grant `json:"grant"`
	RoleName string      `json:"roleName,omitempty"`
	Patterns []string    `json:"patterns"` // that share most with the key
}

// NearRole is a role that confers the key.
type NearRole struct {
	RoleID  string `json:"roleId"`
	Name    string `json:"name"`
	Pattern string `json:"pattern"` // by which it does
}

// NearGroup is a group on whose members a grant confers the key.
type NearGroup struct {
	GroupID string `json:"groupId"`
	Name    string `json:"name,omitempty"`
	GrantID string `json:"grantId"`
}

// NearRequest is what a request may propose: a role, or the key itself.
type NearRequest struct {
	RoleID  string `json:"roleId,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Scope   string `json:"scope"`
}

// Around tells what the rows of an explanation say around it: the patterns of its paths,
// and of Near all but roles, groups and requests, which are not the principal's rows. The
// explanation is of these rows and this key.
func Around(c *catalog.Catalog, rows *authz.SubjectAccess, e Explanation, key string, now int64) Explained {
	q := hold(rows, now).ask(c, key, e.ObjectClosure, nil)
	out := Explained{Explanation: e}
	for _, g := range slices.Concat(e.MatchedGrants, e.ImpliedBy) {
		out.Paths = append(out.Paths, Path{GrantID: g.ID, RoleID: g.RoleID, RoleName: q.roleName(&g), Pattern: q.conferringPattern(q.patterns(&g))})
	}
	if !e.Denied() {
		return out
	}
	near := &Near{}
	near.Elsewhere = capped(near, copies(filtered(q.conferring(), func(g *authz.Grant) bool { return !q.chain.contains(g.Scope) })))
	near.NotGrantable = capped(near, copies(filtered(q.onChain(), func(g *authz.Grant) bool { return q.conferringPattern(q.patterns(g)) != "" })))
	near.GrantAt = q.chain[slices.IndexFunc(q.chain, q.grantable)] // a chain ends with "*"
	if len(near.NotGrantable) > 0 || near.GrantAt != q.chain.own() {
		near.GrantableAt = slices.Clone(q.scopeTypes)
	}
	near.Lacking = capped(near, q.lacking())
	if own := q.chain.own(); len(q.chain) == 2 {
		t, declared := c.ScopeType(authz.ScopeType(own))
		if near.Parentless = declared && t.Parent != "" && t.Parent != t.Type; near.Parentless {
			near.ParentType = t.Parent
		}
	}
	out.Near = near
	return out
}

// RolesConferring lists those of some roles that confer the key, each by its first pattern
// that does. Roles whose patterns match the fewest keys come first: so that what is offered
// first gives least.
func RolesConferring(c *catalog.Catalog, roles []authz.Role, key string) (list []NearRole) {
	q := hold(&authz.SubjectAccess{}, 0).ask(c, key, nil, nil)
	confers := make(map[string]int, len(roles))
	for i := range roles {
		if pattern := q.conferringPattern(roles[i].Patterns); pattern != "" {
			list = append(list, NearRole{RoleID: roles[i].ID, Name: roles[i].Name, Pattern: pattern})
			for _, p := range roles[i].Patterns {
				confers[roles[i].ID] += len(c.KeysMatching(p))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b NearRole) int { return cmp.Compare(confers[a.RoleID], confers[b.RoleID]) })
	return list
}

// capped cuts a list of n to MaxNear and says so.
func capped[T any](n *Near, list []T) []T {
	if len(list) <= MaxNear {
		return list
	}
	n.More = true
	return list[:MaxNear:MaxNear]
}

func filtered[T any](rows iter.Seq[*T], wanted func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for r := range rows {
			if wanted(r) && !yield(r) {
				return
			}
		}
	}
}

// onChain are the principal's unexpired grants at the scopes of the chain that do not
// confer the key.
func (q *question) onChain() iter.Seq[*authz.Grant] {
	return func(yield func(*authz.Grant) bool) {
		for i := range q.Grants {
			if g := &q.Grants[i]; q.counts(g) && q.chain.contains(g.Scope) && !q.live(g) && !yield(g) {
				return
			}
		}
	}
}

// conferringPattern is the first pattern that confers the key, "" where none does.
func (q *question) conferringPattern(patterns []string) string {
	if i := slices.IndexFunc(patterns, q.confers); i >= 0 {
		return patterns[i]
	}
	return ""
}

func (q *question) roleName(g *authz.Grant) string {
	if i := slices.IndexFunc(q.Roles, func(r authz.Role) bool { return r.ID == g.RoleID }); i >= 0 && g.Pattern == "" {
		return q.Roles[i].Name
	}
	return ""
}

// lacking are the grants on the chain whose patterns share segments with the key. Those
// that share most come first.
func (q *question) lacking() []Lacking {
	found, shared := []Lacking{}, map[string]int{}
	for g := range q.onChain() {
		patterns := q.patterns(g)
		if q.conferringPattern(patterns) != "" {
			continue
		}
		most, nearest := 0, []string(nil)
		for _, p := range patterns {
			switch n := sharedSegments(p, q.key); {
			case n == 0 || n < most:
			case n > most:
				most, nearest = n, []string{p}
			case len(nearest) < MaxNear:
				nearest = append(nearest, p)
			}
		}
		if most > 0 {
			shared[g.ID] = most
			found = append(found, Lacking{Grant: *g, RoleName: q.roleName(g), Patterns: nearest})
		}
	}
	slices.SortStableFunc(found, func(a, b Lacking) int { return cmp.Compare(shared[b.Grant.ID], shared[a.Grant.ID]) })
	return found
}

// sharedSegments is how many leading segments a pattern and a key have in common.
func sharedSegments(pattern, key string) int {
	a, b := strings.Split(pattern, "."), strings.Split(key, ".")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
