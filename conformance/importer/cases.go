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
type importerCase struct {
	ID        string
	Rule      string
	Needs     directory.ImporterCapability // "" is none
	Abilities []Ability

	large bool
	run   func(*world)
}

// listed is the case as others see it.
func (c importerCase) listed() runner.Case {
	needs := []string{}
	if c.Needs != "" {
		needs = append(needs, string(c.Needs))
	}
	for _, a := range c.Abilities {
		needs = append(needs, string(a))
	}
	return runner.Case{Kind: plugin.KindImporter, Suite: Suite, ID: c.ID, Rule: c.Rule, Needs: needs, Large: c.large}
}

// Plan is every case over the target, in the order in which they run.
func (t Target) Plan() runner.Plan {
	p := runner.Plan{Target: t.Name, Timeout: t.Timeout}
	for _, table := range [][]importerCase{entryCases, readerCases, cursorCases, lineCases, processCases, configurationCases} {
		for _, c := range table {
			p.Jobs = append(p.Jobs, runner.Job{Case: c.listed(), Run: func(ctx context.Context, r *runner.Record) {
				w := newWorld(ctx, r, t)
				w.check(c)
				c.run(w)
			}})
		}
	}
	return p
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
