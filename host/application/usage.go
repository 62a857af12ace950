package application

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Metrics switches stored usage on; zero members take the defaults.
type Metrics struct {
	Bucket    time.Duration // the grain of usage in time
	Retention time.Duration // older buckets are pruned
}

// The defaults of Metrics: a day, and 90 of them.
const (
	DefaultMetricsBucket    = 24 * time.Hour
	DefaultMetricsRetention = 90 * DefaultMetricsBucket
)

// The dimensions and metrics of stored counters (spec: metrics §6).
const (
	dimensionGrant      = "grant"
	dimensionRevoke     = "revoke"
	dimensionRole       = "role"
	dimensionPermission = "permission"
	dimensionScopeType  = "scopeType"

	metricMatched         = "matched"
	metricSoleMatch       = "soleMatch"
	metricGateAllow       = "gate.allow"
	metricGateDeny        = "gate.deny"
	metricVisibilityAllow = "visibility.allow"
	metricVisibilityDeny  = "visibility.deny"
)

func (m *Metrics) validate(caps storage.Capabilities) error {
	switch {
	case m == nil:
		return nil
	case !wholeMillis(m.Bucket):
		return authz.Validation("Metrics.Bucket must be whole milliseconds, 0 or more")
	case !wholeMillis(m.Retention):
		return authz.Validation("Metrics.Retention must be whole milliseconds, 0 or more")
	case !caps.Has(storage.CapMetrics):
		return authz.Rejected(authz.CodeUnsupported,
			"metrics requires a storage driver with the capability %q", storage.CapMetrics)
	}
	return nil
}

// filledIn is a copy with the defaults; nil stays nil.
func (m *Metrics) filledIn() *Metrics {
	if m == nil {
		return nil
	}
	filled := *m
	if filled.Bucket == 0 {
		filled.Bucket = DefaultMetricsBucket
	}
	if filled.Retention == 0 {
		filled.Retention = DefaultMetricsRetention
	}
	return &filled
}

// bucket is the start of the bucket that holds an instant, also one before 1970.
func (m *Metrics) bucket(at int64) int64 {
	into := at % m.Bucket.Milliseconds()
	if into < 0 {
		into += m.Bucket.Milliseconds()
	}
	return max(at-into, -authz.MaxInstant)
}

// HasMetrics reports whether usage is stored.
func (a *Application) HasMetrics() bool { return a.metrics != nil }

func (a *Application) checkMetrics() error {
	if a.metrics == nil {
		return authz.Rejected(authz.CodeUnsupported, "metrics are not enabled on this Application: its option metrics is off")
	}
	return nil
}

// ReportMetrics adds one window to the counters. Nothing in it is checked against
// the catalog or the rows: a key removed during a deployment must not lose the
// window.
func (a *Application) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	const op = "reportMetrics"
	if err := a.checkMetrics(); err != nil {
		return err
	}
	deltas, err := fold(b, a.metrics.bucket(b.WindowStart))
	if err != nil || len(deltas) == 0 {
		return err
	}
	switch err := a.store.RecordMetrics(ctx, deltas); storage.CodeOf(err) {
	case storage.CodeTooLarge:
		return authz.Validation("the batch holds more counters than one report may")
	case storage.CodeValidation:
		a.log.Debug("storage refused a metrics batch", "error", err)
		return authz.Validation("a counter of the batch cannot be added to what is stored")
	default:
		if err != nil {
			outcome := outcomeOf(err)
			if outcome == "" {
				outcome = authz.OutcomeUnknown
			}
			return a.failed(op, outcome, err)
		}
	}
	a.reported()
	return nil
}

// reported prunes in the background now and then; a failed prune costs disk only.
func (a *Application) reported() {
	if a.reports.Add(1)%pruneEvery != 0 {
		return
	}
	a.inBackground(&a.pruningMetrics, func(ctx context.Context) {
		before := a.metrics.bucket(max(a.clock()-a.metrics.Retention.Milliseconds(), -authz.MaxInstant))
		if _, err := a.store.PruneMetrics(ctx, before); err != nil {
			a.log.Debug("usage was not pruned", "error", err)
		}
	})
}

// deltaKey is a counter of one batch: its bucket is the batch's.
type deltaKey struct{ dimension, subject, metric string }

// fold adds up what a batch stands for, by counter. Estimates are rounded half up
// once they are merged.
func fold(b metrics.Batch, bucket int64) ([]storage.MetricBucket, error) {
	var s shape
	s.instant("batch.windowStart", &b.WindowStart)
	sums := map[deltaKey]float64{}
	var order []deltaKey
	add := func(field, dimension, subject, metric string, amount float64) {
		if s.err == nil && (math.IsNaN(amount) || math.IsInf(amount, 0)) {
			s.err = authz.Validation("batch: %s must be a finite number", field)
		}
		s.text("batch: "+dimension, subject, maxText)
		if s.err != nil || amount <= 0 {
			return
		}
		key := deltaKey{dimension, subject, metric}
		if _, known := sums[key]; !known {
			order = append(order, key)
		}
		sums[key] += amount
	}
	for _, c := range b.Checks {
		if c.Decision != metrics.Allow && c.Decision != metrics.Deny {
			return nil, authz.Validation("batch: decision must be allow or deny, not %s", spell.Quote(string(c.Decision)))
		}
		metric := checkMetric(c.Gate, c.Decision)
		add("estimated", dimensionPermission, metrics.BoundName(c.Permission), metric, c.Estimated)
		add("estimated", dimensionScopeType, metrics.BoundName(c.ScopeType), metric, c.Estimated)
	}
	for _, list := range []struct {
		dimension string
		rows      []metrics.RowCounter
	}{{dimensionGrant, b.Grants}, {dimensionRevoke, b.Revokes}, {dimensionRole, b.Roles}} {
		for _, r := range list.rows {
			id := metrics.BoundID(r.RowID)
			add("estimatedMatched", list.dimension, id, metricMatched, r.EstimatedMatched)
			add("estimatedSoleMatch", list.dimension, id, metricSoleMatch, r.EstimatedSoleMatch)
		}
	}
	deltas := make([]storage.MetricBucket, 0, len(order))
	for _, key := range order {
		count := math.Floor(sums[key])
		if sums[key]-count >= 0.5 {
			count++
		}
		switch {
		case count > float64(authz.MaxInstant):
			s.err = authz.Validation("batch: the counts of one counter add up to more than 2^53−1")
		case count > 0:
			deltas = append(deltas, storage.MetricBucket{Bucket: bucket, Dimension: key.dimension,
				Subject: key.subject, Metric: key.metric, Count: int64(count)})
		}
	}
	return deltas, s.err
}

func checkMetric(gate bool, d metrics.Decision) string {
	switch {
	case gate && d == metrics.Allow:
		return metricGateAllow
	case gate:
		return metricGateDeny
	case d == metrics.Allow:
		return metricVisibilityAllow
	}
	return metricVisibilityDeny
}

// GetGrantUsage is the stored usage of grants.
func (a *Application) GetGrantUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return a.rowUsage(ctx, "getGrantUsage", dimensionGrant, q)
}

// GetRevokeUsage is the stored usage of revokes.
func (a *Application) GetRevokeUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return a.rowUsage(ctx, "getRevokeUsage", dimensionRevoke, q)
}

// GetRoleUsage is the stored usage of roles.
func (a *Application) GetRoleUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return a.rowUsage(ctx, "getRoleUsage", dimensionRole, q)
}

// GetPermissionUsage is what was checked, by permission.
func (a *Application) GetPermissionUsage(ctx context.Context, q provider.UsageQuery) ([]provider.PermissionUsage, error) {
	return a.checkUsage(ctx, "getPermissionUsage", dimensionPermission, q)
}

// GetScopeTypeUsage is what was checked, by scope type.
func (a *Application) GetScopeTypeUsage(ctx context.Context, q provider.UsageQuery) ([]provider.PermissionUsage, error) {
	return a.checkUsage(ctx, "getScopeTypeUsage", dimensionScopeType, q)
}

func (a *Application) rowUsage(ctx context.Context, op, dimension string, q provider.UsageQuery) ([]provider.RowUsage, error) {
	since, until, counters, err := a.counters(ctx, op, dimension, q)
	if err != nil {
		return nil, err
	}
	found := []provider.RowUsage{}
	for _, c := range counters {
		if n := len(found); n == 0 || found[n-1].RowID != c.Subject {
			found = append(found, provider.RowUsage{RowID: c.Subject, Usage: metrics.Usage{WindowStart: since, WindowEnd: until}})
		}
		row := &found[len(found)-1]
		if n := len(row.Buckets); n == 0 || row.Buckets[n-1].Bucket != c.Bucket {
			row.Buckets = append(row.Buckets, provider.RowBucket{Bucket: c.Bucket})
		}
		bucket := &row.Buckets[len(row.Buckets)-1]
		switch c.Metric {
		case metricMatched:
			row.Matched += c.Count
			bucket.Matched += c.Count
		case metricSoleMatch:
			row.SoleMatch += c.Count
			bucket.SoleMatch += c.Count
		}
	}
	return found, nil
}

func (a *Application) checkUsage(ctx context.Context, op, dimension string, q provider.UsageQuery) ([]provider.PermissionUsage, error) {
	since, until, counters, err := a.counters(ctx, op, dimension, q)
	if err != nil {
		return nil, err
	}
	found := []provider.PermissionUsage{}
	for _, c := range counters {
		if n := len(found); n == 0 || found[n-1].Permission != c.Subject {
			found = append(found, provider.PermissionUsage{Permission: c.Subject, WindowStart: since, WindowEnd: until})
		}
		name := &found[len(found)-1]
		if n := len(name.Buckets); n == 0 || name.Buckets[n-1].Bucket != c.Bucket {
			name.Buckets = append(name.Buckets, provider.PermissionBucket{Bucket: c.Bucket})
		}
		for _, counts := range []*provider.CheckUsage{&name.CheckUsage, &name.Buckets[len(name.Buckets)-1].CheckUsage} {
			switch c.Metric {
			case metricGateAllow:
				counts.GateAllow += c.Count
			case metricGateDeny:
				counts.GateDeny += c.Count
			case metricVisibilityAllow:
				counts.VisibilityAllow += c.Count
			case metricVisibilityDeny:
				counts.VisibilityDeny += c.Count
			}
		}
	}
	return found, nil
}

// counters reads one dimension of a window, ordered by subject and bucket.
func (a *Application) counters(ctx context.Context, op, dimension string, q provider.UsageQuery) (since, until int64, counters []storage.MetricBucket, err error) {
	if err := a.checkMetrics(); err != nil {
		return 0, 0, nil, err
	}
	var s shape
	s.instant("query.since", q.Since)
	s.instant("query.until", q.Until)
	s.texts("query.ids", deref(q.IDs))
	if s.err != nil {
		return 0, 0, nil, s.err
	}
	until = a.clock()
	if q.Until != nil {
		until = *q.Until
	}
	since = max(until-a.metrics.Retention.Milliseconds(), -authz.MaxInstant)
	if q.Since != nil {
		since = *q.Since
	}
	first := a.metrics.bucket(since)
	f := storage.MetricFilter{Dimension: dimension, Since: &first, Until: &until}
	if q.IDs != nil {
		f.Subjects = append([]string{}, *q.IDs...)
	}
	for c, err := range a.store.ReadMetrics(ctx, f) {
		if err != nil {
			return 0, 0, nil, a.readFailed(op, err)
		}
		counters = append(counters, c)
	}
	slices.SortFunc(counters, func(x, y storage.MetricBucket) int {
		if by := strings.Compare(x.Subject, y.Subject); by != 0 {
			return by
		}
		return int(min(max(x.Bucket-y.Bucket, -1), 1))
	})
	return since, until, counters, nil
}
