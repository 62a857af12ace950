package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Case is one sentence of a contract.
type Case struct {
	Kind  string // of plugin
	Suite string
	ID    string // a letter and a number, and a small letter for its variants: B61, B79f
	Rule  string // the sentence

	// Needs are the capabilities and abilities without which the case is skipped;
	// "no:x" is a case about the absence of x.
	Needs []string

	Large bool // of thousands of rows or commits: it may take largeFactor times as long
}

// Job is a case over a target.
type Job struct {
	Case
	Run func(ctx context.Context, r *Record)
}

// Plan is what is to be proved.
type Plan struct {
	Target  string
	Timeout time.Duration // of a case; zero is DefaultTimeout
	Jobs    []Job

	// RoundsWithin is how long a case may repeat what happens at random moments. Zero
	// is a third of the case's time.
	RoundsWithin time.Duration

	grace time.Duration // zero is endGrace
}

// DefaultTimeout is how long a case may take.
const DefaultTimeout = 2 * time.Minute

// largeFactor is how many times as long large cases may take: a slow system on a
// busy machine is no defect of its plugin.
const largeFactor = 4

// Suites lists the suites of cases in the order in which they run.
func Suites(cases []Case) (all []string) {
	for _, c := range cases {
		if !slices.Contains(all, c.Suite) {
			all = append(all, c.Suite)
		}
	}
	return all
}

// Selection says which cases run, and how many at once.
type Selection struct {
	Suites []string // nil: all
	IDs    []string // nil: all; B79 also selects its variants, such as B79f
	Skip   []string // ids that are left out, their variants too

	// Parallel is how many cases run at once. Zero is one.
	Parallel int
}

// Of lists the cases selected. A suite or id that none of them has is an error, and so is
// a selection of none at all, which would prove nothing.
func (s Selection) Of(cases []Case) ([]Case, error) {
	suites := Suites(cases)
	for _, suite := range s.Suites {
		if !slices.Contains(suites, suite) {
			return nil, fmt.Errorf("there is no suite %q: the suites are %s", suite, strings.Join(suites, ", "))
		}
	}
	for _, id := range slices.Concat(s.IDs, s.Skip) {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.matches(id) }) {
			return nil, fmt.Errorf("there is no case %q", id)
		}
	}
	selected := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !s.has(c) })
	if len(selected) == 0 {
		return nil, errors.New("no case is selected: those named are of other suites, or left out")
	}
	return selected, nil
}

func (s Selection) has(c Case) bool {
	return (len(s.Suites) == 0 || slices.Contains(s.Suites, c.Suite)) &&
		(len(s.IDs) == 0 || slices.ContainsFunc(s.IDs, c.matches)) && !slices.ContainsFunc(s.Skip, c.matches)
}

func (c Case) matches(id string) bool {
	return strings.EqualFold(c.ID, id) || strings.EqualFold(strings.TrimRight(c.ID, "abcdefghijklmnopqrstuvwxyz"), id)
}

// Cases lists the cases of the plan.
func (p Plan) Cases() []Case {
	all := make([]Case, len(p.Jobs))
	for i, j := range p.Jobs {
		all[i] = j.Case
	}
	return all
}
