package scripts

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Usage is a case of metrics.jsonl of the kind usage: reports, and what they add
// up to.
type Usage struct {
	ID      string
	Options struct{ Metrics json.RawMessage }
	Steps   []struct {
		Op   string
		Args struct {
			Batch metrics.Batch
			Query provider.UsageQuery
		}
		At     int64
		Expect struct{ OK any }
	}
}

// IsUsage tells a Usage from the other kinds of metrics.jsonl, whose steps have
// other shapes.
func IsUsage(raw json.RawMessage) bool {
	var head struct{ Kind string }
	return json.Unmarshal(raw, &head) == nil && head.Kind == "usage"
}

// RunUsage replays a case on an application without usage.
func RunUsage(t testing.TB, c Usage, now *atomic.Int64, on provider.Metrics) {
	t.Helper()
	for i, s := range c.Steps {
		now.Store(s.At)
		got, err := AskUsage(t.Context(), on, s.Op, s.Args.Batch, s.Args.Query)
		must(t, err)
		if diff := cmp.Diff(s.Expect.OK, Plain(t, got)); diff != "" {
			t.Errorf("step %d %s (-want +got):\n%s", i, s.Op, diff)
		}
	}
}

// AskUsage carries out an operation of provider.Metrics by its name.
func AskUsage(ctx context.Context, on provider.Metrics, op string, b metrics.Batch, q provider.UsageQuery) (any, error) {
	switch op {
	case "reportMetrics":
		return nil, on.ReportMetrics(ctx, b)
	case "getGrantUsage":
		return on.GetGrantUsage(ctx, q)
	case "getRevokeUsage":
		return on.GetRevokeUsage(ctx, q)
	case "getRoleUsage":
		return on.GetRoleUsage(ctx, q)
	case "getPermissionUsage":
		return on.GetPermissionUsage(ctx, q)
	}
	return on.GetScopeTypeUsage(ctx, q)
}
