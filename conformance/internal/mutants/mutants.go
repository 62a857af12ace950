// Package mutants is for tests of the suites: a plugin in memory with one defect
// must be caught by the cases that name the rule. It is part of no suite.
package mutants

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
)

// Mutant is a plan over a plugin with one defect.
type Mutant struct {
	Name  string
	Cases string // that must catch it, separated by blanks
	Plan  runner.Plan
}

// atOnce is how many mutants are tried at once: their cases mostly wait.
const atOnce = 8

// Caught tries every mutant: each of its cases must fail with its own rule and say
// enough, and each of the cases must have caught one.
func Caught(t *testing.T, cases []runner.Case, all []Mutant) {
	t.Helper()
	wrong := make([][]string, len(all))
	var trying sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i, m := range all {
		trying.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			wrong[i] = m.try(t.Context())
		})
	}
	trying.Wait()
	names, caught := map[string]bool{}, ""
	for i, m := range all {
		if names[m.Name] {
			t.Errorf("two mutants are called %q", m.Name)
		}
		names[m.Name], caught = true, caught+" "+m.Cases
		for _, text := range wrong[i] {
			t.Errorf("%s: %s", m.Name, text)
		}
	}
	for _, c := range cases {
		if !slices.Contains(strings.Fields(caught), c.ID) {
			t.Errorf("no mutant shows what %s catches", c.ID)
		}
	}
}

// try says how its cases failed to catch the mutant.
func (m Mutant) try(ctx context.Context) (wrong []string) {
	selected := runner.Selection{IDs: strings.Fields(m.Cases), Parallel: 2}
	for _, r := range m.Plan.Check(ctx, selected, nil).Results {
		if missed := Missed(r); missed != "" {
			wrong = append(wrong, missed)
		}
	}
	return wrong
}

// Missed says how a case failed to catch a mutant, "" when it caught it.
func Missed(r runner.Result) string {
	switch {
	case r.Outcome != runner.Failed:
		return fmt.Sprintf("%s did not catch it: %s %s", r.Case.ID, r.Outcome, r.Reason)
	case r.Failure.Rule == "" || r.Failure.Rule != r.Case.Rule || r.Failure.Expected == "" || r.Failure.Got == "" || r.Failure.Where == "" || len(r.Failure.Steps) == 0:
		return fmt.Sprintf("%s says too little: %+v", r.Case.ID, r.Failure)
	case r.Failure.Expected == "no panic":
		return fmt.Sprintf("%s did not judge: %s", r.Case.ID, r.Failure.Got)
	}
	return ""
}
