package metrics

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// ForwarderOptions configures a forwarder. Zero members mean their defaults.
type ForwarderOptions struct {
	// Application is whose checks the windows count.
	Application string

	// Origin is Window.Origin; "" is a random one, as every life of a process needs.
	Origin string

	// MaxPending (4) is how many windows may wait or be in delivery before new ones
	// are dropped.
	MaxPending *int

	// Patience (5 s) is how long one window is tried.
	Patience time.Duration

	// Await returns when the sink may be there again, or at the end of ctx: a
	// plugin's process that is being restarted. It is asked before a window is tried
	// again. nil does not wait for anything.
	Await func(ctx context.Context) error

	// OnError hears of every window that was lost after the sink was asked, why, and
	// of a stop that gave up; nil ignores it. It gets 10 ms.
	OnError func(error)
}

// Forwarder takes closed windows to one sink, one at a time and in order. A window
// that the sink could not take is tried again until Patience ends, one whose fate
// is unknown only for a sink that recognises it. Nothing waits for a sink and no
// queue grows: what there is no room or time for is dropped and counted.
type Forwarder struct {
	sink        Sink
	application string
	origin      string
	patience    time.Duration
	await       func(context.Context) error
	errors      *errorHook
	queue       *queue[Window]

	// abandoned is closed when a call returns that was given up; nil: there is none.
	// Deliveries alone use it.
	abandoned <-chan struct{}

	mu       sync.Mutex
	sequence uint64
	counts   Forwarded
	dropped  Outcome // of the last window that was dropped
	at       time.Time
}

// Tally counts windows, and the checks observed in them.
type Tally struct{ Windows, Checks uint64 }

func (t *Tally) add(w *Window) {
	t.Windows++
	t.Checks += w.checks()
}

// Outcome is what became of a window.
type Outcome string

// The outcomes: one is delivered, all others are dropped.
const (
	OutcomeDelivered   Outcome = "delivered"
	OutcomeFull        Outcome = "full"
	OutcomeRefused     Outcome = "refused"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeUnknown     Outcome = "unknown"
	OutcomeStopped     Outcome = "stopped"
)

// Outcomes lists every outcome, the delivered one first.
func Outcomes() []Outcome {
	return []Outcome{OutcomeDelivered, OutcomeFull, OutcomeRefused, OutcomeUnavailable, OutcomeUnknown, OutcomeStopped}
}

// Forwarded says what became of the windows of a forwarder. Each counts once, when
// its fate is settled.
type Forwarded struct {
	Delivered Tally

	Full        Tally // dropped: too many were pending
	Refused     Tally // dropped: the sink refused them for good
	Unavailable Tally // dropped: the sink took none of it while it was tried
	Unknown     Tally // dropped, and may have been taken all the same
	Stopped     Tally // dropped: the forwarder had stopped

	Repeated uint64 // calls of Write beyond the first of their window
	Pending  int    // windows whose fate is not settled
}

// Of is the tally of an outcome, nil of none.
func (f *Forwarded) Of(o Outcome) *Tally {
	switch o {
	case OutcomeDelivered:
		return &f.Delivered
	case OutcomeFull:
		return &f.Full
	case OutcomeRefused:
		return &f.Refused
	case OutcomeUnavailable:
		return &f.Unavailable
	case OutcomeUnknown:
		return &f.Unknown
	case OutcomeStopped:
		return &f.Stopped
	}
	return nil
}

// Dropped adds up what was dropped, for whatever reason.
func (f *Forwarded) Dropped() (t Tally) {
	for _, o := range Outcomes()[1:] {
		one := f.Of(o)
		t.Windows += one.Windows
		t.Checks += one.Checks
	}
	return t
}

const (
	defaultPatience = 5 * time.Second

	// Waits between two calls of Write for one window double from the first to the
	// last of these.
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second

	// settling is how long past its context a call of Write is waited for: to tell
	// what it knows of the window's fate.
	settling = 250 * time.Millisecond
)

// NewForwarder checks the options. The sink stays the caller's to close, after
// Stop.
func NewForwarder(sink Sink, o ForwarderOptions) (*Forwarder, error) {
	limit := defaultPending
	if o.MaxPending != nil {
		limit = *o.MaxPending
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Origin == "" {
		o.Origin = rand.Text()
	}
	switch {
	case sink == nil:
		return nil, errors.New("metrics: a forwarder needs a sink")
	case limit < 0:
		return nil, fmt.Errorf("metrics: ForwarderOptions.MaxPending must not be negative: %d", limit)
	case o.Patience < 0:
		return nil, fmt.Errorf("metrics: ForwarderOptions.Patience must not be negative: %v", o.Patience)
	}
	f := &Forwarder{sink: sink, application: o.Application, origin: o.Origin, patience: o.Patience, await: o.Await,
		errors: &errorHook{onError: o.OnError, timeout: observerTimeout}}
	f.queue = newQueue(limit, f.deliver)
	return f, nil
}

// Forward takes a closed window; an empty one is passed over. It never blocks.
func (f *Forwarder) Forward(b Batch) {
	if b.Empty() {
		return
	}
	// Under the lock, so that sequences enter the queue in their order.
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequence++
	w := Window{Application: f.application, Origin: f.origin, Sequence: f.sequence, Batch: b}
	switch f.queue.put(w) {
	case refusedFull:
		f.settle(OutcomeFull, &w)
	case refusedStopped:
		f.settle(OutcomeStopped, &w)
	}
}

// settle counts a window whose fate is known; f.mu is held.
func (f *Forwarder) settle(o Outcome, w *Window) {
	f.counts.Of(o).add(w)
	if o != OutcomeDelivered {
		f.dropped, f.at = o, time.Now()
	}
}

// LastDropped tells what became of the last window that was dropped, and when; "" is
// that none was.
func (f *Forwarder) LastDropped() (Outcome, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dropped, f.at
}

// Counts is what became of the windows until now.
func (f *Forwarder) Counts() Forwarded {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.counts
	c.Pending = f.queue.waiting()
	return c
}

// Flush waits until the fate of every window that was forwarded before is settled.
// The error is ctx's.
func (f *Forwarder) Flush(ctx context.Context) error { return f.queue.flush(ctx) }

// Stop flushes until ctx ends, for at most 10 s; then it gives up, drops what is
// pending and tells OnError. Afterwards every window is counted. It may be called
// twice.
func (f *Forwarder) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := f.Flush(ctx)
	left, ended := f.queue.stop()
	f.mu.Lock()
	for i := range left {
		f.settle(OutcomeStopped, &left[i])
	}
	f.mu.Unlock()
	<-ended // a delivery outlives its context only by what it takes to settle
	if err != nil && len(left) > 0 {
		f.errors.report(fmt.Errorf("metrics: forwarding stopped before %d windows were delivered: %w", len(left), err))
	}
}

// deliver settles the fate of one window.
func (f *Forwarder) deliver(ctx context.Context, w Window) {
	ctx, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	var lost error       // the last error
	var unknown, ok bool // whether an earlier call may have had its effect
	outcome := OutcomeUnavailable
	for calls := 0; ; calls++ {
		if calls > 0 && !f.pause(ctx, calls) {
			break
		}
		if !f.settled(ctx) {
			lost = errors.Join(lost, &OverdueError{In: "Write", Timeout: f.patience})
			break
		}
		if calls > 0 {
			f.mu.Lock()
			f.counts.Repeated++
			f.mu.Unlock()
		}
		err := f.write(ctx, w)
		if ok = err == nil; ok {
			break
		}
		lost = err
		if refused := new(authz.WriteRejectedError); errors.As(err, &refused) {
			outcome = OutcomeRefused
			break
		}
		if mayHaveTaken(err) {
			unknown = true
			if !f.recognises() {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	switch {
	case ok:
		outcome = OutcomeDelivered
	case unknown:
		outcome = OutcomeUnknown
	}
	f.mu.Lock()
	f.settle(outcome, &w)
	f.mu.Unlock()
	if !ok {
		f.errors.report(fmt.Errorf("metrics: a window of %d checks was lost: %w", w.checks(), lost))
	}
}

// pause waits before a window is tried again, then for the sink to be there.
func (f *Forwarder) pause(ctx context.Context, calls int) bool {
	wait := time.NewTimer(min(firstPause<<min(calls-1, 8), lastPause))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return false
	}
	if f.await == nil {
		return true
	}
	return try("Await", func() error { return f.await(ctx) }) == nil && ctx.Err() == nil
}

// settled waits for a call that was given up: windows go one at a time.
func (f *Forwarder) settled(ctx context.Context) bool {
	if f.abandoned == nil {
		return true
	}
	select {
	case <-f.abandoned:
		f.abandoned = nil
		return true
	case <-ctx.Done():
		return false
	}
}

// write calls the sink without trusting it to return.
func (f *Forwarder) write(ctx context.Context, w Window) error {
	result, returned := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(returned)
		result <- try("Write", func() error { return f.sink.Write(ctx, w) })
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(settling)
	defer late.Stop()
	select {
	case err := <-result:
		return err
	case <-late.C:
		f.abandoned = returned
		return &OverdueError{In: "Write", Timeout: f.patience}
	}
}

// mayHaveTaken: only a sink that says so has certainly not taken a window.
func mayHaveTaken(err error) bool {
	unavailable := new(authz.UnavailableError)
	return !errors.As(err, &unavailable) || unavailable.Outcome != authz.OutcomeNotApplied
}

func (f *Forwarder) recognises() (yes bool) {
	err := try("Info", func() error {
		yes = slices.Contains(f.sink.Info().Capabilities, SinkRecognises)
		return nil
	})
	return yes && err == nil
}

// checks adds up the checks observed.
func (w *Window) checks() (n uint64) {
	for i := range w.Checks {
		n += uint64(max(w.Checks[i].Observed, 0))
	}
	return n
}
