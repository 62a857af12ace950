package conformance

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
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

// Failure says what a driver got wrong.
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
	Results []Result // in the order of Cases
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

// Run runs every suite as subtests, named suite/ID, e.g. driver/B01:
//
//	go test -run 'TestConformance/driver/B61'
func Run(t *testing.T, target Target) { RunSelected(t, target, Selection{}) }

// RunSelected is Run of the cases selected. go test decides how many run at once.
func RunSelected(t *testing.T, target Target, selected Selection) {
	cases, err := selected.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range Suites() {
		t.Run(suite, func(t *testing.T) {
			for _, c := range cases {
				if c.Suite != suite {
					continue
				}
				t.Run(c.ID, func(t *testing.T) {
					t.Parallel()
					switch r := execute(t.Context(), target, c); r.Outcome {
					case Skipped:
						t.Skip(r.Reason)
					case Failed:
						t.Fatalf("%s %s failed\n%s", target.Name, c.ID, r.Failure)
					}
				})
			}
		})
	}
}

// Check runs the cases selected and returns what became of them; progress, which
// may be nil, is told of each at once, one at a time. Once ctx has ended the
// remaining cases are skipped. It panics on a selection that Selection.Cases
// refuses.
func Check(ctx context.Context, target Target, selected Selection, progress func(Result)) Report {
	cases, err := selected.Cases()
	if err != nil {
		panic("conformance: " + err.Error())
	}
	report := Report{Target: target.Name, Started: time.Now(), Results: make([]Result, len(cases))}
	var (
		telling sync.Mutex
		running sync.WaitGroup
	)
	next := make(chan int)
	for range max(1, selected.Parallel) {
		running.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					report.Results[i] = Result{Case: cases[i], Outcome: Skipped, Reason: "the run was ended before it"}
				} else {
					report.Results[i] = execute(ctx, target, cases[i])
				}
				if progress != nil {
					telling.Lock()
					progress(report.Results[i])
					telling.Unlock()
				}
			}
		})
	}
	for i := range cases {
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

// execute runs one case. A case that hangs is left behind with its goroutine:
// its backend is closed, and its result is a failure.
func execute(ctx context.Context, target Target, c Case) Result {
	limit := target.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if c.large {
		limit *= largeFactor
	}
	start := time.Now()
	caseCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := &record{rule: c.Rule, target: target, c: c}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.guard(func() {
			w := newWorld(caseCtx, r, Options{})
			w.check()
			c.run(w)
		})
	}()
	hung := time.NewTimer(limit + endGrace)
	defer hung.Stop()
	select {
	case <-ended:
	case <-hung.C:
		r.fail("the case ends", fmt.Sprintf("it still runs after %v", limit+endGrace))
	}
	r.cleanUp()
	result := r.result()
	result.Case, result.Duration = c, time.Since(start)
	if result.Outcome == Failed && ctx.Err() != nil {
		result = Result{Case: c, Outcome: Skipped, Reason: "the run was ended during it", Duration: result.Duration}
	}
	return result
}

// record gathers what becomes of a case. A case may use it from several
// goroutines.
type record struct {
	rule   string
	target Target
	c      Case
	trace  trace

	mu      sync.Mutex
	closed  bool
	skip    string
	failure *Failure
	cleanup []func()
	open    int
}

// guard runs f and turns a panic into a failure.
func (r *record) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.fail("no panic", fmt.Sprintf("panic: %v\n%s", p, firstLines(debug.Stack(), 24)))
		}
	}()
	f()
}

// each runs f n times at once, from one moment on, and waits.
func (r *record) each(n int, f func(i int)) {
	var all, ready sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			ready.Done()
			<-start
			r.guard(func() { f(i) })
		})
	}
	ready.Wait()
	close(start)
	all.Wait()
}

// fail records the first failure of the case; later ones only add to it.
func (r *record) fail(expected, got string) {
	where := place()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.failure != nil {
		if len(r.failure.Got) < 4<<10 {
			r.failure.Got += "\nalso: " + clip(got, 400)
		}
		return
	}
	r.failure = &Failure{Rule: r.rule, Expected: clip(expected, maxShown), Got: clip(got, 2*maxShown), Where: where, Steps: r.trace.steps()}
}

func (r *record) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil
}

// Errorf records a failure and goes on.
func (r *record) Errorf(format string, args ...any) {
	r.fail("what the rule says", fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the goroutine.
func (r *record) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// want records a failure with its expectation and ends the goroutine.
func (r *record) want(expected, format string, args ...any) {
	r.fail(expected, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Skip ends the case without a judgement.
func (r *record) Skip(reason string) {
	r.mu.Lock()
	r.skip = reason
	r.mu.Unlock()
	runtime.Goexit()
}

// Cleanup calls f when the case has ended, last one first.
func (r *record) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		go f() // of a case that was left behind
		return
	}
	r.cleanup = append(r.cleanup, f)
}

func (r *record) cleanUp() {
	for {
		r.mu.Lock()
		n := len(r.cleanup)
		if n == 0 {
			r.closed = true
			r.mu.Unlock()
			return
		}
		f := r.cleanup[n-1]
		r.cleanup = r.cleanup[:n-1]
		r.mu.Unlock()
		r.guard(f)
	}
}

func (r *record) result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failure != nil:
		return Result{Outcome: Failed, Failure: r.failure}
	case r.skip != "":
		return Result{Outcome: Skipped, Reason: r.skip}
	}
	return Result{Outcome: Passed}
}

// maxShown bounds the parts of a failure.
const maxShown = 3 << 10

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes more)", len(s)-most)
}

func firstLines(text []byte, n int) string {
	lines := strings.SplitN(string(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// place is the line of a case that called.
func place() string {
	var callers [40]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := frames.Next()
		if i := strings.LastIndex(f.File, "conformance/cases_"); i >= 0 {
			return fmt.Sprintf("%s:%d", f.File[i:], f.Line)
		}
		if !more {
			return ""
		}
	}
}
