package catalog

import "github.com/authzhost/authz/sdk/authz"

// InternalBlocks returns the built-in administration blocks (spec: catalog §2.7),
// which every catalog carries unless it declares otherwise.
func InternalBlocks() []PermissionSet {
	block := func(name, label string, leaves ...Permission) PermissionSet {
		path := authz.InternalNamespace + "." + name
		for i := range leaves {
			leaves[i].Key = path + "." + leaves[i].Key
		}
		return PermissionSet{Block: &Block{Path: path, Group: GroupInput{Label: label}}, Leaves: leaves}
	}
	leaf := func(name, description string) Permission {
		return Permission{Key: name, Description: description}
	}
	return []PermissionSet{
		block("access", "Access",
			leaf("read", "View access administration"),
			leaf("manage_roles", "Create, edit, delete roles"),
			leaf("manage_groups", "Create, edit, delete groups and parentage"),
			leaf("manage_grants", "Create and delete grants"),
			leaf("manage_revokes", "Create and delete personal revokes"),
			leaf("manage_reporting", "Edit reporting (manager) edges"),
			leaf("view_as", "Preview as a role or an individual")),
		block("requests", "Requests",
			leaf("read", "View the approvals inbox"),
			leaf("decide_request", "Approve or deny a request")),
		block("audit", "Audit",
			leaf("read", "Read the audit log")),
		block("catalog", "Catalog",
			leaf("read", "View the published catalog"),
			leaf("publish_catalog", "Publish a verified catalog to the provider")),
	}
}

// internalGroup is the metadata of the built-in namespace itself.
func internalGroup() GroupEntry {
	return GroupEntry{Path: authz.InternalNamespace, Group: GroupInput{
		Label: "Authorization", Description: "Administration of access itself",
	}}
}
