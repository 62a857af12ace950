package conformance

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
)

// Plan is every case over the target.
func (t Target) Plan() runner.Plan {
	p := runner.Plan{Target: t.Name, Timeout: t.Timeout}
	for _, c := range table() {
		p.Jobs = append(p.Jobs, runner.Job{Case: c.listed(), Run: func(ctx context.Context, r *runner.Record) {
			w := newWorld(ctx, &record{Record: r, target: t, c: c}, Options{})
			w.check()
			c.run(w)
		}})
	}
	return p
}

// Run runs every suite as subtests, named suite/ID, e.g. driver/B01:
//
//	go test -run 'TestConformance/driver/B61'
func Run(t *testing.T, target Target) { RunSelected(t, target, Selection{}) }

// RunSelected is Run of the cases selected. go test decides how many run at once.
func RunSelected(t *testing.T, target Target, selected Selection) {
	t.Helper()
	target.Plan().Test(t, selected)
}

// Quick leaves out the large cases, and says so, unless AUTHZ_FULL=1: under the race
// detector they take most of a driver's test, and authz-conformance runs them over
// its binary.
func Quick(t *testing.T) (selected Selection) {
	t.Helper()
	if os.Getenv("AUTHZ_FULL") == "1" {
		return Selection{}
	}
	for _, c := range Cases() {
		if c.Large {
			selected.Skip = append(selected.Skip, c.ID)
		}
	}
	t.Logf("SKIPPED in process, left for AUTHZ_FULL=1 and for the binary: %s", strings.Join(selected.Skip, ", "))
	return selected
}

// Check runs the cases selected and returns what became of them; see
// runner.Plan.Check.
func Check(ctx context.Context, target Target, selected Selection, progress func(Result)) Report {
	return target.Plan().Check(ctx, selected, progress)
}
