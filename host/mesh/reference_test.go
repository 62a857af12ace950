package mesh_test

import (
	"cmp"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// What a member answers, written from the chapter and nothing else: no reduction, no
// renamed rows, no logs and no caches (spec: mesh §6, §7).

// rows are what one partition stores.
type rows struct {
	begun   bool // what is drawn once has been
	users   []authz.User
	groups  []authz.Group
	roles   []authz.Role
	grants  []authz.Grant
	revokes []authz.Revoke
	parents map[string][]string // of scopes
}

// reference is a mesh as it is stored, and the vocabulary of one of its members.
type reference struct {
	partition  string
	namespaces []string            // that its catalog owns
	imports    map[string][]string // entries by namespace
	wired      map[string]bool     // entries whose keys are granted at its scopes too
	strict     map[string]bool     // imports whose wildcards admit no key
	merging    bool                // live rows of the owners take part
	except     []string

	members []authz.MeshMember
	edges   []authz.MeshEdge
	org     string // "" is no designation
	stored  map[string]*rows
}

// known holds for the keys that the member's own catalog lets a check ask for.
func (r *reference) known(key string) bool {
	ns := authz.NamespaceOf(key)
	if slices.Contains(r.namespaces, ns) {
		return slices.Contains(published, key)
	}
	return slices.ContainsFunc(r.imports[ns], func(entry string) bool {
		return entry == key || !r.strict[ns] && covers(entry, key)
	})
}

// declared holds for known keys that the catalog names.
func (r *reference) declared(key string) bool {
	return slices.Contains(published, key) && slices.Contains(r.namespaces, authz.NamespaceOf(key)) || slices.Contains(r.imports[authz.NamespaceOf(key)], key)
}

// grantable holds for the scopes whose grants confer a known key: of the declared key,
// or of the narrowest wildcard that admits it.
func (r *reference) grantable(key, scope string) bool {
	if ns := authz.NamespaceOf(key); scope == "*" {
		return true
	} else if slices.Contains(r.namespaces, ns) {
		return authz.NamespaceOf(scope) == ns
	}
	narrowest := ""
	for _, entry := range r.imports[authz.NamespaceOf(key)] {
		if covers(entry, key) && len(entry) > len(narrowest) {
			narrowest = entry
		}
	}
	return r.wired[narrowest] && slices.Contains(r.namespaces, authz.NamespaceOf(scope))
}

// refusal is why no check of the member can be answered, "" when each can (spec: mesh §6.3).
func (r *reference) refusal() authz.MeshCode {
	if r.org != "" && !slices.ContainsFunc(r.members, func(m authz.MeshMember) bool { return m.Partition == r.partition }) {
		return authz.MeshNotAMember
	}
	for _, ns := range slices.Sorted(keysOf(r.imports)) {
		if !r.merging || slices.Contains(r.except, ns) {
			continue
		}
		owner := r.owner(ns)
		if owner == "" {
			return authz.MeshImportUnresolved
		}
		if owner != r.org && !slices.ContainsFunc(r.edges, func(e authz.MeshEdge) bool { return e.From == r.partition && e.To == owner }) {
			return authz.MeshNoEdge
		}
	}
	return ""
}

func (r *reference) owner(ns string) string {
	for _, m := range r.members {
		if slices.Contains(m.Namespaces, ns) {
			return m.Partition
		}
	}
	return ""
}

// lender is the partition whose rows at "*" count for the key beside the member's own:
// that of an imported namespace, for what an entry covers. With a designation the rows
// at "*" are the organization's, which the member reads anyway.
func (r *reference) lender(key string) *rows {
	ns := authz.NamespaceOf(key)
	if r.org != "" || !r.merging || slices.Contains(r.except, ns) ||
		!slices.ContainsFunc(r.imports[ns], func(entry string) bool { return covers(entry, key) }) {
		return nil
	}
	return r.stored[r.owner(ns)]
}

// home is the partition of people, groups, roles and rows at "*" (spec: mesh §7).
func (r *reference) home() *rows {
	if r.org != "" {
		return r.stored[r.org]
	}
	return r.stored[r.partition]
}

// allowed decides as a plain evaluation over the merged rows does.
func (r *reference) allowed(p authz.Principal, key, scope string, now int64) bool {
	home, own := r.home(), r.stored[r.partition]
	chain := chainOf(own, scope)
	grants := slices.Concat(atScope(home.grants, true, scopeOf), atScope(own.grants, false, scopeOf))
	revokes := slices.Concat(atScope(home.revokes, true, revokedAt), atScope(own.revokes, false, revokedAt))
	if !activeIn(home, p) || revoked(revokes, p, key, chain) {
		return false
	}
	grants = slices.DeleteFunc(grants, func(g authz.Grant) bool { return !r.grantable(key, g.Scope) })
	if confers(grants, home.roles, closureIn(home, p), key, chain, now, r.declared(key)) {
		lender := r.lender(key)
		return lender == nil || !activeIn(lender, p) || !revoked(lender.revokes, p, key, []string{"*"})
	}
	lender := r.lender(key)
	return lender != nil && activeIn(lender, p) && !revoked(lender.revokes, p, key, []string{"*"}) &&
		confers(lender.grants, lender.roles, closureIn(lender, p), key, []string{"*"}, now, true)
}

func atScope[Row any](all []Row, global bool, scope func(Row) string) (some []Row) {
	for _, row := range all {
		if (scope(row) == "*") == global {
			some = append(some, row)
		}
	}
	return some
}

func scopeOf(g authz.Grant) string    { return g.Scope }
func revokedAt(r authz.Revoke) string { return r.Scope }

func activeIn(in *rows, p authz.Principal) bool {
	return !slices.ContainsFunc(in.users, func(u authz.User) bool { return p.UserID == u.UserID && !u.Active })
}

func revoked(all []authz.Revoke, p authz.Principal, key string, chain []string) bool {
	return slices.ContainsFunc(all, func(r authz.Revoke) bool {
		return p.UserID != "" && r.UserID == p.UserID && slices.Contains(chain, r.Scope) && covers(r.Pattern, key)
	})
}

// confers looks for a grant. The bare "*" of the member's own rows confers what its
// catalog declares; that of a lender stands for all that is imported of it.
func confers(grants []authz.Grant, roles []authz.Role, closure map[string]bool, key string, chain []string, now int64, bare bool) bool {
	return slices.ContainsFunc(grants, func(g authz.Grant) bool {
		patterns := []string{g.Pattern}
		for _, role := range roles {
			if g.Pattern == "" && role.ID == g.RoleID {
				patterns = role.Patterns
			}
		}
		return closure[g.Subject] && slices.Contains(chain, g.Scope) && !g.ExpiresAt.Expired(now) &&
			slices.ContainsFunc(patterns, func(p string) bool { return covers(p, key) && (bare || p != "*") })
	})
}

// covers is match of a pattern and a key, and contains of a wildcard and another.
func covers(pattern, key string) bool {
	prefix, wildcard := strings.CutSuffix(pattern, "*")
	return pattern == key || wildcard && strings.HasPrefix(key, prefix)
}

// closureIn is the closure of a principal by the rows of one partition.
func closureIn(in *rows, p authz.Principal) map[string]bool {
	closure := map[string]bool{p.Subject(): true, "everyone": true}
	user, found := userIn(in, p.UserID)
	if !found {
		return closure
	}
	for waiting := slices.Clone(user.GroupIDs); len(waiting) > 0; waiting = waiting[1:] {
		if id := waiting[0]; !closure["group:"+id] {
			closure["group:"+id] = true
			for _, g := range in.groups {
				if g.ID == id {
					waiting = append(waiting, g.Parents...)
				}
			}
		}
	}
	for _, id := range user.OrgIDs {
		closure["org:"+id] = true
	}
	seen := map[string]bool{user.UserID: true}
	for above := user.ManagerUserID; above != "" && !seen[above]; {
		if len(seen) == 1 {
			closure["directs:"+above] = true
		}
		seen[above], closure["orgof:"+above] = true, true
		next, _ := userIn(in, above)
		above = next.ManagerUserID
	}
	return closure
}

func userIn(in *rows, id string) (authz.User, bool) {
	for _, u := range in.users {
		if u.UserID == id && id != "" {
			return u, true
		}
	}
	return authz.User{}, false
}

func chainOf(own *rows, scope string) []string {
	chain := []string{scope}
	for i := 0; i < len(chain); i++ {
		chain = append(chain, own.parents[chain[i]]...)
	}
	return append(chain, "*")
}

// listedGrants are the global rows of where they live and the member's instance rows, by
// id (spec: mesh §7).
func (r *reference) listedGrants(f storage.GrantFilter) []authz.Grant {
	return listedRows(atScope(r.home().grants, true, scopeOf), atScope(r.stored[r.partition].grants, false, scopeOf), func(g authz.Grant) bool {
		return (f.Subject == nil || *f.Subject == g.Subject) && (f.Scope == nil || *f.Scope == g.Scope) && (f.RoleID == nil || *f.RoleID == g.RoleID)
	}, func(g authz.Grant) string { return g.ID })
}

// foundGrants are those of listedGrants that a search selects, in its order.
func (r *reference) foundGrants(q authz.GrantSearch) []authz.Grant {
	list := slices.DeleteFunc(r.listedGrants(storage.GrantFilter{}), func(g authz.Grant) bool { return !q.Selects(&g) })
	slices.SortStableFunc(list, func(a, b authz.Grant) int { return q.Order.Compare(q.Order.Place(&a), q.Order.Place(&b)) })
	return list
}

func (r *reference) listedRevokes(f storage.RevokeFilter) []authz.Revoke {
	return listedRows(atScope(r.home().revokes, true, revokedAt), atScope(r.stored[r.partition].revokes, false, revokedAt), func(v authz.Revoke) bool {
		return (f.UserID == nil || *f.UserID == v.UserID) && (f.Scope == nil || *f.Scope == v.Scope)
	}, func(v authz.Revoke) string { return v.ID })
}

// listedUsers are those whom the listed rows name.
func (r *reference) listedUsers() (all []provider.ListedUser) {
	named := map[string]provider.ListedUser{}
	for _, u := range r.home().users {
		named[u.UserID] = provider.ListedUser{UserID: u.UserID, Active: u.Active, Stored: true}
	}
	name := func(id string) {
		if _, known := named[id]; !known && id != "" {
			named[id] = provider.ListedUser{UserID: id, Active: true}
		}
	}
	for _, u := range r.home().users {
		name(u.ManagerUserID)
	}
	for _, g := range r.listedGrants(storage.GrantFilter{}) {
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser {
			name(id)
		}
	}
	for _, v := range r.listedRevokes(storage.RevokeFilter{}) {
		name(v.UserID)
	}
	for _, u := range named {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b provider.ListedUser) int { return cmp.Compare(a.UserID, b.UserID) })
	return all
}

func (r *reference) listedRoles() []authz.Role {
	return listedRows(r.home().roles, nil, func(authz.Role) bool { return true }, func(role authz.Role) string { return role.ID })
}

func listedRows[Row any](global, own []Row, selected func(Row) bool, id func(Row) string) []Row {
	list := slices.DeleteFunc(slices.Concat(global, own), func(row Row) bool { return !selected(row) })
	slices.SortFunc(list, func(a, b Row) int { return cmp.Compare(id(a), id(b)) })
	return list
}
