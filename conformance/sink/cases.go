package sink

import (
	"context"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// Suite is the name of the suite.
const Suite = "sink"

// sinkCase is a case of the contract.
type sinkCase = runner.Spec[metrics.SinkCapability, Ability, *world]

// Plan is every case over the target, in the order in which they run.
func (t Target) Plan() runner.Plan {
	enter := func(ctx context.Context, r *runner.Record, c sinkCase) *world {
		w := newWorld(ctx, r, t)
		w.check(c)
		return w
	}
	return runner.Plan{Target: t.Name, Timeout: t.Timeout, Jobs: runner.Jobs(plugin.KindSink, Suite, enter,
		windowCases, countCases, refusalCases, contextCases, processCases, configurationCases)}
}

// Cases lists every case in the order in which they run.
func Cases() []runner.Case { return Target{}.Plan().Cases() }

// Run runs every case as a subtest, named sink/ID:
//
//	go test -run 'TestConformance/sink/W10'
func Run(t *testing.T, target Target) {
	t.Helper()
	target.Plan().Test(t, runner.Selection{})
}
