package meshcases

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Suite is the name of the suite.
const Suite = "mesh"

type spec = runner.Spec[storage.Capability, conformance.Ability, *world]

// logged is what every case needs beside records: checks over several partitions need
// the logs of all of them.
const logged = conformance.Ability(storage.CapEvents)

// Plan is every case over a storage driver. Cases ask for a backend of their own, and
// leave its partition "" alone.
func Plan(t conformance.Target) runner.Plan {
	enter := func(ctx context.Context, r *runner.Record, s spec) *world {
		w := newWorld(ctx, r, t, conformance.Options{})
		w.check(s)
		return w
	}
	return runner.Plan{Target: t.Name, Timeout: t.Timeout, Jobs: runner.Jobs(plugin.KindStorage, Suite, enter, table()...)}
}

// Cases lists every case in the order in which they run.
func Cases() []runner.Case { return Plan(conformance.Target{}).Cases() }

func table() [][]spec {
	all := [][]spec{peerCases, writeCases, registryCases, importCases, cacheCases, orgCases, promotionCases, processCases, refusalCases}
	for _, table := range all {
		for i := range table {
			if table[i].Needs == "" {
				table[i].Needs = storage.CapRecords
				table[i].Abilities = append([]conformance.Ability{logged}, table[i].Abilities...)
			}
		}
	}
	return all
}

// check skips the case when its target lacks what it needs.
func (w *world) check(s spec) {
	caps := w.open(w.first, "docs").Info().Capabilities
	if !caps.Has(s.Needs) {
		w.Skip(fmt.Sprintf("the driver lacks the capability %q", s.Needs))
	}
	for _, a := range s.Abilities {
		switch a {
		case logged:
			if !caps.Has(storage.CapEvents) {
				w.Skip(fmt.Sprintf("the driver lacks the capability %q", storage.CapEvents))
			}
		case conformance.CrossLocks:
			if !w.first.driver.Info().CrossProcess {
				w.Skip("the driver does not declare that sections hold across processes")
			}
		case conformance.Processes:
			if !w.target.SeparateProcesses {
				w.Skip("the target's connections are no separate processes on the same rows")
			}
		case conformance.Durable:
			if d := w.first.driver.Info().Durable; d == nil || !*d {
				w.Skip("the driver does not declare that rows survive its process")
			}
		case conformance.Kill:
			w.Require(w.backend, runner.Offered[conformance.Crasher]("the target's processes cannot be killed"))
		case conformance.Freeze:
			w.Require(w.backend, runner.Offered[conformance.Freezer]("the target's processes cannot be stopped"))
		default:
			panic("meshcases: nobody judges the ability " + string(a))
		}
	}
}
