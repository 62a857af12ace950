package application_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// TestAnEdgeIsSkippedWhenItWouldLeadBack computes the edges one by one, each over what
// is stored and applied so far.
func TestAnEdgeIsSkippedWhenItWouldLeadBack(t *testing.T) {
	person := rapid.Map(rapid.IntRange(0, 5), func(i int) string { return fmt.Sprintf("p%d", i) })
	told := rapid.MapOfN(person, person, 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		store := openStore(t)
		app := newApp(t, application.Options{Store: store})
		want := map[string]string{}
		for range 2 {
			edges, skipped := told.Draw(rt, "edges"), 0
			for _, user := range slices.Sorted(maps.Keys(edges)) {
				above := edges[user]
				for steps := 0; above != "" && above != user && steps < 7; steps++ {
					above = want[above]
				}
				if above == user {
					skipped++
				} else {
					want[user] = edges[user]
				}
			}
			report, err := app.RunImport(context.Background(), directory.Snapshot{ReportingEdges: edges}, "hr", directory.Options{}, nil)
			must(t, err)
			got := map[string]string{}
			for id, u := range usersOf(t, store) {
				if u.ManagerUserID != "" {
					got[id] = u.ManagerUserID
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || report.Plan.SkippedReportingEdges.Count != skipped {
				rt.Fatalf("%d skipped, want %d (-want +got):\n%s", report.Plan.SkippedReportingEdges.Count, skipped, diff)
			}
		}
	})
}

func TestADeepDirectoryIsAsGoodAsAFlatOne(t *testing.T) {
	const n = 10_000
	id := func(i int) string { return fmt.Sprintf("p%05d", i) }
	s := directory.Snapshot{ReportingEdges: map[string]string{}}
	for i := 1; i < n; i++ {
		s.ReportingEdges[id(i)] = id(i - 1)
	}
	app := newApp(t, application.Options{})
	plan, err := app.PlanImport(t.Context(), s, "hr", directory.Options{})
	must(t, err)
	if set := plan.SetReportingEdges.Count; set != n-1 || plan.SkippedReportingEdges.Count > 0 {
		t.Errorf("%d edges, %+v", set, plan.SkippedReportingEdges)
	}

	s.ReportingEdges[id(0)] = id(n - 1) // a ring of everybody, whose last edge is looked for from each
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = app.PlanImport(ctx, s, "hr", directory.Options{})
	isUnavailable(authz.OutcomeNotApplied)(t, err)
}
