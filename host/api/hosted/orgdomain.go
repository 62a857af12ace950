package hosted

import (
	"context"
	"net/http"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// role and group are those of the org root with the etag that If-Match names. They
// do not embed: the rows write themselves.
type role struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Patterns    []string           `json:"patterns"`
	Requestable *authz.Requestable `json:"requestable,omitempty"`
	Etag        string             `json:"etag"`
}

type group struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents"`
	Virtual     bool     `json:"virtual,omitempty"`
	Etag        string   `json:"etag"`
}

func roleOf(r authz.Role) (role, error) {
	etag, err := orgroot.ETag(r)
	return role{r.ID, r.Name, r.Description, orNone(r.Patterns), r.Requestable, etag}, err
}

func groupOf(g authz.Group) (group, error) {
	etag, err := orgroot.ETag(g)
	return group{g.ID, g.Name, g.Description, orNone(g.Parents), g.Virtual, etag}, err
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// one is what an operation answered as the API shows it.
func one[T, U any](row T, err error, show func(T) (U, error)) (out U, _ error) {
	if err != nil {
		return out, err
	}
	return show(row)
}

// page is one for a list, with where to go on.
func page[T, U any](c *Call, list orgroot.List[T], err error, show func(T) (U, error)) (out []U, next *string, _ error) {
	if err != nil {
		return nil, nil, err
	}
	out = make([]U, len(list.Rows))
	for i, row := range list.Rows {
		if out[i], err = show(row); err != nil {
			return nil, nil, err
		}
	}
	next, err = c.next(list.Next)
	return out, next, err
}

// cleared is a text to change to, "" for null.
func cleared(n Nullable[string]) *string {
	if n.Set && n.Value == nil {
		return new("")
	}
	return n.Value
}

// rootMatch is If-Match as the org domain judges it, before a relayed write.
func (c *Call) rootMatch() orgroot.Match {
	match := c.match()
	if match == nil {
		return nil
	}
	return func(etag string) error {
		if match(etag) {
			return nil
		}
		return errMoved()
	}
}

type listed struct {
	inOrg
	Paging
}

// searching finds what has what was typed.
type searching struct {
	Q string `query:"q,omitempty" min:"1" max:"200"`
}

type searched struct {
	inOrg
	searching
	Paging
}

type roles struct {
	Roles      []role  `json:"roles"`
	NextCursor *string `json:"nextCursor"`
}

type roleAnswer struct {
	Role role `json:"role"`
}

type createRole struct {
	inOrg
	ID          *string            `json:"id,omitempty" min:"1" max:"256"`
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Patterns    []string           `json:"patterns"`
	Requestable *authz.Requestable `json:"requestable,omitempty"`
}

func (in createRole) home() (scope, pattern, roleID string) {
	for _, p := range in.Patterns {
		if !cloud.IsPattern(p) {
			return "", p, "" // as a mixed role is refused, so that it is no matter whose it were
		}
	}
	return "", strings.Join(in.Patterns[:min(len(in.Patterns), 1)], ""), ""
}

func (in createRole) of() provider.RoleInput {
	return provider.RoleInput{ID: in.ID, Name: in.Name, Description: in.Description, Patterns: in.Patterns, Requestable: in.Requestable}
}

func (in createRole) judge(ctx context.Context, c *Call) error {
	return c.root().MayCreateRole(ctx, c.Access, in.of())
}

type objectOf struct {
	inOrg
	ID string `path:"id"`
}

type updateRole struct {
	objectOf
	Name        *string                     `json:"name,omitempty"`
	Description Nullable[string]            `json:"description"`
	Patterns    *[]string                   `json:"patterns,omitempty"`
	Requestable Nullable[authz.Requestable] `json:"requestable"`
}

func roleRows(t *table) {
	const path = "/orgs/{org}/org/roles"
	gate := manageRoles + accountRowGate
	answer := func(r authz.Role, err error) (out roleAnswer, _ error) {
		out.Role, err = one(r, err, roleOf)
		return out, err
	}
	add(t, endpoint{Method: "GET", Path: path, Summary: "Roles, by id", Gate: service.OrgKey(readAccess)},
		func(ctx context.Context, c *Call, in searched) (out roles, err error) {
			list, err := c.root().Roles(ctx, c.Access, in.Q, c.page())
			out.Roles, out.NextCursor, err = page(c, list, err, roleOf)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: path, Summary: "Create a role", Gate: byHome, GateText: gate, Status: http.StatusCreated, Relayed: true,
		Own: codes("escalation_refused"), Audit: []string{"R: role.create"}},
		func(ctx context.Context, c *Call, in createRole) (roleAnswer, error) {
			out, err := answer(c.root().CreateRole(ctx, c.Access, in.of()))
			if err == nil {
				c.located("orgs", in.Org, "org", "roles", out.Role.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: path + "/{id}", Summary: "A role", Gate: service.OrgKey(readAccess), Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in objectOf) (roleAnswer, error) {
			return answer(c.root().OneRole(ctx, c.Access, in.ID))
		})
	add(t, endpoint{Method: "PATCH", Path: path + "/{id}", Summary: "Change a role", Gate: byHome, GateText: gate, Relayed: true, Conditional: true,
		Own: codes("escalation_refused"), Audit: []string{"R: role.update"}},
		func(ctx context.Context, c *Call, in updateRole) (roleAnswer, error) {
			u := provider.RoleUpdate{Name: in.Name, Patterns: in.Patterns, Description: cleared(in.Description), Requestable: in.Requestable.Value,
				ClearRequestable: in.Requestable.Set && in.Requestable.Value == nil}
			return answer(c.root().UpdateRole(ctx, c.Access, in.ID, u, c.rootMatch()))
		})
	add(t, endpoint{Method: "DELETE", Path: path + "/{id}", Summary: "Delete a role", Gate: byHome, GateText: gate, Relayed: true, Conditional: true,
		Own: codes("escalation_refused"), Audit: []string{"R: role.delete"}},
		func(ctx context.Context, c *Call, in objectOf) (None, error) {
			return None{}, c.root().DeleteRole(ctx, c.Access, in.ID, c.rootMatch())
		})
}

type groups struct {
	Groups     []group `json:"groups"`
	NextCursor *string `json:"nextCursor"`
}

type groupAnswer struct {
	Group group `json:"group"`
}

type createGroup struct {
	inOrg
	provider.GroupInput
}

type updateGroup struct {
	objectOf
	Name        *string          `json:"name,omitempty"`
	Description Nullable[string] `json:"description"`
}

type setParents struct {
	objectOf
	Parents []string `json:"parents"`
}

type listMembers struct {
	objectOf
	Paging
}

type members struct {
	UserIDs    []string `json:"userIds"`
	NextCursor *string  `json:"nextCursor"`
}

func groupRows(t *table) {
	const path = "/orgs/{org}/org/groups"
	read, write := service.OrgKey(readAccess), service.OrgKey(manageGroups)
	answer := func(g authz.Group, err error) (out groupAnswer, _ error) {
		out.Group, err = one(g, err, groupOf)
		return out, err
	}
	add(t, endpoint{Method: "GET", Path: path, Summary: "Groups, by id", Gate: read},
		func(ctx context.Context, c *Call, in searched) (out groups, err error) {
			list, err := c.root().Groups(ctx, c.Access, in.Q, c.page())
			out.Groups, out.NextCursor, err = page(c, list, err, groupOf)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: path, Summary: "Create a group", Gate: write, Status: http.StatusCreated, Relayed: true,
		Own: []string{"graph_cycle", "escalation_refused"}, Audit: []string{"R: group.create"}},
		func(ctx context.Context, c *Call, in createGroup) (groupAnswer, error) {
			out, err := answer(c.root().CreateGroup(ctx, c.Access, in.GroupInput))
			if err == nil {
				c.located("orgs", in.Org, "org", "groups", out.Group.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: path + "/{id}", Summary: "A group", Gate: read, Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in objectOf) (groupAnswer, error) {
			return answer(c.root().OneGroup(ctx, c.Access, in.ID))
		})
	add(t, endpoint{Method: "PATCH", Path: path + "/{id}", Summary: "Change a group", Gate: write, Relayed: true, Conditional: true, Audit: []string{"R: group.update"}},
		func(ctx context.Context, c *Call, in updateGroup) (groupAnswer, error) {
			u := provider.GroupUpdate{Name: in.Name, Description: cleared(in.Description)}
			return answer(c.root().UpdateGroup(ctx, c.Access, in.ID, u, c.rootMatch()))
		})
	add(t, endpoint{Method: "DELETE", Path: path + "/{id}", Summary: "Delete a group", Gate: write, Relayed: true, Conditional: true, Audit: []string{"R: group.delete"}},
		func(ctx context.Context, c *Call, in objectOf) (None, error) {
			return None{}, c.root().DeleteGroup(ctx, c.Access, in.ID, c.rootMatch())
		})
	add(t, endpoint{Method: "PUT", Path: path + "/{id}/parents", Summary: "Replace a group's parents", Gate: write, Relayed: true, Conditional: true,
		Own: []string{"graph_cycle", "escalation_refused"}, Audit: []string{"R: group.set_parents"}},
		func(ctx context.Context, c *Call, in setParents) (groupAnswer, error) {
			return answer(c.root().SetGroupParents(ctx, c.Access, in.ID, in.Parents, c.rootMatch()))
		})
	add(t, endpoint{Method: "GET", Path: path + "/{id}/members", Summary: "A group's direct members", Gate: read},
		func(ctx context.Context, c *Call, in listMembers) (out members, err error) {
			list, err := c.root().GroupMembers(ctx, c.Access, in.ID, c.page())
			if err != nil {
				return out, err
			}
			out.UserIDs = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: path + "/{id}/members/count", Summary: "How many direct members a group has", Gate: read},
		func(ctx context.Context, c *Call, in objectOf) (count, error) {
			n, err := c.root().CountGroupMembers(ctx, c.Access, in.ID)
			return count{n}, err
		})
	add(t, endpoint{Method: "POST", Path: path + "/{id}/dissolve", Summary: "Dissolve a virtual parent", Gate: write, Relayed: true,
		Audit: []string{"R: group.dissolve_virtual_parent"}},
		func(ctx context.Context, c *Call, in objectOf) (None, error) {
			return None{}, c.root().DissolveGroup(ctx, c.Access, in.ID)
		})
}
