package authzprometheus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/authzhost/authz/sdk/metrics"
)

// Options configures an observer. Zero values are the defaults.
type Options struct {
	// Prefix ("authz_") begins every counter's name.
	Prefix string

	// ConstLabels are on every series. A name of the observer's own is refused.
	ConstLabels prometheus.Labels

	// MaxSeries (10,000) bounds the series of each counter. Further ones are
	// refused and counted as dropped.
	MaxSeries int

	// Principals adds the label principal to checks: unbounded, and personal
	// data.
	Principals bool

	// OmitAttribution leaves out the four counters of rows.
	OmitAttribution bool

	// OmitScopeInstances leaves the label scope out of checks, which otherwise
	// is empty when an observation carries none.
	OmitScopeInstances bool

	// CountSampledOnly adds 1 a check instead of what it stands for under
	// sampling, 1/SampleRate.
	CountSampledOnly bool
}

// Observer counts checks; register it as a collector. It is safe for concurrent
// use.
type Observer struct {
	options Options
	dropped prometheus.Counter
	checks  *series

	grantMatched, grantSoleMatch, revokeMatched, roleMatched *series
}

var (
	_ metrics.NonBlocking  = (*Observer)(nil)
	_ prometheus.Collector = (*Observer)(nil)
)

// New builds the counters. It registers nothing.
func New(o Options) (*Observer, error) {
	if o.Prefix == "" {
		o.Prefix = "authz_"
	}
	if o.MaxSeries < 0 {
		return nil, fmt.Errorf("authzprometheus: Options.MaxSeries must not be negative: %d", o.MaxSeries)
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = 10_000
	}
	x := &Observer{options: o, dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: o.Prefix + "dropped_total",
		Help: "Counts refused because a counter had reached its bound of series.", ConstLabels: o.ConstLabels})}
	labels := []string{"permission", "decision", "shape", "gate", "scope_type", "implied", "fresh", "snapshot", "external"}
	if !o.OmitScopeInstances {
		labels = append(labels, "scope")
	}
	if o.Principals {
		labels = append(labels, "principal")
	}
	x.checks = x.series("checks_total", "Permission checks.", labels...)
	if !o.OmitAttribution {
		x.grantMatched = x.series("grant_matched_total", "Checks that a grant took part in allowing.", "grant_id")
		x.grantSoleMatch = x.series("grant_sole_match_total", "Checks that only this grant allowed.", "grant_id", "gate")
		x.revokeMatched = x.series("revoke_matched_total", "Checks that a revoke suppressed.", "revoke_id")
		x.roleMatched = x.series("role_matched_total", "Checks that a role took part in allowing.", "role_id")
	}
	// A registry that is thrown away judges names and labels now, so that the
	// caller hears of them here.
	if err := prometheus.NewRegistry().Register(x); err != nil {
		return nil, fmt.Errorf("authzprometheus: %w", err)
	}
	return x, nil
}

// NonBlocking says that checks may call Observe directly.
func (x *Observer) NonBlocking() {}

// Describe implements prometheus.Collector.
func (x *Observer) Describe(to chan<- *prometheus.Desc) {
	x.dropped.Describe(to)
	for _, s := range x.all() {
		s.vec.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (x *Observer) Collect(to chan<- prometheus.Metric) {
	x.dropped.Collect(to)
	for _, s := range x.all() {
		s.vec.Collect(to)
	}
}

func (x *Observer) all() []*series {
	if x.options.OmitAttribution {
		return []*series{x.checks}
	}
	return []*series{x.checks, x.grantMatched, x.grantSoleMatch, x.revokeMatched, x.roleMatched}
}

// Observe counts one observation.
func (x *Observer) Observe(o metrics.CheckObservation) error {
	weight := 1.0
	if !x.options.CountSampledOnly {
		weight = o.Weight()
	}
	if err := x.checks.add(weight, x.checkLabels(&o)); err != nil || x.options.OmitAttribution {
		return err
	}
	if o.Decision == metrics.Allow { // a condition's denial is no use of the rows
		for _, id := range o.MatchedGrantIDs {
			if err := x.grantMatched.add(weight, key{metrics.BoundID(id)}); err != nil {
				return err
			}
		}
		if o.SoleMatchGrantID != "" {
			if err := x.grantSoleMatch.add(weight, key{metrics.BoundID(o.SoleMatchGrantID), strconv.FormatBool(o.Shape.Gate())}); err != nil {
				return err
			}
		}
		for _, id := range o.RoleIDs {
			if err := x.roleMatched.add(weight, key{metrics.BoundID(id)}); err != nil {
				return err
			}
		}
	}
	for _, id := range o.MatchedRevokeIDs {
		if err := x.revokeMatched.add(weight, key{metrics.BoundID(id)}); err != nil {
			return err
		}
	}
	return nil
}

// checkLabels answers the values in the order of the labels. An empty value is an
// absent label.
func (x *Observer) checkLabels(o *metrics.CheckObservation) key {
	permission := o.Permission
	if permission == "" {
		permission = metrics.AnyPermission
	}
	external := ""
	if o.ExternalPermission {
		external = "true"
	}
	k := key{metrics.BoundName(permission), string(o.Decision), string(o.Shape), strconv.FormatBool(o.Shape.Gate()),
		metrics.BoundName(o.ScopeType), strconv.FormatBool(o.Implied), strconv.FormatBool(o.Fresh), strconv.FormatBool(o.Snapshot), external}
	next := 9
	if !x.options.OmitScopeInstances {
		k[next] = metrics.BoundID(o.Scope)
		next++
	}
	if x.options.Principals {
		k[next] = metrics.BoundID(o.Principal.Subject())
	}
	return k
}

// series is a counter vector that stops growing at a limit.
type series struct {
	vec     *prometheus.CounterVec
	width   int // labels
	limit   int
	dropped prometheus.Counter

	mu   sync.RWMutex
	kept map[key]prometheus.Counter
}

// maxLabels is how many labels the widest counter has.
const maxLabels = 11

// key is the label values of a series, "" beyond its width.
type key [maxLabels]string

func (x *Observer) series(name, help string, labels ...string) *series {
	return &series{width: len(labels), limit: x.options.MaxSeries, dropped: x.dropped, kept: map[key]prometheus.Counter{},
		vec: prometheus.NewCounterVec(prometheus.CounterOpts{Name: x.options.Prefix + name, Help: help, ConstLabels: x.options.ConstLabels}, labels)}
}

func (s *series) add(weight float64, k key) error {
	s.mu.RLock()
	counter := s.kept[k]
	s.mu.RUnlock()
	if counter == nil {
		var err error
		if counter, err = s.open(k); err != nil {
			return fmt.Errorf("authzprometheus: %w", err)
		}
	}
	counter.Add(weight)
	return nil
}

// open answers the counter of a series that is new, or the one that counts what
// was refused.
func (s *series) open(k key) (prometheus.Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if counter := s.kept[k]; counter != nil {
		return counter, nil
	}
	if len(s.kept) >= s.limit {
		return s.dropped, nil
	}
	for i := range k { // a series must not keep the text that its labels were cut from
		k[i] = strings.Clone(k[i])
	}
	counter, err := s.vec.GetMetricWithLabelValues(slices.Clone(k[:s.width])...)
	if err != nil {
		return nil, err
	}
	s.kept[k] = counter
	return counter, nil
}
