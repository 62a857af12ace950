package acme

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/provider"
)

// walk answers questions by reading the generated rows one after another, as the
// definitions of access are written down: closure, chain, algebra, implication.
// It shares no code with the evaluator whose answers it is compared with, not
// even the matching of patterns. The instant is after loading: rows that expire
// while the world is loaded have expired, dated ones of the far future have not.
type walk struct {
	leaves    map[string]permission
	users     map[string]userFacts
	groups    map[string][]string // parents
	roles     map[string][]string // patterns
	parents   map[string][]string // of recorded scopes
	grants    []Grant
	bySubject map[string][]int
	revokes   []provider.RevokeInput
	byUser    map[string][]int
}

type userFacts struct {
	active  bool
	groups  []string
	orgs    []string
	manager string
}

// removal leaves rows and rules out of one answer; the zero value leaves out
// nothing.
type removal struct {
	grant  func(i int) bool
	revoke func(i int) bool

	expiry, deactivation, implication bool
}

// answer is an answer with the rows behind it. Grants and revokes are those that
// matched on the chain of the scope, listed even when something else denied;
// impliedBy are the rows further down that implied it.
type answer struct {
	allowed   bool
	grants    []int
	revokes   []int
	impliedBy []int
}

func newWalk(w *World, leaves []permission) *walk {
	k := &walk{
		leaves: map[string]permission{}, users: map[string]userFacts{}, groups: map[string][]string{},
		roles: map[string][]string{}, parents: map[string][]string{}, bySubject: map[string][]int{}, byUser: map[string][]int{},
		grants: w.Grants, revokes: w.Revokes,
	}
	for _, l := range leaves {
		k.leaves[l.key] = l
	}
	for _, u := range w.Users {
		k.users[u.UserID] = userFacts{u.Active, u.GroupIDs, u.OrgIDs, u.ManagerUserID}
	}
	for _, g := range w.Groups {
		k.groups[g.ID] = g.Parents
	}
	for _, r := range w.Roles {
		k.roles[r.ID] = r.Patterns
	}
	for _, s := range w.Scopes {
		k.parents[s.ID] = s.Parents
	}
	for i, g := range w.Grants {
		k.bySubject[g.Subject] = append(k.bySubject[g.Subject], i)
	}
	for i, r := range w.Revokes {
		k.byUser[r.UserID] = append(k.byUser[r.UserID], i)
	}
	return k
}

// closure lists the subjects a principal is. A service has an empty user id.
func (k *walk) closure(userID, serviceID string) []string {
	if userID == "" {
		return []string{"service:" + serviceID, "everyone"}
	}
	subjects := []string{"user:" + userID}
	u := k.users[userID]
	for queue := slices.Clone(u.groups); len(queue) > 0; queue = queue[1:] {
		if s := "group:" + queue[0]; !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
			queue = append(queue, k.groups[queue[0]]...)
		}
	}
	if u.manager != "" && u.manager != userID {
		subjects = append(subjects, "directs:"+u.manager)
	}
	seen := []string{userID}
	for m := u.manager; m != "" && !slices.Contains(seen, m); m = k.users[m].manager {
		seen = append(seen, m)
		subjects = append(subjects, "orgof:"+m)
	}
	for _, o := range u.orgs {
		if s := "org:" + o; !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	return append(subjects, "everyone")
}

// chain is the scope, its recorded ancestors nearest first, and "*".
func (k *walk) chain(scope string) []string {
	if scope == "*" {
		return []string{"*"}
	}
	chain := []string{scope}
	for at := 0; at < len(chain); at++ {
		for _, p := range k.parents[chain[at]] {
			if !slices.Contains(chain, p) {
				chain = append(chain, p)
			}
		}
	}
	return append(chain, "*")
}

func matches(pattern, key string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(key, prefix) // "" of "*", else "a.b." with its dot
	}
	return pattern == key
}

// patterns are what a grant confers: its pattern, else its role's.
func (k *walk) patterns(g Grant) []string {
	if g.Pattern != "" {
		return []string{g.Pattern}
	}
	return k.roles[g.RoleID]
}

// live reports whether a grant confers the key at its own scope.
func (k *walk) live(i int, leaf permission, without removal) bool {
	g := k.grants[i]
	if without.grant != nil && without.grant(i) || g.Expiring() && !without.expiry {
		return false
	}
	scopeType, _, instance := strings.Cut(g.Scope, ":")
	if instance && !slices.Contains(leaf.scopes, scopeType) {
		return false
	}
	return slices.ContainsFunc(k.patterns(g), func(p string) bool { return matches(p, leaf.key) })
}

// revoked lists the user's revokes that match the key at any of the scopes.
func (k *walk) revoked(userID, key string, scopes []string, without removal) (rows []int) {
	for _, i := range k.byUser[userID] {
		r := k.revokes[i]
		if (without.revoke == nil || !without.revoke(i)) && matches(r.Pattern, key) && slices.Contains(scopes, r.Scope) {
			rows = append(rows, i)
		}
	}
	return rows
}

// ask answers whether a principal may do what the key names at a scope. userID
// or serviceID is "".
func (k *walk) ask(userID, serviceID, key, scope string, without removal) answer {
	leaf, declared := k.leaves[key]
	if !declared {
		panic("acme: a question names " + key + ", which the catalog does not declare")
	}
	if scope == "" {
		scope = "*"
	}
	var live []int
	for _, s := range k.closure(userID, serviceID) {
		for _, i := range k.bySubject[s] {
			if k.live(i, leaf, without) {
				live = append(live, i)
			}
		}
	}
	var a answer
	chain := k.chain(scope)
	if userID != "" {
		a.revokes = k.revoked(userID, key, chain, without)
	}
	for _, i := range live {
		if slices.Contains(chain, k.grants[i].Scope) {
			a.grants = append(a.grants, i)
		}
	}
	if u, stored := k.users[userID]; stored && !u.active && !without.deactivation {
		return a
	}
	if len(a.revokes) > 0 {
		return a
	}
	if len(a.grants) > 0 {
		a.allowed = true
		return a
	}
	if leaf.marks&implied == 0 || scope == "*" || without.implication {
		return a
	}
	for _, i := range live {
		at := k.grants[i].Scope
		if at == "*" || at == scope {
			continue
		}
		if below := k.chain(at); slices.Contains(below, scope) && len(k.revoked(userID, key, below, without)) == 0 {
			a.impliedBy = append(a.impliedBy, i)
		}
	}
	a.allowed = len(a.impliedBy) > 0
	return a
}
