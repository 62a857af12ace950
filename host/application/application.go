package application

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Options says what an Application works on. Zero values take the defaults
// named.
type Options struct {
	// Name appears in logs.
	Name string

	// Catalog and Store are required. The caller keeps the store and closes it
	// after the application.
	Catalog *catalog.Catalog
	Store   storage.Store

	// Succeeds is the application, over the same store, whose place this one
	// takes because its authority moved. Listeners, the topology and the record
	// that writes are judged by are then one: whoever subscribed to either hears
	// what is written through either. The predecessor still answers; close it when
	// nothing new reaches it.
	Succeeds *Application

	// Ancestry answers the chains of scopes; nil answers every one empty.
	Ancestry Ancestry

	// OrgRoot is the first value of the stored authority, default true. Where
	// the store has records, the record system/authority decides once it is
	// there.
	OrgRoot *bool

	// PersistEvents keeps events in the log of the driver; the default is
	// whether the driver has one.
	PersistEvents  *bool
	EventRetention EventRetention

	// Metrics stores counts of checks; nil is off.
	Metrics *Metrics

	// HashChain links every new audit entry to the one before it.
	HashChain bool

	// GroupTopologyTTL bounds how long the map of group parents is kept, default
	// 30 s; a negative one keeps nothing.
	GroupTopologyTTL time.Duration

	// SoD says what becomes of the catalog's separation of duties.
	SoD SoD

	// Elsewhere says whether another member of a mesh has published what a pattern of the
	// organization names: of roles and of global rows, where this application's own
	// catalog does not know it. nil knows nothing.
	Elsewhere func(ctx context.Context, pattern string) (known bool, err error)

	// Log joins the application's own event log with those of partitions that take part
	// in its evaluation; nil leaves the own one.
	Log func(own provider.EventLog) provider.EventLog

	// Mesh tells of the mesh that the application is in; nil is none.
	Mesh func(ctx context.Context) (*provider.MeshView, error)

	// Guest is the member of the mesh that acts through this application; nil is the
	// partition's own process.
	Guest *Guest

	Clock  func() int64  // epoch milliseconds; default the wall clock
	IDs    func() string // ids of new rows and audit entries; default random UUIDs
	Logger hclog.Logger  // default none
}

// EventRetention bounds the event log; zero members take the defaults 7 days
// and 100,000 events.
type EventRetention struct {
	MaxAge  time.Duration
	MaxRows int64
}

// The defaults of Options.
const (
	DefaultGroupTopologyTTL = 30 * time.Second
	DefaultEventMaxAge      = 7 * 24 * time.Hour
	DefaultEventMaxRows     = 100_000
)

// Application is one application over its store. It implements
// provider.Provider; its methods may be called concurrently.
type Application struct {
	name       string
	catalog    *catalog.Catalog
	store      storage.Store
	judged     storage.Store // the same, for what writes judge themselves by
	caps       storage.Capabilities
	ancestry   Ancestry
	judgedBy   Ancestry // likewise
	flat       bool     // no ancestry source
	orgRoot    bool
	persist    bool
	retain     EventRetention
	metrics    *Metrics // nil is off
	vocabulary *compiled.Vocabulary
	duties     *compiled.SoD
	enforce    bool
	chained    bool
	guest      *Guest
	elsewhere  func(ctx context.Context, pattern string) (bool, error) // nil knows nothing
	mesh       func(ctx context.Context) (*provider.MeshView, error)
	joined     provider.EventLog // the log that readers follow; nil is the own one
	clock      func() int64
	ids        func() string
	log        hclog.Logger

	authority *atomic.Pointer[Authority]
	stream    *stream
	topology  *topology
	warned    sync.Map // scope types whose contradiction was logged

	appends        atomic.Int64
	pruning        atomic.Bool
	reports        atomic.Int64
	pruningMetrics atomic.Bool
	closing        sync.Mutex
	life           context.Context
	end            context.CancelFunc
	background     sync.WaitGroup
}

var (
	_ provider.Provider = (*Application)(nil)
	_ provider.Located  = (*Application)(nil)
)

// writesApart is a store whose reads for writes go on when nobody may be answered.
type writesApart interface{ ForWrites() storage.Store }

// New opens an application over o.Store. It refuses with CodeValidation what is
// malformed and with CodeUnsupported what the driver lacks; an outage is an
// *authz.UnavailableError.
func New(ctx context.Context, o Options) (*Application, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	caps := o.Store.Info().Capabilities
	vocabulary := compiled.NewVocabulary(o.Catalog)
	a := &Application{
		name: o.Name, catalog: o.Catalog, store: o.Store, caps: caps,
		ancestry: o.Ancestry, persist: caps.Has(storage.CapEvents), retain: o.EventRetention,
		metrics:    o.Metrics.filledIn(),
		vocabulary: vocabulary, duties: compiled.NewSoD(vocabulary), enforce: o.SoD.Enforce == SoDReject, chained: o.HashChain, guest: o.Guest, elsewhere: o.Elsewhere, mesh: o.Mesh,
		clock: o.Clock, ids: o.IDs, log: o.Logger,
	}
	if a.clock == nil {
		a.clock = func() int64 { return time.Now().UnixMilli() }
	}
	if a.ids == nil {
		a.ids = uuid.NewString
	}
	if a.log == nil {
		a.log = hclog.NewNullLogger()
	}
	if o.PersistEvents != nil {
		a.persist = *o.PersistEvents
	}
	if a.retain.MaxAge == 0 {
		a.retain.MaxAge = DefaultEventMaxAge
	}
	if a.retain.MaxRows == 0 {
		a.retain.MaxRows = DefaultEventMaxRows
	}
	ttl := o.GroupTopologyTTL
	if ttl == 0 {
		ttl = DefaultGroupTopologyTTL
	}
	if before := o.Succeeds; before != nil {
		a.authority, a.topology, a.stream = before.authority, before.topology, before.stream
	} else {
		a.authority = new(atomic.Pointer[Authority])
		a.topology = newTopology(ttl.Milliseconds(), a.clock, a.readTopology)
		a.stream = newStream(a.log, a.topology.hear)
	}
	if a.flat = a.ancestry == nil; a.flat {
		a.ancestry = noAncestry
		a.warnHierarchical()
	}
	a.judged, a.judgedBy = a.store, a.ancestry
	if s, ok := a.store.(writesApart); ok {
		a.judged = s.ForWrites()
	}
	if s, ok := a.ancestry.(*recorded); ok {
		a.ancestry, a.judgedBy = s.within(s.store, a.nestedElsewhere), s.within(s.store, a.nestedElsewhere)
		if s.store == storage.Ancestry(a.store) {
			a.judgedBy = s.within(a.judged, a.nestedElsewhere)
		}
	}
	if err := a.openAuthority(ctx, o.OrgRoot == nil || *o.OrgRoot); err != nil {
		return nil, err
	}
	a.orgRoot = a.authority.Load().OrgRoot
	if o.Log != nil && a.persist {
		a.joined = o.Log(eventLog{a.store, a.readFailed})
	}
	a.life, a.end = context.WithCancel(context.Background())
	return a, nil
}

// wholeMillis holds for what is at least 0 and is stored without a loss.
func wholeMillis(d time.Duration) bool { return d >= 0 && d%time.Millisecond == 0 }

func (o Options) validate() error {
	switch {
	case o.Catalog == nil:
		return authz.Validation("an application needs a catalog")
	case o.Store == nil:
		return authz.Validation("an application needs storage")
	case !wholeMillis(o.EventRetention.MaxAge):
		return authz.Validation("EventRetention.MaxAge must be whole milliseconds, 0 or more")
	case o.EventRetention.MaxRows < 0 || o.EventRetention.MaxRows > authz.MaxInstant:
		return authz.Validation("EventRetention.MaxRows must be 0 or more")
	case o.SoD.Enforce != "" && o.SoD.Enforce != SoDOff && o.SoD.Enforce != SoDReject:
		return authz.Validation("sod.enforce must be off or reject, not %s", spell.Quote(string(o.SoD.Enforce)))
	}
	caps := o.Store.Info().Capabilities
	if o.PersistEvents != nil && *o.PersistEvents && !caps.Has(storage.CapEvents) {
		return authz.Rejected(authz.CodeUnsupported,
			"events.persist requires a storage driver with the capability %q", storage.CapEvents)
	}
	if err := o.Metrics.validate(caps); err != nil {
		return err
	}
	if _, ok := o.Ancestry.(*recorded); ok && !caps.Has(storage.CapAncestry) {
		return authz.Rejected(authz.CodeUnsupported, "stored ancestry requires a storage driver with the capability %q", storage.CapAncestry)
	}
	return nil
}

// Close ends background work. Operations under way are not interrupted.
func (a *Application) Close() error {
	a.closing.Lock()
	a.end()
	a.closing.Unlock()
	a.background.Wait()
	return nil
}

// Name returns the name given at construction.
func (a *Application) Name() string { return a.name }

// Catalog returns the catalog that writes are checked against.
func (a *Application) Catalog() *catalog.Catalog { return a.catalog }

// OrgRoot is the authority found at construction; it is fixed for the life of
// the object. Gates follow the stored record, so an object that has not heard
// of a move refuses instead of writing.
func (a *Application) OrgRoot() bool { return a.orgRoot }

// HasEventLog reports whether events are persisted.
func (a *Application) HasEventLog() bool { return a.persist }

// HasStoredAncestry reports whether the driver can record parents of scopes.
func (a *Application) HasStoredAncestry() bool { return a.caps.Has(storage.CapAncestry) }

// HasImports reports whether the driver can store import manifests.
func (a *Application) HasImports() bool { return a.caps.Has(storage.CapImports) }

// Capabilities says what the application can do.
func (a *Application) Capabilities(ctx context.Context) (provider.Capabilities, error) {
	orgRoot, err := a.StoredOrgRoot(ctx)
	if err != nil {
		return provider.Capabilities{}, err
	}
	c := provider.Capabilities{OrgRoot: orgRoot, Requests: true, Audit: true, Metrics: a.HasMetrics(), Imports: a.HasImports()}
	for _, t := range a.catalog.ScopeTypes() {
		c.MultiParent = c.MultiParent || t.MultiParent
	}
	c.Reporting, err = a.anyManager(ctx)
	if err != nil {
		return provider.Capabilities{}, a.readFailed("capabilities", err)
	}
	return c, nil
}

func (a *Application) warnHierarchical() {
	var nested []string
	for _, t := range a.catalog.ScopeTypes() {
		if t.Parent != "" || t.MultiParent {
			nested = append(nested, t.Type)
		}
	}
	if len(nested) > 0 {
		a.log.Warn("the catalog declares hierarchical scope types but no ancestry is configured: "+
			"revokes at a parent will not reach its descendants", "types", strings.Join(nested, ", "))
	}
}
