package runner

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Record gathers what becomes of a case. A case may use it from several
// goroutines.
type Record struct {
	rule         string
	roundsWithin time.Duration // zero: not bounded by the plan
	steps        steps

	mu      sync.Mutex
	closed  bool
	skip    string
	failure *Failure
	cleanup []func()
}

// Guard runs f and turns a panic into a failure.
func (r *Record) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Fail("no panic", fmt.Sprintf("panic: %v\n%s", p, firstLines(debug.Stack(), 24)))
		}
	}()
	f()
}

// Step remembers what the case did.
func (r *Record) Step(format string, args ...any) { r.steps.add(format, args...) }

// Fail records the first failure of the case; later ones only add to it.
func (r *Record) Fail(expected, got string) {
	where := place()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.failure != nil {
		if len(r.failure.Got) < 4<<10 {
			r.failure.Got += "\nalso: " + Clip(got, 400)
		}
		return
	}
	r.failure = &Failure{Rule: r.rule, Expected: Clip(expected, maxShown), Got: Clip(got, 2*maxShown), Where: where, Steps: r.steps.list()}
}

// Failed reports whether the case has failed.
func (r *Record) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil
}

// Errorf records a failure and goes on.
func (r *Record) Errorf(format string, args ...any) {
	r.Fail("what the rule says", fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the goroutine.
func (r *Record) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Want records a failure with its expectation and ends the goroutine.
func (r *Record) Want(expected, format string, args ...any) {
	r.Fail(expected, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Skip ends the case without a judgement.
func (r *Record) Skip(reason string) {
	r.mu.Lock()
	r.skip = reason
	r.mu.Unlock()
	runtime.Goexit()
}

// Cleanup calls f when the case has ended, last one first.
func (r *Record) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		go r.Guard(f) // of a case that was left behind
		return
	}
	r.cleanup = append(r.cleanup, f)
}

func (r *Record) cleanUp() {
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
		r.Guard(f)
	}
}

func (r *Record) result() Result {
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

// Clip shortens a text to about most bytes, and says so.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes more)", len(s)-most)
}

func firstLines(text []byte, n int) string {
	lines := strings.SplitN(string(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// rooms are below which cases stand, in files named cases_*.go.
var rooms = []string{"conformance/", "host/mesh/"}

// place is the line of a case that called.
func place() string {
	var callers [40]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := frames.Next()
		for _, room := range rooms {
			if i := strings.LastIndex(f.File, room); i >= 0 && strings.HasPrefix(path.Base(f.File), "cases_") {
				return fmt.Sprintf("%s:%d", f.File[i:], f.Line)
			}
		}
		if !more {
			return ""
		}
	}
}
