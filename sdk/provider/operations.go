package provider

// Kind says whether an operation changes anything.
type Kind string

// The kinds of operation.
const (
	Read  Kind = "read"
	Write Kind = "write"
)

// Gate is a feature that an operation needs; without it the answer is
// unsupported (501).
type Gate string

// The gates.
const (
	GateEpoch    Gate = "epoch"
	GateMetrics  Gate = "metrics"
	GateStorage  Gate = "storage"
	GateAncestry Gate = "ancestry"
	GateImports  Gate = "imports"
)

// Operation is one row of the manifest of what crosses the wire.
type Operation struct {
	Op       string `json:"op"`
	Kind     Kind   `json:"kind"`
	Method   string `json:"method,omitempty"` // of Provider; "" for operations of the wire alone
	Requires Gate   `json:"requires,omitempty"`

	// Required names the parameters that must be present and not null, in the
	// order in which their absence is reported.
	Required []string `json:"-"`

	// NullAllowed names required parameters that may be null.
	NullAllowed []string `json:"-"`
}

// Operations is the manifest, in the order of the contract.
var Operations = []Operation{
	{Op: "ping", Kind: Read},
	{Op: "capabilities", Kind: Read, Method: "Capabilities"},
	{Op: "getSubjectAccess", Kind: Read, Method: "GetSubjectAccess", Required: []string{"principal"}},
	{Op: "resolveAncestors", Kind: Read, Method: "ResolveAncestors", Required: []string{"scope"}},
	{Op: "check", Kind: Read}, // requires principal and key, or checks
	{Op: "epoch.head", Kind: Read, Requires: GateEpoch},
	{Op: "epoch.since", Kind: Read, Requires: GateEpoch, Required: []string{"seq"}},
	{Op: "createGrant", Kind: Write, Method: "CreateGrant", Required: []string{"input"}},
	{Op: "createGrants", Kind: Write, Method: "CreateGrants", Required: []string{"inputs", "provenance"}},
	{Op: "deleteGrant", Kind: Write, Method: "DeleteGrant", Required: []string{"grantId", "provenance"}},
	{Op: "listGrants", Kind: Read, Method: "ListGrants"},
	{Op: "countGrants", Kind: Read, Method: "CountGrants"},
	{Op: "createRevoke", Kind: Write, Method: "CreateRevoke", Required: []string{"input"}},
	{Op: "deleteRevoke", Kind: Write, Method: "DeleteRevoke", Required: []string{"revokeId", "provenance"}},
	{Op: "listRevokes", Kind: Read, Method: "ListRevokes"},
	{Op: "deleteSubject", Kind: Write, Method: "DeleteSubject", Required: []string{"subject", "provenance"}},
	{Op: "deleteScope", Kind: Write, Method: "DeleteScope", Required: []string{"scope", "provenance"}},
	{Op: "submitRequest", Kind: Write, Method: "SubmitRequest", Required: []string{"input"}},
	{Op: "decideRequest", Kind: Write, Method: "DecideRequest", Required: []string{"requestId", "decision"}},
	{Op: "cancelRequest", Kind: Write, Method: "CancelRequest", Required: []string{"requestId", "byUserId"}},
	{Op: "listRequests", Kind: Read, Method: "ListRequests"},
	{Op: "listApproverQueue", Kind: Read, Method: "ListApproverQueue", Required: []string{"approverUserId"}},
	{Op: "publishCatalog", Kind: Write, Method: "PublishCatalog", Required: []string{"document", "provenance"}},
	{Op: "getPublishedCatalog", Kind: Read, Method: "GetPublishedCatalog"},
	{Op: "publishImports", Kind: Write, Method: "PublishImports", Requires: GateImports, Required: []string{"manifest", "provenance"}},
	{Op: "getPublishedImports", Kind: Read, Method: "GetPublishedImports", Requires: GateImports},
	{Op: "listRoles", Kind: Read, Method: "ListRoles"},
	{Op: "createRole", Kind: Write, Method: "CreateRole", Required: []string{"input", "provenance"}},
	{Op: "updateRole", Kind: Write, Method: "UpdateRole", Required: []string{"roleId", "input", "provenance"}},
	{Op: "deleteRole", Kind: Write, Method: "DeleteRole", Required: []string{"roleId", "provenance"}},
	{Op: "listGroups", Kind: Read, Method: "ListGroups"},
	{Op: "createGroup", Kind: Write, Method: "CreateGroup", Required: []string{"input", "provenance"}},
	{Op: "updateGroup", Kind: Write, Method: "UpdateGroup", Required: []string{"groupId", "input", "provenance"}},
	{Op: "setGroupParents", Kind: Write, Method: "SetGroupParents", Required: []string{"groupId", "parents", "provenance"}},
	{Op: "deleteGroup", Kind: Write, Method: "DeleteGroup", Required: []string{"groupId", "provenance"}},
	{Op: "setGroupMembership", Kind: Write, Method: "SetGroupMembership", Required: []string{"userId", "groupIds", "provenance"}},
	{Op: "getGroupMembers", Kind: Read, Method: "GetGroupMembers", Required: []string{"groupId"}},
	{Op: "setUserActive", Kind: Write, Method: "SetUserActive", Required: []string{"userId", "active", "provenance"}},
	{Op: "setReportingEdge", Kind: Write, Method: "SetReportingEdge", Required: []string{"userId", "managerUserId", "provenance"}, NullAllowed: []string{"managerUserId"}},
	{Op: "getReportingEdges", Kind: Read, Method: "GetReportingEdges"},
	{Op: "dissolveVirtualParent", Kind: Write, Method: "DissolveVirtualParent", Required: []string{"groupId", "provenance"}},
	{Op: "listAuditEvents", Kind: Read, Method: "ListAuditEvents"},
	{Op: "reportMetrics", Kind: Write, Method: "ReportMetrics", Requires: GateMetrics, Required: []string{"batch"}},
	{Op: "getGrantUsage", Kind: Read, Method: "GetGrantUsage", Requires: GateMetrics, Required: []string{"query"}},
	{Op: "getRevokeUsage", Kind: Read, Method: "GetRevokeUsage", Requires: GateMetrics, Required: []string{"query"}},
	{Op: "getRoleUsage", Kind: Read, Method: "GetRoleUsage", Requires: GateMetrics, Required: []string{"query"}},
	{Op: "getPermissionUsage", Kind: Read, Method: "GetPermissionUsage", Requires: GateMetrics, Required: []string{"query"}},
	{Op: "getScopeTypeUsage", Kind: Read, Method: "GetScopeTypeUsage", Requires: GateMetrics, Required: []string{"query"}},
	{Op: "exportOrgSnapshot", Kind: Read, Requires: GateStorage},
	{Op: "applyOrgSnapshot", Kind: Write, Requires: GateStorage, Required: []string{"snapshot", "source"}},
	{Op: "setScopeParents", Kind: Write, Method: "SetScopeParents", Requires: GateAncestry, Required: []string{"entries", "provenance"}},
}

// LookupOperation finds an operation by its exact name.
func LookupOperation(op string) (Operation, bool) {
	for _, o := range Operations {
		if o.Op == op {
			return o, true
		}
	}
	return Operation{}, false
}
