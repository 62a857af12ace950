package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Usage is a case of metrics.jsonl of the kind usage: reports, and what they add
// up to.
type Usage struct {
	ID, Kind string
	Start    int64
	Options  Options
	Steps    []struct {
		Op string
		Time
		Args struct {
			Batch metrics.Batch
			Query provider.UsageQuery
		}
		Expect Expectation
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
	now.Store(c.Start)
	for i, s := range c.Steps {
		s.Set(now)
		where := fmt.Sprintf("step %d %s", i, s.Op)
		got, err := AskUsage(t.Context(), on, s.Op, s.Args.Batch, s.Args.Query)
		if want := s.Expect.Error; want != nil {
			want.check(t, where, err, func(text string) string { return text })
			continue
		}
		must(t, err)
		raw, err := json.Marshal(got)
		must(t, err)
		if diff := cmp.Diff(Decoded(t, s.Expect.OK), Decoded(t, raw)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
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
	case "getScopeTypeUsage":
		return on.GetScopeTypeUsage(ctx, q)
	}
	return nil, fmt.Errorf("no operation of usage is called %s", op)
}
