package runner

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Test runs the cases selected as subtests, named suite/ID, e.g. driver/B01. go test
// decides how many run at once.
func (p Plan) Test(t *testing.T, selected Selection) {
	if _, err := selected.Of(p.Cases()); err != nil {
		t.Fatal(err)
	}
	for _, suite := range Suites(p.Cases()) {
		t.Run(suite, func(t *testing.T) {
			for _, j := range p.Jobs {
				if j.Suite != suite || !selected.has(j.Case) {
					continue
				}
				t.Run(j.ID, func(t *testing.T) {
					t.Parallel()
					switch r := p.execute(t.Context(), j); r.Outcome {
					case Skipped:
						t.Skip(r.Reason)
					case Failed:
						t.Fatalf("%s %s failed\n%s", p.Target, j.ID, r.Failure)
					default:
						t.Log(j.Rule)
					}
				})
			}
		})
	}
}

// Check runs the cases selected and returns what became of them; progress, which
// may be nil, is told of each at once, one at a time. Once ctx has ended the
// remaining cases are skipped. It panics on a selection that Selection.Of refuses.
func (p Plan) Check(ctx context.Context, selected Selection, progress func(Result)) Report {
	if _, err := selected.Of(p.Cases()); err != nil {
		panic("conformance: " + err.Error())
	}
	var jobs []Job
	for _, j := range p.Jobs {
		if selected.has(j.Case) {
			jobs = append(jobs, j)
		}
	}
	report := Report{Target: p.Target, Started: time.Now(), Results: make([]Result, len(jobs))}
	var (
		telling sync.Mutex
		running sync.WaitGroup
	)
	next := make(chan int)
	for range max(1, selected.Parallel) {
		running.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					report.Results[i] = Result{Case: jobs[i].Case, Outcome: Skipped, Reason: "the run was ended before it"}
				} else {
					report.Results[i] = p.execute(ctx, jobs[i])
				}
				if progress != nil {
					telling.Lock()
					progress(report.Results[i])
					telling.Unlock()
				}
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	running.Wait()
	report.Took, report.Ended = time.Since(report.Started), ctx.Err() != nil
	return report
}

// endGrace is how long a case may go on after its context has ended, before it
// counts as hanging and is left behind.
const endGrace = 20 * time.Second

// execute runs one case. A case that hangs is left behind with its goroutine: what
// it wanted cleaned up is, and its result is a failure.
func (p Plan) execute(ctx context.Context, j Job) Result {
	limit := p.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if j.Large {
		limit *= largeFactor
	}
	start := time.Now()
	caseCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := &Record{rule: j.Rule, roundsWithin: p.RoundsWithin}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Guard(func() { j.Run(caseCtx, r) })
	}()
	select {
	case <-ended:
	case <-caseCtx.Done():
		grace := time.NewTimer(cmp.Or(p.grace, endGrace))
		defer grace.Stop()
		select {
		case <-ended:
		case <-grace.C:
			r.Fail("the case ends", fmt.Sprintf("it still runs after %v, and its context has ended", time.Since(start).Round(time.Second)))
		}
	}
	r.cleanUp()
	result := r.result()
	result.Case, result.Duration = j.Case, time.Since(start)
	if result.Outcome == Failed && ctx.Err() != nil {
		result = Result{Case: j.Case, Outcome: Skipped, Reason: "the run was ended during it", Duration: result.Duration}
	}
	return result
}
