package catalog

import "github.com/authzhost/authz/sdk/authz"

// Define builds a catalog that is declared as a Go value. It is Build by the name
// that a declaration reads well with: the same checks, the same errors.
func Define(in Input) (*Catalog, error) { return Build(in) }

// MustDefine is Define for package variables: it panics with the
// *authz.CatalogError, which lists everything that is wrong. A declaration that
// depends on nothing but the program text either always panics or never.
func MustDefine(in Input) *Catalog {
	c, err := Define(in)
	if err != nil {
		panic(err)
	}
	return c
}

// Group declares a block: the permissions of one group, and what it is called.
// Keys are written in full; a key that is not under the path is an error of Define.
// Several blocks of one path add up.
func Group(path string, group GroupInput, leaves ...Permission) PermissionSet {
	return PermissionSet{Block: &Block{Path: path, Group: group}, Leaves: leaves}
}

// Leaves declares permissions of any groups, without metadata for these.
func Leaves(leaves ...Permission) PermissionSet { return PermissionSet{Leaves: leaves} }

// Key declares a permission of which nothing is to say but its key.
func Key(key string) Permission { return Permission{Key: key} }

// ApprovedWhen is a stage that approves by itself when the predicate holds of the
// requester, and denies otherwise where it is the last.
func ApprovedWhen(p authz.Predicate) authz.Stage {
	return authz.Stage{Kind: authz.StageAuto, Predicate: &p}
}

// ApprovedByRole is a stage that a holder of the role decides.
func ApprovedByRole(roleID string) authz.Stage {
	return authz.Stage{Kind: authz.StageNamedApprovers, RoleID: roleID}
}

// ApprovedByManager is a stage that the manager so many layers up decides; 1 is
// the direct one.
func ApprovedByManager(layers int64) authz.Stage {
	return authz.Stage{Kind: authz.StageManagement, Layers: &layers}
}

// InGroup holds of members of the group, nested membership included.
func InGroup(groupID string) authz.Predicate {
	return authz.Predicate{Type: authz.PredicateInGroup, GroupID: groupID}
}

// InOrg holds of members of the organization.
func InOrg(orgID string) authz.Predicate {
	return authz.Predicate{Type: authz.PredicateInOrg, OrgID: orgID}
}

// MemberOf holds of everyone whose subject closure has the subject, implicit ones
// such as "directs:<user>" included.
func MemberOf(subject string) authz.Predicate {
	return authz.Predicate{Type: authz.PredicateMemberOf, Subject: subject}
}

// HoldsPattern holds of everyone who has any access that the pattern reaches.
func HoldsPattern(pattern string) authz.Predicate {
	return authz.Predicate{Type: authz.PredicateHoldsPattern, Pattern: pattern}
}
