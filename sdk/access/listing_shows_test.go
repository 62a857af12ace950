package access_test

import (
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"pgregory.net/rapid"
)

// A plan shows just the rows that the row filter lets through (spec: access §12), also
// where "*" stands among the ancestors.
func TestAPlanShowsTheRowsThatItLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawForest(t, 3)
		granted, revoked := f.drawSet(t, "granted"), f.drawSet(t, "revoked")
		plan := access.PlanListing(granted, revoked)
		for _, row := range f.scopes {
			above := f.ancestry(row)[1:]
			if rapid.Bool().Draw(t, "with the global scope") {
				above = append(above, "*")
			}
			if got, want := plan.Shows(row, above...), f.visible(row, granted, revoked); got != want {
				t.Fatalf("%+v shows %q below %q: %v, want %v", plan, row, above, got, want)
			}
		}
	})
}

func TestAPlanShowsNothingThatHasNoScope(t *testing.T) {
	for _, plan := range []access.ListingPlan{access.PlanListing([]string{"*"}, nil), access.PlanListing([]string{"*"}, []string{"docs.doc:1"}), {}, {Mode: "later"}} {
		if plan.Shows("") || plan.Mode == "" && plan.Shows("docs.doc:2") || plan.Mode == "later" && plan.Shows("docs.doc:2") {
			t.Errorf("%+v shows a row", plan)
		}
	}
}
