// Rows as separation of duties, entitlements, the index of rows and open regions read
// them, where no check waits.

package compiled

import "github.com/authzhost/authz/sdk/authz"

// reading are the rows of one principal at an instant.
type reading struct {
	*authz.SubjectAccess
	now     int64
	members map[string]bool
	roles   map[string][]string
}

func read(data *authz.SubjectAccess, now int64) *reading {
	r := &reading{SubjectAccess: data, now: now,
		members: make(map[string]bool, len(data.Closure)), roles: make(map[string][]string, len(data.Roles))}
	for _, s := range data.Closure {
		r.members[s] = true
	}
	for i := range data.Roles {
		r.roles[data.Roles[i].ID] = data.Roles[i].Patterns
	}
	return r
}

// counts reports whether the grant is the principal's and has not expired.
func (r *reading) counts(g *authz.Grant) bool {
	return r.members[g.Subject] && !g.ExpiresAt.Expired(r.now)
}

// patterns are those that the grant confers by: its own, else its role's.
func (r *reading) patterns(g *authz.Grant) []string {
	if g.Pattern != "" {
		return []string{g.Pattern}
	}
	return r.roles[g.RoleID]
}

// theirs: a service has no revokes, even where a user shares its id.
func (r *reading) theirs(v *authz.Revoke) bool { return r.UserID != nil && v.UserID == *r.UserID }
