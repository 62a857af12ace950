package storage

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// Capability names a group of optional operations. A group is present as a whole
// or not at all; the operations of an absent group answer CodeUnsupported.
type Capability string

// The capabilities and the operations each one carries.
const (
	CapEvents     Capability = "events"     // Head, EventsSince, PruneEvents, events in commits
	CapHistory    Capability = "history"    // GetCatalogVersion, ListCatalogVersions
	CapImports    Capability = "imports"    // PutImports, GetImports
	CapMetrics    Capability = "metrics"    // RecordMetrics, ReadMetrics, PruneMetrics
	CapBatchRoles Capability = "batchRoles" // GetRoles
	CapExpand     Capability = "expand"     // ReadAccess with Expand
	CapAncestry   Capability = "ancestry"   // scope parents
	CapAncestors  Capability = "ancestors"  // ReadAccess with Scope; needs CapAncestry
	CapLookups    Capability = "lookups"    // ListScopes, ListEdges, ListGrantsAt, FindGrants, ListUserIDs, ReadPeople; needs CapAncestry
	CapRecords    Capability = "records"    // records, RequireRecord
	CapWatch      Capability = "watch"      // Watch
	CapRenewal    Capability = "renewal"    // Renew
	CapHealth     Capability = "health"     // Health

	// CapAuditSubjects is ListAudit with Subject. A plugin that was built before it would
	// not know the member, and is never asked.
	CapAuditSubjects Capability = "auditSubjects"
)

// AllCapabilities lists every capability in the order of the table
// (spec: storage §6).
var AllCapabilities = Capabilities{
	CapEvents, CapHistory, CapImports, CapMetrics, CapBatchRoles, CapExpand, CapAncestry, CapAncestors, CapLookups, CapRecords, CapAuditSubjects,
	CapWatch, CapRenewal, CapHealth,
}

// Capabilities is the set that a store declares.
type Capabilities []Capability

// Has reports whether the set holds c.
func (s Capabilities) Has(c Capability) bool {
	for _, have := range s {
		if have == c {
			return true
		}
	}
	return false
}

// Optional is the union of the optional operations, a group for each capability.
type Optional interface {
	EventLog
	Watcher
	History
	Imports
	Metrics
	BatchRoles
	Ancestry
	Lookups
	Records
	Renewer
	HealthReporter
}

// History (CapHistory) keeps the versions of the published catalog.
type History interface {
	// GetCatalogVersion returns a retained version.
	GetCatalogVersion(ctx context.Context, version int64) (row CatalogVersion, found bool, err error)

	// ListCatalogVersions lists retained versions ascending, without their documents.
	ListCatalogVersions(ctx context.Context) iter.Seq2[CatalogVersion, error]
}

// Imports (CapImports) keeps the published import manifest.
type Imports interface {
	GetImports(ctx context.Context) (row ImportsHead, found bool, err error)
}

// CatalogVersion is one retained publication. Lists leave Document out.
type CatalogVersion struct {
	Version     int64
	Document    json.RawMessage
	PublishedAt int64
}

// ImportsHead is the published import manifest.
type ImportsHead struct {
	Version  int64
	Manifest json.RawMessage
}

// BatchRoles (CapBatchRoles) reads several roles at once.
type BatchRoles interface {
	// GetRoles returns the rows found, each once, in any order.
	GetRoles(ctx context.Context, ids []string) ([]authz.Role, error)
}

// EventLog (CapEvents) reads the numbered log of invalidation events. Numbers are
// contiguous from 1 in each partition, and each event has an identity beside its
// number.
type EventLog interface {
	// Head is the newest event, the zero authz.Position when none was ever written. Its
	// number never falls while the content is the same.
	Head(ctx context.Context) (authz.Position, error)

	// EventsSince returns at most limit events after a position, oldest first, and
	// stops before the first missing number. limit <= 0 gives an empty page.
	EventsSince(ctx context.Context, after authz.Position, limit int) (EventPage, error)

	// PruneEvents raises the pruned-through mark, which keeps the identity of the
	// event that it stands on, then deletes up to it, and returns how many events
	// it deleted.
	PruneEvents(ctx context.Context, p PruneEvents) (int64, error)
}

// Watcher (CapWatch) hears of movements of the event log.
type Watcher interface {
	// Watch yields the number of the current head at once and of a head
	// at least as new after every movement, coalesced. It is a hint. The sequence
	// ends with the context.
	Watch(ctx context.Context) iter.Seq2[int64, error]
}

// EventPage is a page of the event log. UpTo is the last event returned, or the
// position asked for. Gap reports that events after the position have been pruned.
// Reset reports that the position is not of this log: it has an identity, and
// that number is another event's or lies above the head. With either the other
// members are zero.
type EventPage struct {
	UpTo   authz.Position
	Events []authz.Event
	Gap    bool
	Reset  bool
}

// PruneEvents says what may go: events before Before (strictly), and all but
// the newest KeepRows. Nil members are absent.
type PruneEvents struct {
	Before   *int64
	KeepRows *int64
}

// Metrics (CapMetrics) keeps counters that accumulate over reports and hosts.
type Metrics interface {
	// RecordMetrics adds to the counters; a negative delta refuses the batch.
	RecordMetrics(ctx context.Context, deltas []MetricBucket) error
	ReadMetrics(ctx context.Context, f MetricFilter) iter.Seq2[MetricBucket, error]

	// PruneMetrics deletes buckets that start before the instant.
	PruneMetrics(ctx context.Context, before int64) (int64, error)
}

// MetricBucket is one counter: all members but Count are its key.
type MetricBucket struct {
	Bucket    int64
	Dimension string
	Subject   string
	Metric    string
	Count     int64
}

// MetricFilter selects counters. Dimension is required; a nil Subjects is
// absent, an empty one selects nothing; Since is inclusive, Until exclusive.
type MetricFilter struct {
	Dimension string
	Subjects  []string
	Since     *int64
	Until     *int64
}

// MaxScopes bounds one question for scope parents; more is CodeTooLarge.
const MaxScopes = 1000

// Ancestry (CapAncestry) keeps recorded parent edges of scopes.
type Ancestry interface {
	// GetScopeParents answers for at most MaxScopes scopes. A scope never recorded
	// is missing from the result; a recorded root maps to an empty list.
	GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error)
}

// Records (CapRecords) is a small area of versioned documents.
type Records interface {
	GetRecord(ctx context.Context, collection, id string) (row Record, found bool, err error)

	// ListRecords lists a collection by id.
	ListRecords(ctx context.Context, collection string, f RecordFilter, p Page) iter.Seq2[Record, error]
}

// Record is a versioned document, at most 1 MiB, with up to four index strings.
// Versions count from 1.
type Record struct {
	Collection string
	ID         string
	Version    int64
	Data       json.RawMessage
	Keys       [4]string // "" is no index string
	UpdatedAt  int64
}

// RecordFilter selects records by one index string. Index counts from 1; 0
// means no filter.
type RecordFilter struct {
	Index int
	Value string
}

// Renewer (CapRenewal) gives the content of a store a new incarnation: what belongs to
// every restore from a backup, so that no host takes what came back for what it had
// open. Handles that are open keep the incarnation that they found; whoever opens
// the partition afterwards finds the new one.
type Renewer interface {
	// Renew gives the content a new incarnation. One that is not expect's is
	// CodeConflict: somebody else gave it one already. "" expects nothing.
	Renew(ctx context.Context, expect string) (incarnation string, err error)
}

// HealthReporter (CapHealth) tells how the database of a store is. It is asked twice a
// second, so it reads no row and waits for nobody.
type HealthReporter interface {
	// Health looks now. An error with Lost says that the content which was open is
	// gone or another one; any other that it cannot be told.
	Health(ctx context.Context) (Health, error)
}

// Health is how a database is.
type Health struct {
	// ClockAhead is by how much the database's clock is ahead of this machine's, as it
	// was measured last; negative is behind. nil is not known, or a database without a
	// clock of its own.
	ClockAhead *time.Duration
}

// Unimplemented refuses every optional operation. A store embeds it, and has the
// operations of the capabilities that it declares.
type Unimplemented struct{}

func (Unimplemented) Head(context.Context) (authz.Position, error) {
	return authz.Position{}, Unsupported(CapEvents)
}

func (Unimplemented) EventsSince(context.Context, authz.Position, int) (EventPage, error) {
	return EventPage{}, Unsupported(CapEvents)
}

func (Unimplemented) PruneEvents(context.Context, PruneEvents) (int64, error) {
	return 0, Unsupported(CapEvents)
}

func (Unimplemented) Watch(context.Context) iter.Seq2[int64, error] {
	return refused[int64](CapWatch)
}

func (Unimplemented) GetCatalogVersion(context.Context, int64) (CatalogVersion, bool, error) {
	return CatalogVersion{}, false, Unsupported(CapHistory)
}

func (Unimplemented) ListCatalogVersions(context.Context) iter.Seq2[CatalogVersion, error] {
	return refused[CatalogVersion](CapHistory)
}

func (Unimplemented) GetImports(context.Context) (ImportsHead, bool, error) {
	return ImportsHead{}, false, Unsupported(CapImports)
}

func (Unimplemented) RecordMetrics(context.Context, []MetricBucket) error {
	return Unsupported(CapMetrics)
}

func (Unimplemented) ReadMetrics(context.Context, MetricFilter) iter.Seq2[MetricBucket, error] {
	return refused[MetricBucket](CapMetrics)
}

func (Unimplemented) PruneMetrics(context.Context, int64) (int64, error) {
	return 0, Unsupported(CapMetrics)
}

func (Unimplemented) GetRoles(context.Context, []string) ([]authz.Role, error) {
	return nil, Unsupported(CapBatchRoles)
}

func (Unimplemented) GetScopeParents(context.Context, []string) (map[string][]string, error) {
	return nil, Unsupported(CapAncestry)
}

func (Unimplemented) ListScopes(context.Context, Page) iter.Seq2[string, error] {
	return refused[string](CapLookups)
}

func (Unimplemented) ListEdges(context.Context, EdgeKind, []string, EdgePage) iter.Seq2[Edge, error] {
	return refused[Edge](CapLookups)
}

func (Unimplemented) ListGrantsAt(context.Context, []string, GrantsAtPage) iter.Seq2[authz.Grant, error] {
	return refused[authz.Grant](CapLookups)
}

func (Unimplemented) FindGrants(context.Context, authz.GrantSearch, FoundPage) iter.Seq2[authz.Grant, error] {
	return refused[authz.Grant](CapLookups)
}

func (Unimplemented) ListUserIDs(context.Context, string, Page) iter.Seq2[string, error] {
	return refused[string](CapLookups)
}

func (Unimplemented) ReadPeople(context.Context, PeopleQuery) (People, error) {
	return People{}, Unsupported(CapLookups)
}

func (Unimplemented) GetRecord(context.Context, string, string) (Record, bool, error) {
	return Record{}, false, Unsupported(CapRecords)
}

func (Unimplemented) ListRecords(context.Context, string, RecordFilter, Page) iter.Seq2[Record, error] {
	return refused[Record](CapRecords)
}

func (Unimplemented) Renew(context.Context, string) (string, error) {
	return "", Unsupported(CapRenewal)
}

func (Unimplemented) Health(context.Context) (Health, error) {
	return Health{}, Unsupported(CapHealth)
}

func refused[T any](c Capability) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), Unsupported(c)) }
}
