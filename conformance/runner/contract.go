package runner

import "context"

// Spec is a case as its contract writes it down. C are the capabilities of what is
// proved, A what else a case may need of a backend, W the world that a case runs in.
type Spec[C, A ~string, W any] struct {
	ID, Rule  string
	Needs     C // "" is none
	Abilities []A
	Large     bool
	Run       func(W)
}

// listed is the case as others see it.
func (s Spec[C, A, W]) listed(kind, suite string) Case {
	needs := []string{}
	if s.Needs != "" {
		needs = append(needs, string(s.Needs))
	}
	for _, a := range s.Abilities {
		needs = append(needs, string(a))
	}
	return Case{Kind: kind, Suite: suite, ID: s.ID, Rule: s.Rule, Needs: needs, Large: s.Large}
}

// Jobs are the cases of the tables in their order. enter makes the world of a case; it
// skips the case when the world lacks what the case needs.
func Jobs[C, A ~string, W any](kind, suite string, enter func(context.Context, *Record, Spec[C, A, W]) W, tables ...[]Spec[C, A, W]) (jobs []Job) {
	for _, table := range tables {
		for _, s := range table {
			jobs = append(jobs, Job{Case: s.listed(kind, suite), Run: func(ctx context.Context, r *Record) { s.Run(enter(ctx, r, s)) }})
		}
	}
	return jobs
}
