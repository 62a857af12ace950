package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Exists says whether the caller's own world has the thing of that id.
type Exists func(ctx context.Context, id string) (bool, error)

// Reconciliation asks which rows name what is gone. A nil predicate answers that
// everything exists. Predicates may be asked about an id more than once.
type Reconciliation struct {
	UserExists  Exists
	OrgExists   Exists
	ScopeExists Exists

	// Sweep deletes what is found, by Provenance, in parts (spec: application §1.7);
	// with KeepRoleGrants without the grants whose role is not stored, which a role
	// that is synchronized later brings to life.
	Sweep          bool
	KeepRoleGrants bool
	Provenance     authz.Provenance
}

// Reconciled is what a reconciliation found, each list by id.
type Reconciled struct {
	OrphanedGrants     []authz.Grant  `json:"orphanedGrants"`
	OrphanedRevokes    []authz.Revoke `json:"orphanedRevokes"`
	DanglingRoleGrants []authz.Grant  `json:"danglingRoleGrants"`
	Swept              bool           `json:"swept"`

	// Superseded is how many rows of an organization the application's partition still
	// holds that lives in another partition of its mesh. Nobody reads them, and no sweep
	// deletes them: that is a purge (spec: mesh §7). Without a mesh it is 0.
	Superseded int `json:"superseded,omitempty"`
}
