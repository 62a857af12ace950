package compare

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

var full = flag.Bool("full", false, "verify the worlds of the comparison itself, which takes an hour or more: add -timeout 0")

// few is how many questions the slowest model is asked unless -full is given: a
// check costs it as much in the smallest world as in any.
const few = 100

func worlds(t *testing.T) []*workload.World {
	t.Helper()
	params := []workload.Params{{Users: 100, Depth: 5}, {Users: 100, Depth: 20}}
	if *full {
		params = []workload.Params{{Users: 1000, Depth: 5}, {Users: 1000, Depth: 20}, {Users: 10_000, Depth: 5}, {Users: 10_000, Depth: 20}}
	}
	all := make([]*workload.World, len(params))
	for i, p := range params {
		w, err := workload.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = w
	}
	return all
}

func TestAllEnginesGiveIdenticalAnswersTo10000Questions(t *testing.T) {
	for _, w := range worlds(t) {
		for _, p := range Peers() {
			t.Run(fmt.Sprintf("users=%d/depth=%d/%s", len(w.Users), w.Params.Depth, p.Name), func(t *testing.T) {
				asked := *w
				if p.Name == "openfga" && !*full {
					asked.Questions = w.Questions[:few]
					t.Logf("asked %d questions only; -full asks all", few)
				}
				if err := Verify(t.Context(), p, &asked, 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// An engine must fail the test above when it is wrong: each kind of row, left out
// of what the engine is given, is noticed.
func TestAnEngineThatMissesRowsIsFoundOut(t *testing.T) {
	w, err := workload.Generate(workload.Params{Users: 100, Questions: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*workload.World){
		"revokes":       func(w *workload.World) { w.Revokes = nil },
		"grants":        func(w *workload.World) { w.Grants = w.Grants[:len(w.Grants)/2] },
		"nested groups": func(w *workload.World) { w.Groups = unnested(w.Groups) },
		"roles": func(w *workload.World) {
			w.Roles = append([]workload.Role(nil), w.Roles...)
			w.Roles[0].Patterns = w.Roles[0].Patterns[:5]
			w.Roles[1].Patterns = w.Roles[1].Patterns[:5]
		},
	} {
		for _, p := range Peers() {
			if p.Name == "openfga" {
				continue // the slow model; its rows are read by the same code
			}
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				spoiled := *w
				spoil(&spoiled)
				err := Verify(t.Context(), p, &spoiled, 0)
				var wrong *DisagreementError
				if !errors.As(err, &wrong) {
					t.Errorf("got %v, want a disagreement", err)
				}
			})
		}
	}
}

func unnested(groups []workload.Group) []workload.Group {
	flat := append([]workload.Group(nil), groups...)
	for i := range flat {
		flat[i].Parents = nil
	}
	return flat
}

func TestASlowEngineIsLeftOutOfTheReportWithItsReason(t *testing.T) {
	slow := engine.Peer{Name: "slow", Module: "example.org/slow", Load: sleeper}
	report, err := Run(t.Context(), Options{Peers: append(Peers()[:1], slow), Users: []int{20}, Depths: []int{3}, Questions: 200,
		Each: 10 * time.Millisecond, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	lines := report.Worlds[0].Lines
	if lines[0].LeftOut != "" || lines[0].One.NsPerCheck <= 0 || lines[0].Two.NsPerCheck <= 0 || lines[0].OverClient != 1 || lines[0].Loaded <= 0 {
		t.Errorf("the measured line: %+v", lines[0])
	}
	if lines[1].LeftOut == "" || lines[1].One.NsPerCheck != 0 {
		t.Errorf("the line left out: %+v", lines[1])
	}
}

func TestNothingIsTimedWhenOneEngineDisagrees(t *testing.T) {
	contrary := engine.Peer{Name: "contrary", Load: opposite}
	_, err := Run(t.Context(), Options{Peers: append(Peers()[:1], contrary), Users: []int{20}, Depths: []int{3}, Questions: 100,
		Each: time.Millisecond, Progress: func(line string) {
			if strings.Contains(line, "timing") {
				t.Error("timed before all agreed:", line)
			}
		}})
	var wrong *DisagreementError
	if !errors.As(err, &wrong) || wrong.Engine != "contrary" {
		t.Errorf("got %v", err)
	}
}
