package runner

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is how a case ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is what became of one case.
type Result struct {
	Case     Case
	Outcome  Outcome
	Reason   string   // of a skip
	Failure  *Failure // of a failure
	Duration time.Duration
}

// Failure says what a plugin got wrong.
type Failure struct {
	Rule     string
	Steps    []string // what was done, oldest first
	Expected string
	Got      string
	Where    string // the place in the case, file:line
}

func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule:     %s\n", f.Rule)
	fmt.Fprintf(&b, "expected: %s\n", indent(f.Expected))
	fmt.Fprintf(&b, "got:      %s\n", indent(f.Got))
	if f.Where != "" {
		fmt.Fprintf(&b, "at:       %s\n", f.Where)
	}
	b.WriteString("done:")
	for _, step := range f.Steps {
		b.WriteString("\n  " + indent(step))
	}
	return b.String()
}

func indent(s string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n          ")
}

// Report is what became of a selection.
type Report struct {
	Target  string
	Started time.Time
	Took    time.Duration
	Ended   bool     // before all had run: it proves nothing of the rest
	Results []Result // in the order of the plan
}

// Count counts the results of a suite ("" is all) with an outcome.
func (r Report) Count(suite string, o Outcome) int {
	n := 0
	for _, result := range r.Results {
		if result.Outcome == o && (suite == "" || result.Case.Suite == suite) {
			n++
		}
	}
	return n
}
