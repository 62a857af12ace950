//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// shown bounds how many breaches of one invariant are printed.
const shown = 5

// report collects what was seen. Its methods may be called concurrently.
type report struct {
	out     io.Writer
	options options

	played, events, rows, asked, allowed int

	mu       sync.Mutex
	breaches map[string][]string
}

func (r *report) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

func (r *report) broken(invariant, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.breaches == nil {
		r.breaches = map[string][]string{}
	}
	r.breaches[invariant] = append(r.breaches[invariant], fmt.Sprintf(format, args...))
}

// progress prints a line now and then until ctx ends.
func (r *report) progress(ctx context.Context, s *stage) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			r.say("%s", s.line())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

func (s *stage) line() string {
	acknowledged, refusals, unknowns := s.ledger.count()
	return fmt.Sprintf("  faults %d/%d   writes: %d acknowledged, %d refused or not applied, %d unknown", s.faults.done.Load(), s.options.kills,
		acknowledged, refusals, unknowns)
}

// conclude prints the result and returns the exit code.
func (r *report) conclude(s *stage, took time.Duration) int {
	r.say("%s", s.line())
	var kinds []string
	for i, kind := range faultKinds {
		if n := s.faults.kinds[i].Load(); n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
		}
	}
	r.say("\n%d faults, %d of them stops longer than the lease: %s", s.faults.done.Load(), s.faults.stops.Load(), strings.Join(kinds, ", "))
	r.say("how long what was taken away through one host was allowed by the other:")
	for _, line := range s.stale.lines() {
		r.say("  %s", line)
	}
	for _, h := range s.hosts {
		r.say("host %s lived %d times", h.name, h.lives)
	}
	r.say("%d writes left a trace, %d events, %d rows; %d questions asked, %d of them allowed\n", r.played, r.events, r.rows, r.asked, 2*r.allowed)
	if acknowledged, _, _ := s.ledger.count(); acknowledged < s.options.kills {
		r.broken(lively, "only %d writes were acknowledged", acknowledged)
	}
	if done := int(s.faults.done.Load()); len(r.breaches) == 0 && done < s.options.kills*9/10 {
		r.broken(lively, "only %d of %d faults reached a process", done, s.options.kills)
	}
	for _, invariant := range invariants {
		found, verdict := r.breaches[invariant], "held"
		switch {
		case len(found) > 0:
			verdict = "BROKEN"
		case r.asked == 0:
			verdict = "not verified"
		}
		r.say("%-12s  %s", verdict, invariant)
		for _, breach := range found[:min(shown, len(found))] {
			r.say("    %s", strings.ReplaceAll(breach, "\n", "\n    "))
		}
		if more := len(found) - shown; more > 0 {
			r.say("    and %d more", more)
		}
	}
	r.say("\n%s, seed %d", took.Round(time.Second), r.options.seed)
	if len(r.breaches) == 0 {
		return 0
	}
	if err := s.ledger.dump(filepath.Join(s.dir, "ledger.txt")); err != nil {
		r.say("the ledger could not be written: %v", err)
	}
	r.say("the ledger and the hosts' logs are kept in %s\nrepeat with: go run ./cmd/authz-faults --driver %s --kills %d --writers %d --seed %d", s.dir,
		r.options.driver, r.options.kills, r.options.writers, r.options.seed)
	return 1
}
