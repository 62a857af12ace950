// Made from the OpenAPI document of the hosted API by go generate ./web. Do not edit.

export type APIKey = { createdAt: number; createdBy: string; etag: string; expiresAt: number | null; hint: string; id: string; kind: string; lastUsedAt: number | null; name: string; namespace?: string; previousValidUntil: number | null; revokedAt: number | null; rotatedAt: number | null; serviceId?: string; userId?: string }
export type Ancestors = { ancestors: Array<string> }
export type ApiKey = { apiKey: APIKey }
export type ApiKeys = { apiKeys: Array<APIKey>; nextCursor: string | null }
export type AppCatalog = { imports: PublishedImports | null; published: PublishedCatalog | null }
export type AppGrant = { grant: Grant }
export type AppGrants = { grants: Array<Grant>; nextCursor: string | null }
export type AppMesh = { mesh: MeshView | null }
export type AppRequests = { nextCursor: string | null; requests: Array<Request> }
export type AppRevoke = { revoke: Revoke }
export type AppRevokes = { nextCursor: string | null; revokes: Array<Revoke> }
export type AppScopes = { nextCursor: string | null; scopes: Array<RecordedScope> }
export type Application = { auditOptIn: boolean; createdAt: number; createdBy: string; etag: string; federatedAt: number | null; health: Health | null; id: string; lastSyncAt: number | null; linkedAt: number | null; name: string; namespaces: Array<string>; operation: Operation | null; registry: Array<Published>; relayUrl: string | null; secretHint: string | null; state: string }
export type ApplicationAnswer = { application: Application }
export type ApplicationList = { applications: Array<Application>; nextCursor: string | null }
export type AuditAnswer = { event: AuditEntry }
export type AuditCursor = { at: number; id: string }
export type AuditEntry = { action: string; actor: string; at: number; detail?: unknown; detailBytes?: number; hash?: string; id: string; prevHash?: string; target: string }
export type AuditEvents = { events: Array<AuditEntry>; nextCursor: string | null }
export type AuditPlace = { at: number; hash?: string; id: string }
export type BlockedRename = { action: string; application: string; count: number; reason: string }
export type Catalogs = { namespaces: Array<NamespaceCatalog>; requestable: Requestable2 }
export type CleanupResult = { deletedGrants: number; deletedRevokes: number }
export type Conflict = { actions: Array<string>; beyond?: Array<string>; blocked?: Array<BlockedRename>; current?: unknown; id: string; incoming?: unknown; kind: string; narrowed?: Array<string>; path?: Array<string>; userId?: string }
export type Count = { count: number }
export type Counts = { globalGrants: number; globalRevokes: number; groups: number; pendingRequests: number; roles: number; users: number }
export type CurrentSession = { csrfToken: string; mayReadHost: boolean; session: SessionView; viewAs: Record<string, ViewAs> | null }
export type Decision = { at: number; decidedBy: string; decision: string; note?: string; stageIndex: number }
export type Deleted = { deletedGrants: number; deletedRevokes: number; members: Array<Member> }
export type Demoted = { application: Application | null; dryRun?: boolean; exported: Counts; leftBehind: LeftBehind; org: Org | null; warnings: Array<string> }
export type Dimension = { cap: number | null; degraded: string | null; dimension: string; kind: string; state: string; unit: string; value: number }
export type DirectoryEnd = { authoritative: boolean; cause: "late" | "unavailable" | "invalid" | "other" | null; commits: number; created: number; deactivated: number; endedAt: number; entries: number; failures: number; groups: number; incremental: boolean; people: number; result: "succeeded" | "refused" | "failed" | "cancelled" | "skipped" | "not_org_root"; scheduled: boolean; startedAt: number; warnings: number }
export type DirectoryRun = { dryRun: boolean; entries: number; expected: number | null; phase: "starting" | "reading" | "applying"; startedAt: number }
export type DirectoryRuns = { cancelled: number; failed: number; notOrgRoot: number; refused: number; skipped: number; succeeded: number }
export type Drift = { generatedAt: number; grants: Array<GrantDrift>; imports: Array<ImportDrift>; roles: Array<RoleDrift>; unavailable: Array<Unavailable2> }
export type DriftFinding = { gainedKeys: Array<string>; pattern: string; via: DriftVia }
export type DriftVia = { grant?: Grant | null; grantIds?: Array<string>; kind: string; role?: Role2 | null }
export type Edge = { managerUserId: string; userId: string }
export type Edges = { edges: Array<Edge>; nextCursor: string | null }
export type Effect = { allowed: boolean; key: string; scope: string; subject: string }
export type EntitledRevoke = { pattern: string; revokeId: string; scope: string }
export type Entitlement = { held: boolean; key: string; sources: Array<EntitlementSource> }
export type EntitlementSource = { expiresAt?: number | null; grantId: string; pattern: string; roleId?: string; scope: string; subject: string }
export type Entitlements = { nextCursor: string | null; users: Array<UserEntitlements> }
export type Entry = { application: string | null; request: Request }
export type Epoch = { hasEpoch: boolean; seq: number | null }
export type Error = { error: { code?: string; message: string; name: string; requestId: string } }
export type Evaluated = { allowed: boolean }
export type Event = { action: string; actor: string; application: string; at: number; detail?: unknown; detailBytes?: number; hash?: string; id: string; ingestedAt: number; prevHash?: string; target: string }
export type Explained = { active: boolean; allowed: boolean; expired?: Array<Grant>; implied: boolean; impliedBy: Array<Grant>; matchedGrants: Array<Grant>; matchedRevokes: Array<Revoke>; near?: Near | null; notes?: Array<string>; objectClosure: Array<string>; paths?: Array<Path>; requiresCondition?: boolean }
export type Federated = { application?: Application | null; conflicts?: Array<Conflict>; dryRun?: boolean; fingerprint?: string; imported: Counts; org?: Org | null; virtualParents: Array<VirtualParent>; warnings: Array<string> }
export type Grant = { createdAt: number; expiresAt?: number | null; id: string; pattern?: string; provenance: Provenance; roleId?: string; scope: string; subject: string }
export type GrantDrift = { application: string; grantId: string; missing: Array<Missing>; scope: string; subject: string }
export type GrantExpiry = { expiresAt?: number | null; grantId: string }
export type GrantInput = { expiresAt?: number | null; pattern?: string | null; roleId?: string | null; scope?: string | null; subject: string }
export type GrantInput2 = { expiresAt?: number | null; pattern?: string; roleId?: string; scope?: string; subject: string }
export type Grants = { grants: Array<HomedGrant>; nextCursor: string | null; unavailable?: Array<Unavailable> | null }
export type Group = { description?: string; etag: string; id: string; name: string; parents: Array<string>; virtual?: boolean }
export type GroupAnswer = { group: Group }
export type Groups = { groups: Array<Group>; nextCursor: string | null }
export type Health = { api: number | null; application: string | null; auditOptIn: boolean | null; checkedAt: number | null; detail: string | null; hasEpoch: boolean | null; latencyMs: number | null; orgRoot: boolean | null; status: string }
export type HealthAnswer = { health: Health }
export type HeldBy = { expiresAt?: number | null; grantId: string; pattern?: string; roleId?: string; scope: string; subject: string; through?: Array<string> }
export type HeldKey = { key: string; scopes: Array<string> }
export type HeldKey2 = { implied?: boolean; key: string; requiresCondition?: boolean }
export type HeldKeys = { keys: Array<HeldKey2>; nextCursor: string | null }
export type HeldScope = { by: Array<string>; except?: Array<string>; implied?: boolean; scope: string }
export type HeldScopes = { expanded: boolean; nextCursor: string | null; requiresCondition?: boolean; scopes: Array<HeldScope> }
export type HeldSet = { keys: Array<string>; setIndex: number }
export type Holder = { by?: Array<HeldBy>; except?: string; implied?: boolean; subject: string }
export type Holders = { nextCursor: string | null; requiresCondition?: boolean; subjects: Array<Holder> }
export type Home = { application?: string; kind: string }
export type HomedGrant = { createdAt: number; expiresAt?: number | null; home: Home; id: string; pattern?: string; provenance: Provenance; roleId?: string; scope: string; subject: string }
export type HomedGrant2 = { grant: Grant; home: Home; warnings?: Array<string> }
export type HomedGrants = { grants: Array<Grant>; home: Home; warnings?: Array<string> }
export type HomedRevoke = { createdAt: number; home: Home; id: string; pattern: string; provenance: Provenance; scope: string; userId: string }
export type HomedRevoke2 = { home: Home; revoke: Revoke }
export type HostDirectories = { directories: Array<HostDirectory>; nextCursor: string | null }
export type HostDirectory = { application: string; importer: string; last: DirectoryEnd | null; lastSuccess: DirectoryEnd | null; name: string; nextAt: number | null; run: DirectoryRun | null; runs: DirectoryRuns; stale: boolean; state: "idle" | "running" | "not_org_root" }
export type HostPlugin = { embedded: boolean; kinds: Array<"storage" | "metrics_sink" | "directory_importer">; lastFailure: PluginFailure | null; name: string; needed: boolean; plugin: string; restarts: number; since: number; state: "running" | "unresponsive" | "restarting" | "stopped"; version: string }
export type HostPlugins = { nextCursor: string | null; plugins: Array<HostPlugin> }
export type HostSink = { applications: Array<SinkApplication>; name: string; plugin: string; state: "running" | "unresponsive" | "restarting" | "stopped" }
export type HostSinks = { nextCursor: string | null; sinks: Array<HostSink> }
export type Impact = { changes: Array<Effect>; checked: number; more?: boolean; unknown?: Array<string>; unresolved?: Array<string> }
export type ImportDrift = { application: string; message: string; namespace: string; pattern: string; tombstonedAt: number }
export type Inbox = { entries: Array<Entry>; nextCursor: string | null; unavailable: Array<Unavailable> }
export type IssuedKey = { apiKey: APIKey; secret: string | null; secretWithheld?: boolean }
export type Lacking = { grant: Grant; patterns: Array<string>; roleName?: string }
export type LeftBehind = { grants: Array<Grant>; roles: Array<Role2> }
export type Linked = { application: Application; providerSecret: string | null; secretWithheld?: boolean }
export type ManagerAnswer = { managerUserId: string | null; userId: string }
export type MeAnswer = { caller: MeCaller; org: string; orgRoot: RootStatus; permissions: MePermissions; seat: SeatSummary | null; viewAs: ViewAs | null }
export type MeCaller = { kind: string; serviceId?: string; userId?: string }
export type MePermissions = { account: Array<HeldKey>; org: Array<HeldKey> | null }
export type Member = { application: string; deletedGrants: number; deletedRevokes: number; error?: string }
export type Members = { nextCursor: string | null; userIds: Array<string> }
export type MembershipAnswer = { groupIds: Array<string>; userId: string }
export type Mesh = { edges: Array<MeshEdge>; formatVersion: number; members: Array<MeshMember>; org?: OrgDesignation | null; promoting?: OrgPromotion | null; updatedAt: number; updatedBy: string; version: number }
export type MeshEdge = { from: string; mode: string; to: string }
export type MeshMember = { namespaces: Array<string>; partition: string }
export type MeshView = { partition: string; registry: Mesh | null }
export type Missing = { pattern: string; reason: string; since?: number | null }
export type Namespace = { application: string | null; namespace: string; tombstones: Array<Tombstone>; versions: Array<Version> }
export type NamespaceCatalog = { application: string | null; document: unknown; namespace: string; publishedAt: number | null; version: number | null }
export type Namespaces = { namespaces: Array<Summary>; nextCursor: string | null }
export type Near = { elsewhere?: Array<Grant>; grantAt: string; grantableAt?: Array<string>; groups?: Array<NearGroup>; lacking?: Array<Lacking>; lentBy?: string; more?: boolean; notGrantable?: Array<Grant>; parentType?: string; parentless?: boolean; requests?: Array<NearRequest>; roles?: Array<NearRole> }
export type NearGroup = { grantId: string; groupId: string; name?: string }
export type NearRequest = { pattern?: string; roleId?: string; scope: string }
export type NearRole = { name: string; pattern: string; roleId: string }
export type OneEntry = { application: string | null; mayDecide: boolean; request: Request }
export type OneUser = { active: boolean; etag: string; groupIds: Array<string>; managerUserId: string | null; orgIds: Array<string>; stored: boolean; userId: string }
export type Operation = { kind: string; startedAt: number; step: string; trouble?: string }
export type Org = { createdAt: number; etag: string; id: string; mode: string; moving?: string; name: string; primaryApplication: string | null }
export type OrgAnswer = { org: Org }
export type OrgCreated = { org: Org; seat: Seat }
export type OrgDesignation = { partition: string; since: number }
export type OrgPromotion = { from: Array<string>; id: string; since: number; to: string }
export type OrgSummaries = { nextCursor: string | null; orgs: Array<OrgSummary> }
export type OrgSummary = { id: string; mode: string; name: string; seat: SeatSummary }
export type OwnExplanation = { active: boolean; allowed: boolean; by: Array<OwnRow>; expired: Array<OwnRow>; implied?: boolean; objectClosure: Array<string>; requests: Array<NearRequest>; requiresCondition?: boolean; revoked: Array<OwnRevoke> }
export type OwnRevoke = { pattern: string; scope: string }
export type OwnRow = { expiresAt?: number | null; pattern?: string; roleId?: string; roleName?: string; scope: string; subject: string; through?: Array<string> }
export type Path = { grantId: string; pattern: string; roleId?: string; roleName?: string; through?: Array<string> }
export type PluginFailure = { at: number; kind: "ended" | "hung" | "settings_refused" | "not_started" }
export type Predicate = { groupId?: string; orgId?: string; pattern?: string; subject?: string; type: string }
export type Principal = { serviceId?: string; userId?: string }
export type Prompt = { id: string; kind?: string; label: string; options?: Array<string>; required?: boolean | null }
export type Proof = { code?: string; iss?: string | null; kind: "bootstrap" | "oidc"; secret?: string; state?: string }
export type Provenance = { actorUserId?: string; approvedBy?: string; integrationId?: string; kind: string; note?: string; originalGrantId?: string; requestId?: string; source?: string; via?: string; virtualParentId?: string }
export type Published = { namespace: string; publishedAt: number | null; version: number | null }
export type PublishedCatalog = { document: unknown; version: number }
export type PublishedImports = { manifest: unknown; version: number }
export type QueueCount = { count: number; unavailable: Array<Unavailable> }
export type RecordedScope = { parents: Array<string>; scope: string }
export type Request = { createdAt: number; decidedAt?: number | null; decisions: Array<Decision>; id: string; justification: Record<string, string>; pattern?: string; proposedExpiresAt?: number | null; requesterUserId: string; roleId?: string; scope: string; stageIndex: number; stages: Array<Stage>; state: string }
export type Requestable = { maxDurationMs?: number; prompts?: Array<Prompt>; requireExpiry?: boolean; stages: Array<Stage> }
export type Requestable2 = { roles: Array<Role2>; scopeTypes: Array<unknown> }
export type Resolution = { action: string; managerUserId?: string | null; newId?: string; userId?: string }
export type Result = { addedKeys: Array<string>; namespace: string; publishedAt: number; revivedKeys: Array<string>; tombstonedKeys: Array<string>; unchanged: boolean; version: number }
export type Result2 = { duplicates: number; ingested: number; integrity: string; more: boolean; paused: string | null; upTo: AuditCursor | null }
export type Retained = { events: Array<Event>; nextCursor: string | null }
export type Revoke = { createdAt: number; id: string; pattern: string; provenance: Provenance; scope: string; userId: string }
export type RevokeInput = { pattern: string; scope?: string; userId: string }
export type Revokes = { nextCursor: string | null; revokes: Array<HomedRevoke>; unavailable?: Array<Unavailable> | null }
export type Role = { description?: string; etag: string; id: string; name: string; patterns: Array<string>; requestable?: Requestable | null }
export type Role2 = { description?: string; id: string; name: string; patterns: Array<string>; requestable?: Requestable | null }
export type RoleAnswer = { role: Role }
export type RoleDrift = { application: string; missing: Array<Missing>; name: string; roleId: string }
export type Roles = { nextCursor: string | null; roles: Array<Role> }
export type RootStatus = { application?: string; home: string; reachable: boolean }
export type Seat = { activatedAt: number | null; displayName: string | null; email: string | null; etag: string; invitedAt: number; invitedBy: string; kind: string; lastSeenAt: number | null; removedAt: number | null; state: string; userId: string }
export type SeatAnswer = { seat: Seat }
export type SeatSummary = { kind: string; state: string }
export type Seats = { nextCursor: string | null; seats: Array<Seat> }
export type Session = { authMethod: string; clientAddress: string; createdAt: number; expiresAt: number; id: string; idleExpiresAt: number; lastSeenAt: number; org?: string; userAgent: string; userId: string }
export type SessionView = { authMethod: string; clientAddress: string; createdAt: number; current: boolean; expiresAt: number; id: string; idleExpiresAt: number; lastSeenAt: number; org?: string; userAgent: string; userId: string }
export type Sessions = { nextCursor: string | null; sessions: Array<SessionView> }
export type SignInMethod = { kind: string; start?: string }
export type SignInMethods = { methods: Array<SignInMethod> }
export type SignedIn = { csrfToken: string; seat: Seat | null; session: Session }
export type SinkApplication = { application: string; checks: SinkOutcomes; lastDropped: SinkDrop | null; pending: number; windows: SinkOutcomes }
export type SinkDrop = { at: number; outcome: "full" | "refused" | "unavailable" | "unknown" | "stopped" }
export type SinkOutcomes = { delivered: number; full: number; refused: number; stopped: number; unavailable: number; unknown: number }
export type SodViolations = { nextCursor: string | null; users: Array<Violations> }
export type Stage = { kind: string; layers?: number | null; predicate?: Predicate | null; roleId?: string }
export type Started = { authorizationUrl: string }
export type SubjectAccess = { active: boolean; closure: Array<string>; grants: Array<Grant>; managerChain: Array<string>; revokes: Array<Revoke>; roles: Array<Role2>; unresolvedRoleIds: Array<string>; userId: string | null }
export type Summary = { application: string | null; keys: number; namespace: string; publishedAt: number | null; tombstones: number; version: number | null }
export type Supposed = { grants?: Array<GrantInput2>; groups?: Array<SupposedGroup>; members?: Array<SupposedMembers>; revokes?: Array<RevokeInput>; roles?: Array<SupposedRole> }
export type SupposedGroup = { groupId: string; parents: Array<string> }
export type SupposedMembers = { groupIds: Array<string>; userId: string }
export type SupposedRole = { patterns: Array<string>; roleId: string }
export type Synced = { results: Array<Synced2> }
export type Synced2 = { application: string; applied: boolean; code?: string; durationMs?: number | null; message?: string; seq?: number | null }
export type Tombstone = { key: string; lastVersion: number; tombstonedAt: number; tombstonedVersion: number }
export type Unavailable = { application: string; code: string }
export type Unavailable2 = { application: string; code: string }
export type Usage = { usage: unknown }
export type Usage2 = { dimensions: Array<Dimension>; generatedAt: number; org: string; periodEnd: number; periodStart: number }
export type User = { active: boolean; userId: string }
export type UserAnswer = { user: OneUser }
export type UserEntitlements = { active: boolean; closure: Array<string>; entitlements: Array<Entitlement>; revokes: Array<EntitledRevoke>; userId: string }
export type Users = { complete: boolean; nextCursor: string | null; users: Array<User> }
export type VerifiedPart = { broken?: AuditCursor; hashed: number; last?: AuditPlace; nextCursor: string | null; ok: boolean; reason?: string; unhashed: number }
export type Version = { addedKeys: Array<string>; publishedAt: number; publisher: string; tombstonedKeys: Array<string>; version: number }
export type ViewAs = { kind: string; roleId?: string; userId?: string }
export type Violation = { constraintId: string; description?: string; sets: Array<HeldSet> }
export type Violations = { userId: string; violations: Array<Violation> }
export type VirtualParent = { id: string; members: Array<string> }
export type WildcardDrift = { findings: Array<DriftFinding>; fromVersion: number; gainedKeys: Array<string>; nextCursor: string | null; removedKeys: Array<string>; toVersion: number }

export interface Endpoints {
	"GET /auth/methods": { path: {}; query: {}; body: null; answer: SignInMethods }
	"GET /auth/oidc/callback": { path: {}; query: { authuser?: string; code?: string; error?: string; error_description?: string; error_uri?: string; hd?: string; iss?: string; prompt?: string; scope?: string; session_state?: string; state?: string }; body: null; answer: null }
	"GET /auth/oidc/start": { path: {}; query: { org?: string; returnTo?: string }; body: null; answer: Started }
	"GET /auth/session": { path: {}; query: {}; body: null; answer: CurrentSession }
	"GET /auth/sessions": { path: {}; query: { cursor?: string; limit?: number }; body: null; answer: Sessions }
	"DELETE /auth/sessions/{id}": { path: { id: string }; query: {}; body: null; answer: null }
	"POST /auth/sign-in": { path: {}; query: {}; body: { org?: string; proof: Proof; userId?: string }; answer: SignedIn }
	"POST /auth/sign-out": { path: {}; query: {}; body: null; answer: null }
	"GET /host/directories": { path: {}; query: { cursor?: string; limit?: number }; body: null; answer: HostDirectories }
	"GET /host/plugins": { path: {}; query: { cursor?: string; limit?: number }; body: null; answer: HostPlugins }
	"GET /host/sinks": { path: {}; query: { cursor?: string; limit?: number }; body: null; answer: HostSinks }
	"GET /openapi.json": { path: {}; query: {}; body: null; answer: unknown }
	"GET /orgs": { path: {}; query: { cursor?: string; limit?: number }; body: null; answer: OrgSummaries }
	"POST /orgs": { path: {}; query: {}; body: { id?: string | null; name: string; ownerUserId: string }; answer: OrgCreated }
	"GET /orgs/{org}": { path: { org: string }; query: {}; body: null; answer: OrgAnswer }
	"PATCH /orgs/{org}": { path: { org: string }; query: {}; body: { name?: string | null; primaryApplication?: string | null }; answer: OrgAnswer }
	"GET /orgs/{org}/api-keys": { path: { org: string }; query: { cursor?: string; kind?: "admin" | "principal" | "publisher"; limit?: number; revoked?: boolean }; body: null; answer: ApiKeys }
	"POST /orgs/{org}/api-keys": { path: { org: string }; query: {}; body: { expiresAt?: number | null; kind: string; name: string; namespace?: string | null; serviceId?: string | null }; answer: IssuedKey }
	"DELETE /orgs/{org}/api-keys/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/api-keys/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: ApiKey }
	"POST /orgs/{org}/api-keys/{id}/rotate": { path: { id: string; org: string }; query: {}; body: { overlapMs?: number | null }; answer: IssuedKey }
	"GET /orgs/{org}/applications": { path: { org: string }; query: { cursor?: string; limit?: number; state?: "registered" | "linked" | "federated" }; body: null; answer: ApplicationList }
	"POST /orgs/{org}/applications": { path: { org: string }; query: {}; body: { id: string; name: string; namespaces: Array<string> }; answer: ApplicationAnswer }
	"DELETE /orgs/{org}/applications/{app}": { path: { app: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/applications/{app}": { path: { app: string; org: string }; query: {}; body: null; answer: ApplicationAnswer }
	"GET /orgs/{org}/applications/{app}/ancestors": { path: { app: string; org: string }; query: { scope: string }; body: null; answer: Ancestors }
	"GET /orgs/{org}/applications/{app}/audit": { path: { app: string; org: string }; query: { action?: string; actor?: string; cursor?: string; details?: "short" | "whole"; from?: number; limit?: number; mode?: "recent" | "export"; subject?: string; target?: string; to?: number }; body: null; answer: AuditEvents }
	"POST /orgs/{org}/applications/{app}/audit-optin": { path: { app: string; org: string }; query: {}; body: { optIn: boolean }; answer: ApplicationAnswer }
	"GET /orgs/{org}/applications/{app}/audit/verify": { path: { app: string; org: string }; query: { at?: number; cursor?: string; hash?: string; id?: string; limit?: number }; body: null; answer: VerifiedPart }
	"GET /orgs/{org}/applications/{app}/audit/{id}": { path: { app: string; id: string; org: string }; query: { at: number }; body: null; answer: AuditAnswer }
	"GET /orgs/{org}/applications/{app}/catalog": { path: { app: string; org: string }; query: {}; body: null; answer: AppCatalog }
	"POST /orgs/{org}/applications/{app}/demote": { path: { app: string; org: string }; query: {}; body: { dryRun?: boolean }; answer: Demoted }
	"GET /orgs/{org}/applications/{app}/entitlements": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; userId?: string }; body: null; answer: Entitlements }
	"POST /orgs/{org}/applications/{app}/federate": { path: { app: string; org: string }; query: {}; body: { dryRun?: boolean; fingerprint?: string; resolutions?: Record<string, Resolution> }; answer: Federated }
	"GET /orgs/{org}/applications/{app}/grants": { path: { app: string; org: string }; query: { actor?: string; createdFrom?: number; createdTo?: number; cursor?: string; expires?: boolean; expiresFrom?: number; expiresTo?: number; limit?: number; order?: "id" | "-createdAt" | "expiresAt"; pattern?: string; roleId?: string; scope?: string; subject?: string }; body: null; answer: AppGrants }
	"POST /orgs/{org}/applications/{app}/grants": { path: { app: string; org: string }; query: {}; body: { expiresAt?: number | null; pattern?: string | null; roleId?: string | null; scope?: string | null; subject: string }; answer: AppGrant }
	"GET /orgs/{org}/applications/{app}/grants/count": { path: { app: string; org: string }; query: { roleId?: string; scope?: string; subject?: string }; body: null; answer: Count }
	"DELETE /orgs/{org}/applications/{app}/grants/{id}": { path: { app: string; id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/applications/{app}/grants/{id}": { path: { app: string; id: string; org: string }; query: {}; body: null; answer: AppGrant }
	"POST /orgs/{org}/applications/{app}/ingest-audit": { path: { app: string; org: string }; query: {}; body: null; answer: Result2 }
	"POST /orgs/{org}/applications/{app}/link": { path: { app: string; org: string }; query: {}; body: { relayUrl: string }; answer: Linked }
	"GET /orgs/{org}/applications/{app}/mesh": { path: { app: string; org: string }; query: {}; body: null; answer: AppMesh }
	"POST /orgs/{org}/applications/{app}/probe": { path: { app: string; org: string }; query: {}; body: null; answer: HealthAnswer }
	"POST /orgs/{org}/applications/{app}/publish": { path: { app: string; org: string }; query: {}; body: { document: unknown; expectedVersion?: number | null }; answer: Result }
	"GET /orgs/{org}/applications/{app}/requests": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; requesterUserId?: string; state?: "pending" | "approved" | "denied" | "cancelled" }; body: null; answer: AppRequests }
	"GET /orgs/{org}/applications/{app}/revokes": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; scope?: string; userId?: string }; body: null; answer: AppRevokes }
	"POST /orgs/{org}/applications/{app}/revokes": { path: { app: string; org: string }; query: {}; body: { pattern: string; scope?: string | null; userId: string }; answer: AppRevoke }
	"GET /orgs/{org}/applications/{app}/revokes/count": { path: { app: string; org: string }; query: { scope?: string; userId?: string }; body: null; answer: Count }
	"DELETE /orgs/{org}/applications/{app}/revokes/{id}": { path: { app: string; id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/applications/{app}/revokes/{id}": { path: { app: string; id: string; org: string }; query: {}; body: null; answer: AppRevoke }
	"GET /orgs/{org}/applications/{app}/scopes": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; parent?: string; q?: string }; body: null; answer: AppScopes }
	"GET /orgs/{org}/applications/{app}/sod-violations": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; userId?: string }; body: null; answer: SodViolations }
	"POST /orgs/{org}/applications/{app}/unlink": { path: { app: string; org: string }; query: {}; body: null; answer: ApplicationAnswer }
	"GET /orgs/{org}/applications/{app}/usage/{dimension}": { path: { app: string; dimension: string; org: string }; query: { ids?: Array<string>; since?: number; until?: number }; body: null; answer: Usage }
	"GET /orgs/{org}/applications/{app}/wildcard-drift": { path: { app: string; org: string }; query: { cursor?: string; limit?: number; since: number }; body: null; answer: WildcardDrift }
	"GET /orgs/{org}/audit": { path: { org: string }; query: { action?: string; actor?: string; cursor?: string; details?: "short" | "whole"; from?: number; limit?: number; mode?: "recent" | "export"; subject?: string; target?: string; to?: number }; body: null; answer: AuditEvents }
	"GET /orgs/{org}/audit/{id}": { path: { id: string; org: string }; query: { at: number }; body: null; answer: AuditAnswer }
	"PUT /orgs/{org}/billing/caps/{dimension}": { path: { dimension: string; org: string }; query: {}; body: { cap?: number | null }; answer: Dimension }
	"GET /orgs/{org}/billing/usage": { path: { org: string }; query: {}; body: null; answer: Usage2 }
	"GET /orgs/{org}/changes": { path: { org: string }; query: { application?: string }; body: null; answer: null }
	"POST /orgs/{org}/evaluate": { path: { org: string }; query: {}; body: { fresh?: boolean; key: Array<string>; principal?: Principal | null; scope?: string }; answer: Evaluated }
	"GET /orgs/{org}/me": { path: { org: string }; query: {}; body: null; answer: MeAnswer }
	"GET /orgs/{org}/me/explain": { path: { org: string }; query: { key: string; scope: string }; body: null; answer: OwnExplanation }
	"GET /orgs/{org}/org/audit": { path: { org: string }; query: { action?: string; actor?: string; cursor?: string; details?: "short" | "whole"; from?: number; limit?: number; mode?: "recent" | "export"; subject?: string; target?: string; to?: number }; body: null; answer: AuditEvents }
	"GET /orgs/{org}/org/audit/verify": { path: { org: string }; query: { at?: number; cursor?: string; hash?: string; id?: string; limit?: number }; body: null; answer: VerifiedPart }
	"GET /orgs/{org}/org/audit/{id}": { path: { id: string; org: string }; query: { at: number }; body: null; answer: AuditAnswer }
	"GET /orgs/{org}/org/catalog": { path: { org: string }; query: {}; body: null; answer: Catalogs }
	"GET /orgs/{org}/org/entitlements": { path: { org: string }; query: { cursor?: string; limit?: number; userId?: string }; body: null; answer: Entitlements }
	"GET /orgs/{org}/org/epoch": { path: { org: string }; query: {}; body: null; answer: Epoch }
	"GET /orgs/{org}/org/explain": { path: { org: string }; query: { key: string; scope: string; serviceId?: string; userId?: string }; body: null; answer: Explained }
	"GET /orgs/{org}/org/grants": { path: { org: string }; query: { actor?: string; createdFrom?: number; createdTo?: number; cursor?: string; expires?: boolean; expiresFrom?: number; expiresTo?: number; homes?: "all"; limit?: number; order?: "id" | "-createdAt" | "expiresAt"; pattern?: string; roleId?: string; scope?: string; subject?: string }; body: null; answer: Grants }
	"POST /orgs/{org}/org/grants": { path: { org: string }; query: {}; body: { expiresAt?: number | null; pattern?: string | null; roleId?: string | null; scope?: string | null; subject: string }; answer: HomedGrant2 }
	"POST /orgs/{org}/org/grants/bulk": { path: { org: string }; query: {}; body: { grants: Array<GrantInput> }; answer: HomedGrants }
	"POST /orgs/{org}/org/grants/change": { path: { org: string }; query: {}; body: { application?: string; create?: Array<GrantInput>; delete?: Array<string>; expire?: Array<GrantExpiry> }; answer: HomedGrants }
	"GET /orgs/{org}/org/grants/count": { path: { org: string }; query: { roleId?: string; scope?: string; subject?: string }; body: null; answer: Count }
	"DELETE /orgs/{org}/org/grants/{id}": { path: { id: string; org: string }; query: { application?: string }; body: null; answer: null }
	"GET /orgs/{org}/org/grants/{id}": { path: { id: string; org: string }; query: { application?: string }; body: null; answer: HomedGrant2 }
	"GET /orgs/{org}/org/groups": { path: { org: string }; query: { cursor?: string; limit?: number; q?: string }; body: null; answer: Groups }
	"POST /orgs/{org}/org/groups": { path: { org: string }; query: {}; body: { description?: string; id?: string | null; name: string; parents?: Array<string> }; answer: GroupAnswer }
	"DELETE /orgs/{org}/org/groups/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/org/groups/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: GroupAnswer }
	"PATCH /orgs/{org}/org/groups/{id}": { path: { id: string; org: string }; query: {}; body: { description?: string | null; name?: string | null }; answer: GroupAnswer }
	"POST /orgs/{org}/org/groups/{id}/dissolve": { path: { id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/org/groups/{id}/members": { path: { id: string; org: string }; query: { cursor?: string; limit?: number }; body: null; answer: Members }
	"GET /orgs/{org}/org/groups/{id}/members/count": { path: { id: string; org: string }; query: {}; body: null; answer: Count }
	"PUT /orgs/{org}/org/groups/{id}/parents": { path: { id: string; org: string }; query: {}; body: { parents: Array<string> }; answer: GroupAnswer }
	"POST /orgs/{org}/org/plan": { path: { org: string }; query: {}; body: { application?: string; with?: Supposed; without?: Array<string> }; answer: Impact }
	"GET /orgs/{org}/org/reporting-edges": { path: { org: string }; query: { cursor?: string; limit?: number }; body: null; answer: Edges }
	"GET /orgs/{org}/org/revokes": { path: { org: string }; query: { cursor?: string; homes?: "all"; limit?: number; scope?: string; userId?: string }; body: null; answer: Revokes }
	"POST /orgs/{org}/org/revokes": { path: { org: string }; query: {}; body: { pattern: string; scope?: string | null; userId: string }; answer: HomedRevoke2 }
	"GET /orgs/{org}/org/revokes/count": { path: { org: string }; query: { scope?: string; userId?: string }; body: null; answer: Count }
	"DELETE /orgs/{org}/org/revokes/{id}": { path: { id: string; org: string }; query: { application?: string }; body: null; answer: null }
	"GET /orgs/{org}/org/revokes/{id}": { path: { id: string; org: string }; query: { application?: string }; body: null; answer: HomedRevoke2 }
	"GET /orgs/{org}/org/roles": { path: { org: string }; query: { cursor?: string; limit?: number; q?: string }; body: null; answer: Roles }
	"POST /orgs/{org}/org/roles": { path: { org: string }; query: {}; body: { description?: string; id?: string | null; name: string; patterns: Array<string>; requestable?: Requestable | null }; answer: RoleAnswer }
	"DELETE /orgs/{org}/org/roles/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/org/roles/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: RoleAnswer }
	"PATCH /orgs/{org}/org/roles/{id}": { path: { id: string; org: string }; query: {}; body: { description?: string | null; name?: string | null; patterns?: Array<string> | null; requestable?: Requestable | null }; answer: RoleAnswer }
	"DELETE /orgs/{org}/org/scopes/{scope}": { path: { org: string; scope: string }; query: {}; body: null; answer: CleanupResult }
	"GET /orgs/{org}/org/sod-violations": { path: { org: string }; query: { cursor?: string; limit?: number; userId?: string }; body: null; answer: SodViolations }
	"GET /orgs/{org}/org/subject-access": { path: { org: string }; query: { serviceId?: string; userId?: string }; body: null; answer: SubjectAccess }
	"DELETE /orgs/{org}/org/subjects/{subject}": { path: { org: string; subject: string }; query: {}; body: null; answer: Deleted }
	"GET /orgs/{org}/org/users": { path: { org: string }; query: { active?: boolean; cursor?: string; limit?: number; q?: string }; body: null; answer: Users }
	"GET /orgs/{org}/org/users/{id}": { path: { id: string; org: string }; query: {}; body: null; answer: UserAnswer }
	"PUT /orgs/{org}/org/users/{id}/active": { path: { id: string; org: string }; query: {}; body: { active: boolean }; answer: User }
	"DELETE /orgs/{org}/org/users/{id}/groups/{groupId}": { path: { groupId: string; id: string; org: string }; query: {}; body: null; answer: null }
	"PUT /orgs/{org}/org/users/{id}/groups/{groupId}": { path: { groupId: string; id: string; org: string }; query: {}; body: null; answer: null }
	"PUT /orgs/{org}/org/users/{id}/manager": { path: { id: string; org: string }; query: {}; body: { managerUserId?: string | null }; answer: ManagerAnswer }
	"PUT /orgs/{org}/org/users/{id}/membership": { path: { id: string; org: string }; query: {}; body: { groupIds: Array<string> }; answer: MembershipAnswer }
	"GET /orgs/{org}/org/what-can": { path: { org: string }; query: { application?: string; cursor?: string; limit?: number; scope?: string; serviceId?: string; userId?: string }; body: null; answer: HeldKeys }
	"GET /orgs/{org}/org/where-can": { path: { org: string }; query: { cursor?: string; key: string; limit?: number; serviceId?: string; userId?: string }; body: null; answer: HeldScopes }
	"GET /orgs/{org}/org/who-can": { path: { org: string }; query: { cursor?: string; key: string; limit?: number; scope?: string }; body: null; answer: Holders }
	"GET /orgs/{org}/org/wildcard-drift": { path: { org: string }; query: { cursor?: string; limit?: number; since: number }; body: null; answer: WildcardDrift }
	"GET /orgs/{org}/registry": { path: { org: string }; query: { cursor?: string; limit?: number }; body: null; answer: Namespaces }
	"GET /orgs/{org}/registry/drift": { path: { org: string }; query: {}; body: null; answer: Drift }
	"GET /orgs/{org}/registry/{ns}": { path: { ns: string; org: string }; query: {}; body: null; answer: Namespace }
	"GET /orgs/{org}/registry/{ns}/document": { path: { ns: string; org: string }; query: { version?: number }; body: null; answer: unknown }
	"GET /orgs/{org}/requests": { path: { org: string }; query: { application?: string; cursor?: string; decided?: "0" | "1"; from?: number; limit?: number; mine?: "0" | "1"; requesterUserId?: string; state?: "pending" | "approved" | "denied" | "cancelled"; to?: number }; body: null; answer: Inbox }
	"POST /orgs/{org}/requests": { path: { org: string }; query: {}; body: { justification?: Record<string, string>; pattern?: string | null; proposedExpiresAt?: number | null; roleId?: string | null; scope?: string | null }; answer: Entry }
	"GET /orgs/{org}/requests/queue": { path: { org: string }; query: { cursor?: string; limit?: number }; body: null; answer: Inbox }
	"GET /orgs/{org}/requests/queue/count": { path: { org: string }; query: {}; body: null; answer: QueueCount }
	"GET /orgs/{org}/requests/{id}": { path: { id: string; org: string }; query: { application?: string }; body: null; answer: OneEntry }
	"POST /orgs/{org}/requests/{id}/cancel": { path: { id: string; org: string }; query: {}; body: { application?: string }; answer: Entry }
	"POST /orgs/{org}/requests/{id}/decide": { path: { id: string; org: string }; query: {}; body: { application?: string; decision: "approved" | "denied"; note?: string }; answer: Entry }
	"GET /orgs/{org}/retention": { path: { org: string }; query: { action?: string; actor?: string; application?: string; cursor?: string; from?: number; limit?: number; mode?: "recent" | "export"; target?: string; to?: number }; body: null; answer: Retained }
	"GET /orgs/{org}/retention/export": { path: { org: string }; query: { action?: string; actor?: string; application?: string; from?: number; mode?: "recent" | "export"; target?: string; to?: number }; body: null; answer: null }
	"GET /orgs/{org}/seats": { path: { org: string }; query: { cursor?: string; kind?: "owner" | "admin" | "portal"; limit?: number; q?: string; state?: "invited" | "active" | "removed" }; body: null; answer: Seats }
	"POST /orgs/{org}/seats": { path: { org: string }; query: {}; body: { displayName?: string | null; email?: string | null; kind?: string; userId: string }; answer: SeatAnswer }
	"DELETE /orgs/{org}/seats/{userId}": { path: { org: string; userId: string }; query: {}; body: null; answer: null }
	"GET /orgs/{org}/seats/{userId}": { path: { org: string; userId: string }; query: {}; body: null; answer: SeatAnswer }
	"PATCH /orgs/{org}/seats/{userId}": { path: { org: string; userId: string }; query: {}; body: { displayName?: string | null; email?: string | null; kind?: string | null }; answer: SeatAnswer }
	"DELETE /orgs/{org}/seats/{userId}/sessions": { path: { org: string; userId: string }; query: {}; body: null; answer: null }
	"POST /orgs/{org}/sync": { path: { org: string }; query: {}; body: { application?: string }; answer: Synced }
	"POST /orgs/{org}/view-as": { path: { org: string }; query: {}; body: { viewAs?: ViewAs | null }; answer: MeAnswer }
	"POST /registry/publish": { path: {}; query: {}; body: { document: unknown; expectedVersion?: number | null }; answer: Result }
}
