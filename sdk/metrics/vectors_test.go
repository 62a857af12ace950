package metrics_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/metrics"
)

type metricsCase struct {
	Kind    string          `json:"kind"`
	Start   int64           `json:"start"`
	Options json.RawMessage `json:"options"`
	Steps   json.RawMessage `json:"steps"`
	Usage   metrics.Usage   `json:"usage"`
	Expect  json.RawMessage `json:"expect"`
}

type aggregatorOptions struct {
	InstanceID                string `json:"instanceId"`
	WindowMs                  int64  `json:"windowMs"`
	MaxCheckKeys              *int   `json:"maxCheckKeys"`
	MaxRowKeys                *int   `json:"maxRowKeys"`
	MaxPrincipals             *int   `json:"maxPrincipals"`
	MaxRecentPrincipalsPerRow *int   `json:"maxRecentPrincipalsPerRow"`
}

type aggregatorStep struct {
	Op          string                   `json:"op"`
	Ms          int64                    `json:"ms"`
	Observation metrics.CheckObservation `json:"observation"`
	Flushed     []metrics.Batch          `json:"flushed"`
	Expect      metrics.Batch            `json:"expect"`
}

// One replay for both kinds, so that the file is reported once from here; the other
// kinds, which have other shapes, are replayed by sdk/client and host/application.
func TestVectorsMetrics(t *testing.T) {
	covers := func(raw json.RawMessage) bool {
		var c struct{ Kind string }
		return json.Unmarshal(raw, &c) != nil || c.Kind != "observations" && c.Kind != "usage"
	}
	vectors.Replay(t, "metrics.jsonl", covers, func(t *testing.T, raw json.RawMessage) {
		if err := vectors.Known[metricsCase](raw); err != nil {
			t.Fatal(err)
		}
		var c metricsCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		switch c.Kind {
		case "aggregator":
			replayAggregator(t, c)
		case "safeguard":
			replaySafeguard(t, c)
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
	})
}

func replayAggregator(t *testing.T, c metricsCase) {
	metrics.Patient(t)
	var o aggregatorOptions
	var steps []aggregatorStep
	decode(t, c.Options, &o)
	decode(t, c.Steps, &steps)
	now := c.Start
	var flushed []metrics.Batch
	a := newAggregator(t, metrics.AggregatorOptions{
		InstanceID: o.InstanceID, Window: time.Duration(o.WindowMs) * time.Millisecond,
		MaxCheckKeys: o.MaxCheckKeys, MaxRowKeys: o.MaxRowKeys, MaxPrincipals: o.MaxPrincipals,
		MaxRecentPrincipalsPerRow: o.MaxRecentPrincipalsPerRow,
		Clock:                     func() int64 { return now },
		Flush:                     func(b metrics.Batch) error { flushed = append(flushed, b); return nil },
	})
	for i, s := range steps {
		flushed = nil
		switch s.Op {
		case "observe":
			if err := a.Observe(s.Observation); err != nil {
				t.Fatal(err)
			}
			same(t, i, s.Flushed, flushed)
		case "advance":
			now += s.Ms
		case "snapshot":
			same(t, i, s.Expect, a.Snapshot())
			same(t, i, nil, flushed)
		case "flush":
			b := a.Flush()
			same(t, i, s.Expect, b)
			same(t, i, []metrics.Batch{b}, flushed)
		default:
			t.Fatalf("step %d: unknown op %q", i, s.Op)
		}
	}
}

func replaySafeguard(t *testing.T, c metricsCase) {
	var o metrics.SafeguardOptions
	decode(t, c.Options, &o)
	var want metrics.Safeguard
	decode(t, c.Expect, &want)
	got := metrics.RevocationSafeguard(c.Usage, o)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metrics.Safeguard{}, "Headline", "Detail")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// same compares counters as the sorted lists that the file has.
func same[T any](t *testing.T, step int, want, got T) {
	t.Helper()
	order := cmp.Options{cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b metrics.CheckCounter) bool { return checkOrder(a) < checkOrder(b) }),
		cmpopts.SortSlices(func(a, b metrics.RowCounter) bool { return a.RowID < b.RowID })}
	if diff := cmp.Diff(want, got, order); diff != "" {
		t.Errorf("step %d, -want +got:\n%s", step, diff)
	}
}

func checkOrder(c metrics.CheckCounter) string {
	return strings.Join([]string{c.Permission, string(c.Decision), string(c.Shape), c.ScopeType, c.Scope}, "\x00")
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func newAggregator(t *testing.T, o metrics.AggregatorOptions) *metrics.Aggregator {
	t.Helper()
	a, err := metrics.NewAggregator(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
