package apply

import (
	"github.com/authzhost/authz/sdk/provider"
)

// Supposing is the plan as a change that nobody makes: what an application is asked about
// it.
func (p *Plan) Supposing() provider.Supposing {
	var in provider.Supposing
	for _, s := range p.steps {
		input, _ := s.params["input"].(fields)
		switch s.op {
		case "createRole", "updateRole":
			id, _ := s.params["roleId"].(string)
			if s.op == "createRole" {
				id = input["id"].(string)
			}
			if patterns, named := input["patterns"].([]string); named {
				in.With.Roles = append(in.With.Roles, provider.SupposedRole{RoleID: id, Patterns: patterns})
			}
		case "deleteRole":
			in.With.Roles = append(in.With.Roles, provider.SupposedRole{RoleID: s.params["roleId"].(string), Patterns: []string{}})
		case "createGroup":
			in.With.Groups = append(in.With.Groups, provider.SupposedGroup{GroupID: input["id"].(string), Parents: input["parents"].([]string)})
		case "setGroupParents":
			in.With.Groups = append(in.With.Groups, provider.SupposedGroup{GroupID: s.params["groupId"].(string), Parents: s.params["parents"].([]string)})
		case "deleteGroup": // whose grants are deleted by steps of their own
			in.With.Groups = append(in.With.Groups, provider.SupposedGroup{GroupID: s.params["groupId"].(string), Parents: []string{}})
		case "createGrants":
			in.With.Grants = append(in.With.Grants, s.params["inputs"].([]provider.GrantInput)...)
		case "deleteGrant":
			in.Without = append(in.Without, s.params["grantId"].(string))
		}
	}
	return in
}
