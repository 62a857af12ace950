package imported

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Add answers the application's own supply of a principal with what the owner's supply
// of the same principal lends to it appended; of several owners, one after the other.
// Neither supply is written to. Rows of two principals are an error: nobody's access is
// made of them.
func (k *Keys) Add(own, supply authz.SubjectAccess) (authz.SubjectAccess, error) {
	if subject := subjectOf(&own); subject == "" || subject != subjectOf(&supply) {
		return authz.SubjectAccess{}, fmt.Errorf("partition %q supplied the rows of another principal than the one asked for", k.partition)
	}
	grants, roles, revokes := k.Reduce(supply)
	setApart(&own, grants, roles)
	own.Grants = slices.Concat(own.Grants, grants)
	own.Roles = slices.Concat(own.Roles, roles)
	own.Revokes = slices.Concat(own.Revokes, revokes)
	return own, nil
}

// setApart gives other ids to the roles whose own one the application's rows name:
// whoever creates a role may choose its id. Otherwise a grant of the application would
// confer what a role of the owner does.
func setApart(own *authz.SubjectAccess, grants []authz.Grant, roles []authz.Role) {
	taken := map[string]bool{}
	for i := range own.Roles {
		if id := own.Roles[i].ID; strings.HasPrefix(id, idPrefix) {
			taken[id] = true
		}
	}
	for i := range own.Grants {
		if id := own.Grants[i].RoleID; strings.HasPrefix(id, idPrefix) {
			taken[id] = true
		}
	}
	if len(taken) == 0 {
		return
	}
	renamed := make(map[string]string, len(roles))
	for i := range roles {
		id := roles[i].ID
		for taken[id] {
			id += "'"
		}
		taken[id] = true
		renamed[roles[i].ID] = id
		roles[i].ID = id
	}
	for i := range grants {
		if id := grants[i].RoleID; id != "" {
			grants[i].RoleID = renamed[id]
		}
	}
}
