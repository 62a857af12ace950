package client_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/access"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listingWorld is a line of listing.jsonl whose scopes come from checks; the
// other kinds are replayed by sdk/access.
type listingWorld struct {
	vectors.World
	Kind    string                `json:"kind"`
	Closure access.ClosureOptions `json:"closure"`
	Cases   []struct {
		Principal string          `json:"principal"`
		Key       string          `json:"key"`
		Granted   []string        `json:"granted"`
		Revoked   []string        `json:"revoked"`
		Plan      json.RawMessage `json:"plan"`
		SQL       *struct{ Include, Exclude access.SQL }
	} `json:"cases"`
}

func TestVectorsListingWorlds(t *testing.T) {
	covers := func(w listingWorld) bool { return w.Kind == "world" }
	vectors.Replay(t, "listing.jsonl", covers, func(t *testing.T, w listingWorld) {
		c := attach(t, w.World, "", nil)
		for i, q := range w.Cases {
			got, err := c.GrantedScopes(context.Background(), principal(t, q.Principal), q.Key)
			if err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			want := access.GrantedScopes{Granted: q.Granted, Revoked: q.Revoked}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("case %d (-want +got)\n%s", i, diff)
			}
			plan := access.PlanListing(got.Granted, got.Revoked)
			text, err := json.Marshal(plan)
			if err != nil || !jsonEqual(text, q.Plan) {
				t.Errorf("case %d: plan %s, %v, want %s", i, text, err, q.Plan)
			}
			if q.SQL == nil {
				continue
			}
			include, err := access.PathFilter(plan.Include, access.PathOptions{PathColumn: "path"})
			if diff := cmp.Diff(q.SQL.Include, include); err != nil || diff != "" {
				t.Errorf("case %d: include %v (-want +got)\n%s", i, err, diff)
			}
			exclude, err := access.ClosureFilter(plan.Exclude, w.Closure)
			if diff := cmp.Diff(q.SQL.Exclude, exclude); err != nil || diff != "" {
				t.Errorf("case %d: exclude %v (-want +got)\n%s", i, err, diff)
			}
		}
	})
}
