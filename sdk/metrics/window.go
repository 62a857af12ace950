package metrics

import (
	"math"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// caps bound the memory of one window.
type caps struct{ checks, rows, principals, recent int }

// window folds the observations of one window. Its owner serialises it.
type window struct {
	start      int64
	byCheck    bool // opened by a check that found the one before past its length
	checks     counters[checkKey, checkCount]
	grants     counters[string, rowCount]
	revokes    counters[string, rowCount]
	roles      counters[string, rowCount]
	principals map[authz.Principal]struct{}
	distinct   int64 // principals counted
	overflowed bool
	dropped    int64
}

// checkKey leaves out the sample rate: counters of several rates add up.
type checkKey struct {
	permission, scopeType, scope string
	decision                     Decision
	shape                        Shape
}

type checkCount struct {
	observed  int64
	estimated float64
}

type rowCount struct {
	matched, sole                   int64
	estimatedMatched, estimatedSole float64
	recent                          []authz.Principal
}

func newWindow(start int64) *window {
	return &window{start: start, checks: newCounters[checkKey, checkCount](), grants: newCounters[string, rowCount](),
		revokes: newCounters[string, rowCount](), roles: newCounters[string, rowCount](), principals: map[authz.Principal]struct{}{}}
}

// add counts one observation. A counter that a cap refuses does not keep the
// others from counting.
//
// Names and ids that are short enough are looked up as they came, and bounded when
// they are not found so: what is kept is bounded already, and valid.
func (w *window) add(o *CheckObservation, c caps) {
	weight := o.Weight()
	w.check(o, weight, c.checks)
	p := w.principal(o.Principal, c.principals)
	if o.Decision == Allow { // a condition's denial is no use of the rows
		for _, id := range o.MatchedGrantIDs {
			w.row(&w.grants, id, id == o.SoleMatchGrantID, weight, p, c)
		}
		for _, id := range o.RoleIDs {
			w.row(&w.roles, id, o.SoleMatchGrantID != "", weight, p, c)
		}
	}
	for _, id := range o.MatchedRevokeIDs {
		w.row(&w.revokes, id, true, weight, p, c) // each suffices by itself
	}
}

func (w *window) check(o *CheckObservation, weight float64, limit int) {
	key := checkKey{o.Permission, o.ScopeType, o.Scope, o.Decision, o.Shape}
	if key.permission == "" {
		key.permission = AnyPermission
	}
	var count *checkCount
	if len(key.permission) <= maxName && len(key.scopeType) <= maxName && len(key.scope) <= maxID {
		count = w.checks.find(key)
	}
	if count == nil {
		key.permission, key.scopeType, key.scope = BoundName(key.permission), BoundName(key.scopeType), BoundID(key.scope)
		count = w.checks.find(key)
	}
	if count == nil {
		// Clones, so that a counter does not keep the text that its parts were cut from.
		key.permission, key.scopeType, key.scope = strings.Clone(key.permission), strings.Clone(key.scopeType), strings.Clone(key.scope)
		if count = w.checks.insert(key, limit); count == nil {
			w.dropped++
			return
		}
	}
	count.observed++
	count.estimated += weight
}

// principal counts who was evaluated, and answers them as rows remember them.
func (w *window) principal(p authz.Principal, limit int) authz.Principal {
	if len(p.UserID) <= maxID && len(p.ServiceID) <= maxID {
		if _, ok := w.principals[p]; ok {
			return p
		}
	}
	p = authz.Principal{UserID: BoundID(p.UserID), ServiceID: BoundID(p.ServiceID)}
	if _, ok := w.principals[p]; ok {
		return p
	}
	if len(w.principals) >= limit {
		w.overflowed = true
		return p
	}
	w.principals[clonePrincipal(p)] = struct{}{}
	w.distinct++
	return p
}

func (w *window) row(rows *counters[string, rowCount], id string, sole bool, weight float64, p authz.Principal, c caps) {
	var count *rowCount
	if len(id) <= maxID {
		count = rows.find(id)
	}
	if count == nil {
		id = BoundID(id)
		count = rows.find(id)
	}
	if count == nil {
		if count = rows.insert(strings.Clone(id), c.rows); count == nil {
			w.dropped++
			return
		}
	}
	count.matched++
	count.estimatedMatched += weight
	if sole {
		count.sole++
		count.estimatedSole += weight
	}
	if len(count.recent) < c.recent && !slices.Contains(count.recent, p) {
		count.recent = append(count.recent, clonePrincipal(p))
	}
}

func clonePrincipal(p authz.Principal) authz.Principal {
	return authz.Principal{UserID: strings.Clone(p.UserID), ServiceID: strings.Clone(p.ServiceID)}
}

// copy is what batch needs of the window, apart from what goes on counting.
// Lists of recent principals only grow at their end, which the copy does not see.
func (w *window) copy() *window {
	c := &window{start: w.start, distinct: w.distinct, overflowed: w.overflowed, dropped: w.dropped}
	c.checks.entries = slices.Clone(w.checks.entries)
	c.grants.entries = slices.Clone(w.grants.entries)
	c.revokes.entries = slices.Clone(w.revokes.entries)
	c.roles.entries = slices.Clone(w.roles.entries)
	return c
}

// batch is the window as it stands.
func (w *window) batch(instanceID string, end int64) Batch {
	b := Batch{InstanceID: instanceID, WindowStart: w.start, WindowEnd: max(end, w.start),
		Checks: make([]CheckCounter, 0, len(w.checks.entries)),
		Grants: rowCounters(&w.grants), Revokes: rowCounters(&w.revokes), Roles: rowCounters(&w.roles),
		Principals: PrincipalsCount{Distinct: w.distinct, Overflowed: w.overflowed}, Dropped: w.dropped}
	for _, e := range w.checks.entries {
		b.Checks = append(b.Checks, CheckCounter{Permission: e.key.permission, Decision: e.key.decision, Shape: e.key.shape,
			Gate: e.key.shape.Gate(), ScopeType: e.key.scopeType, Scope: e.key.scope,
			Observed: e.count.observed, Estimated: round(e.count.estimated)})
	}
	return b
}

func rowCounters(rows *counters[string, rowCount]) []RowCounter {
	list := make([]RowCounter, 0, len(rows.entries))
	for _, e := range rows.entries {
		recent := make([]string, len(e.count.recent))
		for i, p := range e.count.recent {
			recent[i] = p.Subject()
		}
		list = append(list, RowCounter{RowID: e.key, Matched: e.count.matched, SoleMatch: e.count.sole,
			EstimatedMatched: round(e.count.estimatedMatched), EstimatedSoleMatch: round(e.count.estimatedSole), RecentPrincipals: recent})
	}
	return list
}

// round is half up. What is past an exact integer stays the largest one.
func round(estimate float64) float64 {
	return math.Min(math.Floor(estimate+0.5), float64(authz.MaxInstant))
}

// counters is a map with a first-seen order.
type counters[K comparable, C any] struct {
	at      map[K]int
	entries []counter[K, C]
}

type counter[K comparable, C any] struct {
	key   K
	count C
}

func newCounters[K comparable, C any]() counters[K, C] {
	return counters[K, C]{at: map[K]int{}}
}

func (c *counters[K, C]) find(key K) *C {
	if i, ok := c.at[key]; ok {
		return &c.entries[i].count
	}
	return nil
}

// insert answers nil at the limit.
func (c *counters[K, C]) insert(key K, limit int) *C {
	if len(c.entries) >= limit {
		return nil
	}
	c.at[key] = len(c.entries)
	c.entries = append(c.entries, counter[K, C]{key: key})
	return &c.entries[len(c.entries)-1].count
}
