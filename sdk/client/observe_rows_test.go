package client_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// TestObservationsWithoutRowsAreOtherwiseTheSame asks the same of two recorders,
// one of which leaves the rows out.
func TestObservationsWithoutRowsAreOtherwiseTheSame(t *testing.T) {
	rows := cmpopts.IgnoreFields(metrics.CheckObservation{}, "MatchedGrantIDs", "SoleMatchGrantID", "MatchedRevokeIDs", "RoleIDs")
	full, short := observedChecks(t, false), observedChecks(t, true)
	if d := cmp.Diff(full, short, rows); d != "" {
		t.Error(d)
	}
	found := 0
	for i := range full {
		found += len(full[i].MatchedGrantIDs)
		if len(short[i].MatchedGrantIDs)+len(short[i].MatchedRevokeIDs) > 0 && !short[i].AnyOf && short[i].Shape.Gate() {
			t.Errorf("%+v names rows", short[i])
		}
	}
	if found == 0 {
		t.Error("no observation names rows: the world is too poor to compare")
	}
}

// observedChecks asks every gate of the golden vectors, at any sampling rate, and
// answers what was observed.
func observedChecks(t *testing.T, omit bool) (seen []metrics.CheckObservation) {
	covers := func(c observationCase) bool { return c.Kind == "observations" }
	vectors.Replay(t, "metrics.jsonl", covers, func(t *testing.T, c observationCase) {
		o := &metrics.RecorderOptions{OmitAttribution: omit, ObserverTimeout: time.Minute,
			Observers: []metrics.Observer{metrics.ObserverFunc(func(o metrics.CheckObservation) error { seen = append(seen, o); return nil })}}
		_, cl := attachWith(t, c.World, func(options *client.Options) { options.Metrics = o })
		for _, s := range c.Steps {
			observedCheck(t, cl, s)
		}
	})
	return seen
}

func TestAnObservationWithoutRowsKnowsWhatWasImplied(t *testing.T) {
	w := vectors.World{Now: 1_700_000_000_000, ScopeParents: map[string][]string{"docs.doc:1": {"docs.folder:1"}, "docs.folder:1": {}},
		Catalog: []byte(`{"namespaces":["docs"],"includeAuthzInternal":false,"scopeTypes":{"docs.folder":{},"docs.doc":{"parent":"docs.folder"}},
			"permissions":{"docs.nav.see":{"scopes":["docs.folder","docs.doc"],"impliedOnAncestors":true}}}`),
		Grants: []authz.Grant{{ID: "g", Subject: "user:u", Pattern: "docs.nav.see", Scope: "docs.doc:1", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}}}}
	var seen []metrics.CheckObservation
	o := &metrics.RecorderOptions{OmitAttribution: true, ObserverTimeout: time.Minute,
		Observers: []metrics.Observer{metrics.ObserverFunc(func(o metrics.CheckObservation) error { seen = append(seen, o); return nil })}}
	_, c := attachWith(t, w, func(options *client.Options) { options.Metrics = o })
	u := authz.UserPrincipal("u")
	if ok, err := c.Can(t.Context(), u, "docs.nav.see", "docs.folder:1"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := c.Check(t.Context(), u, client.Gate{Keys: []string{"docs.nav.see"}, Scope: "docs.folder:1"}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := c.Can(t.Context(), u, "docs.nav.see", "docs.doc:1"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if len(seen) != 3 || !seen[0].Implied || !seen[1].Implied || seen[2].Implied || len(seen[0].MatchedGrantIDs) != 0 {
		t.Errorf("observed %+v", seen)
	}
}
