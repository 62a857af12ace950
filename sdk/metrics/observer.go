package metrics

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Observer receives observations, synchronously: what it does is the caller's
// latency. It counts or buffers and does no I/O. It is called from many
// goroutines at once. Whatever it does, no decision depends on it.
type Observer interface {
	// Observe's error is passed to OnError, as is a panic.
	Observe(o CheckObservation) error
}

// ObserverFunc makes an observer of a function.
type ObserverFunc func(CheckObservation) error

// Observe calls f.
func (f ObserverFunc) Observe(o CheckObservation) error { return f(o) }

// NonBlocking marks an observer that never blocks and is called directly. Any
// other runs under a time limit, which costs it a goroutine a call.
type NonBlocking interface {
	Observer
	NonBlocking()
}

// PanicError is a panic of foreign code: an observer, callback or reporter.
type PanicError struct {
	In    string // what was called
	Value any
}

func (e *PanicError) Error() string { return fmt.Sprintf("metrics: %s panicked: %v", e.In, e.Value) }

// OverdueError says that foreign code did not return in time. Until it does,
// what it would have received is dropped; it is reported once until then.
type OverdueError struct {
	In      string
	Timeout time.Duration
}

func (e *OverdueError) Error() string {
	return fmt.Sprintf("metrics: %s has not returned within %v; it is passed over until it does", e.In, e.Timeout)
}

// try calls f and makes an error of a panic.
func try(in string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{In: in, Value: v}
		}
	}()
	return f()
}

// patience calls foreign code without trusting it to return.
type patience struct {
	mu      sync.Mutex
	overdue int // calls that were given up and have not returned
}

// passedOver reports that a call which was given up has not returned.
func (p *patience) passedOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.overdue > 0
}

// call runs f, which must not panic, and waits for it until ctx ends. gaveUp is
// true for the first call that is given up while no other is.
func (p *patience) call(ctx context.Context, f func()) (gaveUp bool) {
	done := make(chan struct{})
	returned, late := false, false // of p.mu
	go func() {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			returned = true
			if late {
				p.overdue--
			}
			close(done)
		}()
		f()
	}()
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if returned {
		return false
	}
	late = true
	p.overdue++
	return p.overdue == 1
}

// within is call bounded by a duration.
func (p *patience) within(d time.Duration, f func()) (gaveUp bool) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return p.call(ctx, f)
}

// errorHook is an OnError callback, guarded like an observer. Its own failures
// are swallowed.
type errorHook struct {
	onError  func(error)
	timeout  time.Duration
	patience patience
}

func (h *errorHook) report(err error) {
	if h.onError == nil || err == nil || h.patience.passedOver() {
		return
	}
	h.patience.within(h.timeout, func() {
		_ = try("OnError", func() error { h.onError(err); return nil }) // nobody is left to tell
	})
}

// guarded is an observer as the recorder calls it.
type guarded struct {
	observer Observer
	name     string
	direct   bool
	timeout  time.Duration
	errors   *errorHook

	patience patience
	dropped  atomic.Uint64
}

func (g *guarded) deliver(o CheckObservation) {
	if g.direct {
		g.observe(o)
	} else {
		g.deliverWithin(o)
	}
}

func (g *guarded) deliverWithin(o CheckObservation) {
	if g.patience.passedOver() {
		g.dropped.Add(1)
		return
	}
	if g.patience.within(g.timeout, func() { g.observe(o) }) {
		g.errors.report(&OverdueError{In: g.name, Timeout: g.timeout})
	}
}

func (g *guarded) observe(o CheckObservation) {
	g.errors.report(try(g.name, func() error { return g.observer.Observe(o) }))
}
