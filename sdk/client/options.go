package client

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Source is what a client needs of a provider.
type Source interface {
	provider.Supply
	provider.Invalidation

	// ListRoles lists roles by id; sessions that preview a role read it.
	ListRoles(ctx context.Context, p provider.Paging) iter.Seq2[authz.Role, error]
}

// Options configures a client. Provider and Catalog are required; a nil member
// means its default, a pointer at zero means zero.
type Options struct {
	Provider Source
	Catalog  *catalog.Catalog

	// SubjectCacheTTL (30 s) and ObjectCacheTTL (60 s) bound how long a closure
	// and a chain are served without a renewal. Zero never serves one.
	SubjectCacheTTL *time.Duration
	ObjectCacheTTL  *time.Duration

	// MaxSubjectCacheEntries and MaxObjectCacheEntries (10,000 each) bound the
	// caches; the least recently used entry goes first. Zero keeps nothing.
	MaxSubjectCacheEntries *int
	MaxObjectCacheEntries  *int

	// RevalidateAfter (5 s) is how long one look at the provider's event log
	// vouches for all entries; a provider without a log is never asked. Negative
	// turns it off: entries then live for their TTL.
	RevalidateAfter *time.Duration

	// RevalidateTimeout (500 ms) is how long checks wait for that look. It goes on
	// without them; until it ends the log counts as unreadable: entries serve until
	// they lapse.
	RevalidateTimeout *time.Duration

	// CacheStore is a cache that several processes share; nil shares nothing. A
	// source whose event log is composite (provider.Location) is never shared.
	CacheStore CacheStore

	// CacheKeyPrefix begins the keys in CacheStore, before the incarnation of
	// the event log. "" names the catalog's namespaces and the partition; set
	// it where deployments with one catalog use one store.
	CacheKeyPrefix string

	// CacheStoreTTL is how long CacheStore keeps an entry. Zero means 10 min
	// with revalidation, else the larger of the two TTLs.
	CacheStoreTTL time.Duration

	// CacheStoreTimeout bounds one read of CacheStore; a slower one is a miss.
	// Zero means 250 ms.
	CacheStoreTimeout time.Duration

	// OnCacheStoreError hears of what went wrong with CacheStore, always a
	// *CacheStoreError; no check ever fails of it. It is called concurrently
	// and must not block. Nil ignores them.
	OnCacheStoreError func(error)

	// Strict makes every check behave as CanFresh. It is meant as an incident
	// switch.
	Strict bool

	// External says what happens to names in a namespace that the catalog
	// neither owns nor imports; "" is ExternalError.
	External ExternalPolicy

	// OnExternal hears of each such name once under ExternalWarn. Nil ignores
	// them.
	OnExternal func(ExternalPermission)

	// UnknownScopeTypes says what happens to questions at a scope of a type that the
	// catalog does not declare; "" is ScopeTypeAnswer. Programs that own their catalog
	// want ScopeTypeError: it tells a typo from a denial.
	UnknownScopeTypes ScopeTypePolicy

	// OnUnknownScopeType hears of each such type once under ScopeTypeAnswer, and must not
	// block. Nil logs it as a warning with slog's default logger.
	OnUnknownScopeType func(UnknownScopeType)

	// Metrics has checks observed; nil observes nothing and costs nothing.
	Metrics *metrics.RecorderOptions

	// Statistics counts the caches' hits and misses, which costs a check a few
	// nanoseconds.
	Statistics bool

	// Clock answers epoch milliseconds; nil is the wall clock.
	Clock func() int64
}

// ExternalPolicy says how names of foreign namespaces are treated.
type ExternalPolicy string

// The policies for names of foreign namespaces.
const (
	ExternalError ExternalPolicy = "error" // raise UnknownPermissionError
	ExternalWarn  ExternalPolicy = "warn"  // report once, evaluate
	ExternalAllow ExternalPolicy = "allow" // evaluate
)

// ExternalPermission is a name that a check let through under ExternalWarn.
type ExternalPermission struct {
	Permission string
	Expected   authz.Expected
	Namespace  string
	Shape      string
}

type settings struct {
	subjectTTL, objectTTL   int64
	maxSubjects, maxObjects int
	revalidateAfter         int64
	revalidateTimeout       time.Duration
	revalidate, strict      bool
	shared                  sharedSettings
	external                ExternalPolicy
	onExternal              func(ExternalPermission)
	unknownScopeTypes       ScopeTypePolicy
	onUnknownScopeType      func(UnknownScopeType)
}

func (o Options) settings() (settings, error) {
	s := settings{strict: o.Strict, external: o.External, onExternal: o.OnExternal,
		unknownScopeTypes: o.UnknownScopeTypes, onUnknownScopeType: o.OnUnknownScopeType}
	if o.Provider == nil || o.Catalog == nil {
		return s, fmt.Errorf("client: Options.Provider and Options.Catalog are required")
	}
	var err error
	duration := func(name string, d *time.Duration, fallback time.Duration) int64 {
		if d == nil {
			d = &fallback
		}
		if *d < 0 && err == nil {
			err = fmt.Errorf("client: Options.%s must not be negative: %v", name, *d)
		}
		if err == nil {
			err = wholeMillis(name, *d)
		}
		return d.Milliseconds()
	}
	count := func(name string, n *int) int {
		if n == nil {
			return 10_000
		}
		if *n < 0 && err == nil {
			err = fmt.Errorf("client: Options.%s must not be negative: %d", name, *n)
		}
		return *n
	}
	s.subjectTTL = duration("SubjectCacheTTL", o.SubjectCacheTTL, 30*time.Second)
	s.objectTTL = duration("ObjectCacheTTL", o.ObjectCacheTTL, 60*time.Second)
	s.maxSubjects = count("MaxSubjectCacheEntries", o.MaxSubjectCacheEntries)
	s.maxObjects = count("MaxObjectCacheEntries", o.MaxObjectCacheEntries)
	s.revalidateAfter = (5 * time.Second).Milliseconds()
	s.revalidateTimeout = time.Duration(duration("RevalidateTimeout", o.RevalidateTimeout, 500*time.Millisecond)) * time.Millisecond
	s.revalidate = o.Provider.EventLog() != nil
	if o.RevalidateAfter != nil {
		if err == nil && *o.RevalidateAfter >= 0 {
			err = wholeMillis("RevalidateAfter", *o.RevalidateAfter)
		}
		s.revalidateAfter = o.RevalidateAfter.Milliseconds()
		s.revalidate = s.revalidate && *o.RevalidateAfter >= 0
	}
	switch s.external {
	case "":
		s.external = ExternalError
	case ExternalError, ExternalWarn, ExternalAllow:
	default:
		return s, fmt.Errorf("client: Options.External must be error, warn or allow: %q", s.external)
	}
	switch s.unknownScopeTypes {
	case "":
		s.unknownScopeTypes = ScopeTypeAnswer
	case ScopeTypeAnswer, ScopeTypeError:
	default:
		return s, fmt.Errorf("client: Options.UnknownScopeTypes must be error or answer: %q", s.unknownScopeTypes)
	}
	if s.onUnknownScopeType == nil {
		s.onUnknownScopeType = logUnknownScopeType
	}
	if err != nil {
		return s, err
	}
	s.shared, err = o.sharedSettings(&s)
	return s, err
}

// wholeMillis refuses what milliseconds cannot say: cut off, half a millisecond
// would mean never.
func wholeMillis(name string, d time.Duration) error {
	if d%time.Millisecond != 0 {
		return fmt.Errorf("client: Options.%s must be a whole number of milliseconds: %v", name, d)
	}
	return nil
}
