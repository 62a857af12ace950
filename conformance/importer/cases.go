package importer

import (
	"context"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// Suite is the name of the suite.
const Suite = "importer"

// importerCase is a case of the contract.
type importerCase = runner.Spec[directory.ImporterCapability, Ability, *world]

// Plan is every case over the target, in the order in which they run.
func (t Target) Plan() runner.Plan {
	enter := func(ctx context.Context, r *runner.Record, c importerCase) *world {
		w := newWorld(ctx, r, t)
		w.check(c)
		return w
	}
	return runner.Plan{Target: t.Name, Timeout: t.Timeout, Jobs: runner.Jobs(plugin.KindImporter, Suite, enter,
		entryCases, readerCases, cursorCases, lineCases, processCases, configurationCases)}
}

// Cases lists every case in the order in which they run.
func Cases() []runner.Case { return Target{}.Plan().Cases() }

// Run runs every case as a subtest, named importer/ID:
//
//	go test -run 'TestConformance/importer/D10'
func Run(t *testing.T, target Target) {
	t.Helper()
	target.Plan().Test(t, runner.Selection{})
}
