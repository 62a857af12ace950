package conformance

import (
	"context"
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

// Check runs the cases selected and returns what became of them; see
// runner.Plan.Check.
func Check(ctx context.Context, target Target, selected Selection, progress func(Result)) Report {
	return target.Plan().Check(ctx, selected, progress)
}
