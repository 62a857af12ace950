package host_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/metrics"
)

func TestWithMetricsOnTheHostsOwnChecksAreStored(t *testing.T) {
	h, _ := open(t, configure(t, "    metrics: {bucket: 1h}\n"))
	c := caller(h)
	call(t, c, "setScopeParents", object{"entries": []object{{"scope": "docs.doc:1", "parents": []string{}}}, "provenance": root})
	grant := call(t, c, "createGrant", object{"input": object{"subject": "user:ann", "pattern": "docs.files.read", "provenance": root}})["grant"].(object)
	for range 3 {
		call(t, c, "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.read", "scope": "docs.doc:1"})
	}
	call(t, c, "check", object{"principal": object{"userId": "bob"}, "key": "docs.files.read"})
	app, _ := h.Application("docs")
	if err := app.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	only := func(op string) object {
		t.Helper()
		usage := call(t, c, op, object{"query": object{}})["usage"].([]any)
		if len(usage) == 0 {
			t.Fatalf("%s answered nothing", op)
		}
		u := usage[len(usage)-1].(object)
		delete(u, "buckets")
		delete(u, "windowStart")
		delete(u, "windowEnd")
		return u
	}
	if diff := cmp.Diff(object{"rowId": grant["id"], "matched": 3.0, "soleMatch": 3.0}, only("getGrantUsage")); diff != "" {
		t.Error(diff)
	}
	want := object{"permission": "docs.files.read", "gateAllow": 3.0, "gateDeny": 1.0, "visibilityAllow": 0.0, "visibilityDeny": 0.0}
	if diff := cmp.Diff(want, only("getPermissionUsage")); diff != "" {
		t.Error(diff)
	}
	want = object{"permission": "docs.doc", "gateAllow": 3.0, "gateDeny": 0.0, "visibilityAllow": 0.0, "visibilityDeny": 0.0}
	if diff := cmp.Diff(want, only("getScopeTypeUsage")); diff != "" {
		t.Error(diff)
	}
	if c := call(t, c, "capabilities", object{}); c["metrics"] != true {
		t.Errorf("capabilities %v", c)
	}
}

// A host reports for as long as it runs, whichever application has the authority;
// old usage must go by it.
func TestUsageIsPrunedAfterAuthorityMoved(t *testing.T) {
	h, _ := open(t, configure(t, "    metrics: {bucket: 1h, retention: 1h}\n"))
	c := caller(h)
	call(t, c, "applyOrgSnapshot", object{"source": "hosted", "authority": false, "snapshot": snapshot()})
	old := time.Now().Add(-48 * time.Hour).UnixMilli()
	app, _ := h.Application("docs")
	if err := app.ReportMetrics(t.Context(), metrics.Batch{WindowStart: old, WindowEnd: old, Checks: []metrics.CheckCounter{
		{Permission: "docs.files.read", Decision: metrics.Allow, ScopeType: "*", Estimated: 1}}}); err != nil {
		t.Fatal(err)
	}
	kept := func() bool {
		return len(call(t, c, "getPermissionUsage", object{"query": object{"since": old, "until": old + 3600000}})["usage"].([]any)) > 0
	}
	if !kept() {
		t.Fatal("nothing was stored")
	}
	for range 32 { // the application prunes at every 32nd report
		call(t, c, "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.read"})
		if err := app.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "old usage is pruned", func() bool { return !kept() })
}
