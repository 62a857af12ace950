package workload

// definition answers questions by the rows as they read, without a thought for
// speed: it is what the engines must agree with.
type definition struct {
	roles   map[string][]string
	parents map[ScopeID]ScopeID
	members map[string][]string // user → all groups, nested ones included
	grants  map[Subject][]Grant
	revokes map[string][]Revoke
}

func newDefinition(w *World) *definition {
	d := &definition{roles: map[string][]string{}, parents: map[ScopeID]ScopeID{}, members: map[string][]string{},
		grants: map[Subject][]Grant{}, revokes: map[string][]Revoke{}}
	for _, r := range w.Roles {
		d.roles[r.ID] = r.Patterns
	}
	for _, s := range w.Scopes {
		d.parents[s.ScopeID] = s.Parent
	}
	above := map[string][]string{}
	for _, g := range w.Groups {
		above[g.ID] = g.Parents
	}
	for _, u := range w.Users {
		seen, queue := map[string]bool{}, u.Groups
		for len(queue) > 0 {
			id := queue[0]
			queue = queue[1:]
			if !seen[id] {
				seen[id] = true
				d.members[u.ID] = append(d.members[u.ID], id)
				queue = append(queue[:len(queue):len(queue)], above[id]...)
			}
		}
	}
	for _, g := range w.Grants {
		d.grants[g.Subject] = append(d.grants[g.Subject], g)
	}
	d.revoke(w.Revokes)
	return d
}

func (d *definition) revoke(rows []Revoke) {
	for _, r := range rows {
		d.revokes[r.User] = append(d.revokes[r.User], r)
	}
}

// held lists the grants of a user and of all its groups.
func (d *definition) held(user string) []Grant {
	rows := append([]Grant(nil), d.grants[Subject{ID: user}]...)
	for _, group := range d.members[user] {
		rows = append(rows, d.grants[Subject{Group: true, ID: group}]...)
	}
	return rows
}

// within says whether a scope is another one or lies below it.
func (d *definition) within(scope, outer ScopeID) bool {
	for at, more := scope, true; more; at, more = d.parents[at] {
		if at == outer {
			return true
		}
	}
	return false
}

// granted says whether any grant of the user covers the question.
func (d *definition) granted(q Question) bool {
	for _, g := range d.held(q.User) {
		if !d.within(q.Scope, g.Scope) {
			continue
		}
		patterns := d.roles[g.Role]
		if g.Pattern != "" {
			patterns = []string{g.Pattern}
		}
		for _, p := range patterns {
			if Covers(p, q.Key) {
				return true
			}
		}
	}
	return false
}

func (d *definition) revoked(q Question) bool {
	for _, r := range d.revokes[q.User] {
		if Covers(r.Pattern, q.Key) && d.within(q.Scope, r.Scope) {
			return true
		}
	}
	return false
}

func (d *definition) allowed(q Question) bool { return !d.revoked(q) && d.granted(q) }
