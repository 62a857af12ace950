package relational

import "github.com/authzhost/authz/sdk/storage"

// SchemaVersion is the version of Tables. Version 1 had no partitions. Version 2 had no
// identities of events. Version 3 had no tables of edges for lookups. Version 4 had no
// lengths of details, and fewer indexes of grants: none by time, by actor, or of the
// grants at instances. Version 5 had no table of the subjects of audit entries, and no
// index of the grants at instances by time.
const SchemaVersion = 6

// Type is the type of a column.
type Type int

// The types of columns. JSON is the native type where there is one, else text.
const (
	Text Type = iota
	Big       // 64-bit integer
	Int       // 32-bit integer
	JSON
	Bool
)

// Column is one column of a table. Default is SQL, "" for none.
type Column struct {
	Name    string
	Type    Type
	Null    bool
	Default string
}

// Table is one table. Every table begins with the column app, the partition,
// which Columns leaves out; so do Key and each of Indexes, which lead with it. An index
// names columns, and what is Computed of them.
type Table struct {
	Name    string
	Columns []Column
	Key     []string
	Indexes [][]string

	// Capability goes with an optional table; "" is required of every database.
	Capability storage.Capability
}

// Names of the tables.
const (
	GrantTable          = "AuthzGrant"
	RevokeTable         = "AuthzRevoke"
	RoleTable           = "AuthzRole"
	GroupTable          = "AuthzGroup"
	GroupParentTable    = "AuthzGroupParent"
	UserTable           = "AuthzUser"
	MembershipTable     = "AuthzMembership"
	RequestTable        = "AuthzRequest"
	CatalogTable        = "AuthzCatalog"
	AuditTable          = "AuthzAudit"
	CatalogVersionTable = "AuthzCatalogVersion"
	ImportsTable        = "AuthzImports"
	EpochTable          = "AuthzEpoch"
	EventTable          = "AuthzEvent"
	MetricTable         = "AuthzMetric"
	ScopeParentTable    = "AuthzScopeParent"
	ScopeEdgeTable      = "AuthzScopeEdge"
	UserOrgTable        = "AuthzUserOrg"
	RecordTable         = "AuthzRecord"
	AuditSubjectTable   = "AuthzAuditSubject"
	LockTable           = "AuthzLock"
	CommitTable         = "AuthzCommit"
	SchemaTable         = "AuthzSchema"
)

// Tables are those of SchemaVersion, in the order of the layout
// (spec: storage §8).
var Tables = []Table{
	{Name: GrantTable, Key: key("id"), Indexes: [][]string{{"subject"}, {"scope"}, {"roleId"}, {"scope", "subject", "id"}, {"createdAt", "id"}, {"expiresAt", "id"},
		{"givenBy", "id"}, {"instance"}, {"instanceAt", "id"}},
		Columns: columns(text("id"), text("subject"), null(text("roleId")), null(text("pattern")), text("scope"),
			null(big("expiresAt")), json("provenance"), big("createdAt"))},
	{Name: RevokeTable, Key: key("id"), Indexes: [][]string{{"userId"}, {"scope"}},
		Columns: columns(text("id"), text("userId"), text("pattern"), text("scope"), json("provenance"), big("createdAt"))},
	{Name: RoleTable, Key: key("id"),
		Columns: columns(text("id"), text("name"), null(text("description")), json("patterns"), null(json("requestable")))},
	{Name: GroupTable, Key: key("id"),
		Columns: columns(text("id"), text("name"), null(text("description")), Column{Name: "virtual", Type: Bool, Default: "false"})},
	{Name: GroupParentTable, Key: key("childId", "parentId"), Indexes: [][]string{{"parentId"}},
		Columns: columns(text("childId"), text("parentId"), zero("ordinal"))},
	{Name: UserTable, Key: key("userId"), Indexes: [][]string{{"managerUserId", "userId"}},
		Columns: columns(text("userId"), Column{Name: "active", Type: Bool}, json("orgIds"), null(text("managerUserId")))},
	{Name: MembershipTable, Key: key("userId", "groupId"), Indexes: [][]string{{"groupId", "userId"}},
		Columns: columns(text("userId"), text("groupId"), zero("ordinal"))},
	{Name: RequestTable, Key: key("id"), Indexes: [][]string{{"state"}, {"requesterUserId"}, {"createdAt", "id"}},
		Columns: columns(text("id"), text("requesterUserId"), null(text("roleId")), null(text("pattern")), text("scope"),
			null(big("proposedExpiresAt")), json("justification"), text("state"), number("stageIndex"), json("stages"),
			json("decisions"), big("createdAt"), null(big("decidedAt")))},
	{Name: CatalogTable, Key: key("id"), Columns: columns(one("id"), number("version"), json("document"))},
	{Name: AuditTable, Key: key("id"), Indexes: [][]string{{"target"}, {"at", "id"}, {"actor"}},
		Columns: columns(text("id"), big("at"), text("actor"), text("action"), text("target"), null(json("detail")),
			null(text("prevHash")), null(text("hash")), null(big("detailBytes")))},
	{Name: AuditSubjectTable, Key: key("subject", "at", "id"), Capability: storage.CapAuditSubjects,
		Columns: columns(text("subject"), big("at"), text("id"))},
	{Name: CatalogVersionTable, Key: key("version"), Capability: storage.CapHistory,
		Columns: columns(number("version"), json("document"), big("publishedAt"))},
	{Name: ImportsTable, Key: key("id"), Capability: storage.CapImports,
		Columns: columns(one("id"), number("version"), json("manifest"))},
	{Name: EpochTable, Key: key("id"), Capability: storage.CapEvents,
		Columns: columns(one("id"), big("seq"), Column{Name: "prunedThrough", Type: Big, Default: "0"},
			null(text("identity")), null(text("prunedIdentity")))},
	{Name: EventTable, Key: key("seq"), Indexes: [][]string{{"at"}}, Capability: storage.CapEvents,
		Columns: columns(big("seq"), text("type"), json("payload"), big("at"), null(text("identity")))},
	{Name: MetricTable, Key: key("bucket", "dimension", "subject", "metric"),
		Indexes: [][]string{{"dimension", "subject"}, {"bucket"}}, Capability: storage.CapMetrics,
		Columns: columns(big("bucket"), text("dimension"), text("subject"), text("metric"), big("count"))},
	{Name: ScopeParentTable, Key: key("scope"), Capability: storage.CapAncestry,
		Columns: columns(text("scope"), json("parents"))},
	{Name: ScopeEdgeTable, Key: key("parentId", "childId"), Indexes: [][]string{{"childId"}}, Capability: storage.CapLookups,
		Columns: columns(text("parentId"), text("childId"))},
	{Name: UserOrgTable, Key: key("orgId", "userId"), Indexes: [][]string{{"userId"}}, Capability: storage.CapLookups,
		Columns: columns(text("orgId"), text("userId"))},
	{Name: RecordTable, Key: key("collection", "id"), Capability: storage.CapRecords,
		Indexes: [][]string{{"collection", "key1", "id"}, {"collection", "key2", "id"}, {"collection", "key3", "id"}, {"collection", "key4", "id"}},
		Columns: columns(text("collection"), text("id"), big("version"), json("data"), null(text("key1")), null(text("key2")),
			null(text("key3")), null(text("key4")), big("updatedAt"))},
	{Name: LockTable, Key: key("key"),
		Columns: columns(text("key"), null(text("holder")), big("fence"), big("expiresAt"))},
	{Name: CommitTable, Key: key("id"), Indexes: [][]string{{"at"}},
		Columns: columns(text("id"), text("digest"), json("result"), big("at"))},
	{Name: SchemaTable, Key: key("id"),
		Columns: columns(one("id"), number("version"), text("incarnation"), big("migratedAt"))},
}

// Computed are what indexes hold of rows beside their columns, by name.
var Computed = map[string]string{
	"givenBy": `coalesce("provenance" ->> 'actorUserId', "provenance" ->> 'approvedBy')`,

	// The orders of the rows that are not at *.
	"instance":   `case when "scope" <> '*' then "id" end`,
	"instanceAt": `case when "scope" <> '*' then "createdAt" end`,
}

// Indexed is what an index holds under a name, in SQL.
func Indexed(name string) string {
	if computed, ok := Computed[name]; ok {
		return "(" + computed + ")"
	}
	return `"` + name + `"`
}

// Replaced are the indexes of version 3 in whose place others came.
var Replaced = []struct {
	Table string
	Index []string
}{{MembershipTable, []string{"groupId"}}, {UserTable, []string{"managerUserId"}}}

func key(names ...string) []string    { return names }
func columns(list ...Column) []Column { return list }
func text(name string) Column         { return Column{Name: name, Type: Text} }
func big(name string) Column          { return Column{Name: name, Type: Big} }
func number(name string) Column       { return Column{Name: name, Type: Int} }
func json(name string) Column         { return Column{Name: name, Type: JSON} }
func one(name string) Column          { return Column{Name: name, Type: Int, Default: "1"} }
func zero(name string) Column         { return Column{Name: name, Type: Int, Default: "0"} }
func null(c Column) Column            { c.Null = true; return c }
