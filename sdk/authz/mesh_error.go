package authz

// MeshError is a mistake of configuration or programming between the members of a
// mesh. It is never a denial. The members that its code does not name are zero
// (spec: mesh §10).
type MeshError struct {
	Code    MeshCode `json:"-"`
	Message string   `json:"-"`

	Partition  string   `json:"partition,omitempty"`
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	Mode       MeshMode `json:"mode,omitempty"`
	Operation  string   `json:"operation,omitempty"`
	Asked      string   `json:"asked,omitempty"`
	Got        string   `json:"got,omitempty"`
	DriverName string   `json:"driverName,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Designated string   `json:"designated,omitempty"` // org partition

	Expected *int64        `json:"expected,omitempty"` // version of the registry
	Current  *int64        `json:"current,omitempty"`
	Issues   []Issue       `json:"issues,omitempty"`
	Findings []MeshFinding `json:"findings,omitempty"`
}

// MeshFinding is one reason of a MeshVerifyFailed (spec: mesh §4).
type MeshFinding struct {
	Code      MeshCode `json:"code"`
	Message   string   `json:"message"`
	Partition string   `json:"partition,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
}

// MeshCode discriminates a MeshError.
type MeshCode string

// The codes of a MeshError (spec: mesh §10).
const (
	MeshNoRegistry           MeshCode = "no_registry"
	MeshNotAMember           MeshCode = "not_a_member"
	MeshNoEdge               MeshCode = "no_mesh_edge"
	MeshReadOnlyPeer         MeshCode = "read_only_peer"
	MeshPeerNotPublished     MeshCode = "peer_not_published"
	MeshPeerCatalogInvalid   MeshCode = "peer_catalog_invalid"
	MeshPeerClosed           MeshCode = "peer_closed"
	MeshPartitionMismatch    MeshCode = "partition_mismatch"
	MeshLockNotCrossProcess  MeshCode = "lock_not_cross_process"
	MeshEventsNotPersisted   MeshCode = "events_not_persisted"
	MeshRegistryInvalid      MeshCode = "registry_invalid"
	MeshRegistryConflict     MeshCode = "registry_conflict"
	MeshNamespacesMismatch   MeshCode = "namespaces_mismatch"
	MeshImportUnresolved     MeshCode = "import_unresolved"
	MeshImportPatternMissing MeshCode = "import_pattern_missing"
	MeshOrgNotDesignated     MeshCode = "org_not_designated"
	MeshOrgRootMismatch      MeshCode = "org_root_mismatch"
	MeshNoOrgAdministrator   MeshCode = "no_org_administrator"
	MeshUnsupported          MeshCode = "unsupported"
	MeshVerifyFailed         MeshCode = "verify_failed"
)

func (e *MeshError) Error() string     { return e.Message }
func (e *MeshError) ErrorName() string { return "MeshError" }
func (e *MeshError) ErrorCode() string { return string(e.Code) }
