package storage

import (
	"context"
	"iter"

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
	CapRecords    Capability = "records"    // records, RequireRecord
	CapWatch      Capability = "watch"      // Watch
)

// AllCapabilities lists every capability in the order of the table
// (spec: storage §6).
var AllCapabilities = Capabilities{
	CapEvents, CapHistory, CapImports, CapMetrics, CapBatchRoles, CapExpand, CapAncestry, CapAncestors, CapRecords, CapWatch,
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

func (Unimplemented) GetRecord(context.Context, string, string) (Record, bool, error) {
	return Record{}, false, Unsupported(CapRecords)
}

func (Unimplemented) ListRecords(context.Context, string, RecordFilter, Page) iter.Seq2[Record, error] {
	return refused[Record](CapRecords)
}

func refused[T any](c Capability) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), Unsupported(c)) }
}
