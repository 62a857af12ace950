package metrics

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// AggregatorOptions configures an aggregator. A nil or zero member means its
// default; a pointer at zero keeps nothing of that kind.
type AggregatorOptions struct {
	// Window (1 min) is how long a window lasts at least; it is closed by the
	// first observation past it, or by a flusher.
	Window time.Duration

	// InstanceID ("default") tags every batch.
	InstanceID string

	// Flush receives each closed window, empty ones too. Called from a check it
	// gets 10 ms, after which the check goes on without it; windows closed by
	// checks before it returns do not reach it. Its error goes to OnError.
	Flush func(Batch) error

	// Forwarders take each closed window to a sink, apart from each other. Stopping
	// them is the caller's.
	Forwarders []*Forwarder

	MaxCheckKeys              *int // 10,000 distinct check counters a window
	MaxRowKeys                *int // 10,000 distinct row ids a window, each of grants, revokes and roles
	MaxPrincipals             *int // 1,000 principals counted exactly a window
	MaxRecentPrincipalsPerRow *int // 5 principals remembered a row

	// OnError hears of Flush failing, panicking or hanging; nil ignores it.
	OnError func(error)

	// Clock answers epoch milliseconds; nil is the wall clock.
	Clock func() int64
}

// Aggregator folds observations into windows of bounded size. It does no I/O,
// never blocks, and is safe for concurrent use. It is an Observer.
type Aggregator struct {
	instanceID string
	length     int64
	limits     caps
	clock      func() int64
	closed     func(Batch) // the provider sink's, never blocks; may be nil
	forwarders []*Forwarder
	flush      func(Batch) error
	errors     *errorHook
	patience   patience

	mu   sync.Mutex
	open *window
}

// NewAggregator checks the options and opens the first window.
func NewAggregator(o AggregatorOptions) (*Aggregator, error) {
	return newAggregator(o, nil)
}

func newAggregator(o AggregatorOptions, closed func(Batch)) (*Aggregator, error) {
	length, err := windowOf(o.Window)
	if err != nil {
		return nil, err
	}
	a := &Aggregator{instanceID: o.InstanceID, length: length.Milliseconds(), clock: o.Clock, closed: closed, flush: o.Flush, forwarders: slices.Clone(o.Forwarders),
		errors: &errorHook{onError: o.OnError, timeout: observerTimeout}}
	if a.instanceID == "" {
		a.instanceID = "default"
	}
	if a.clock == nil {
		a.clock = func() int64 { return time.Now().UnixMilli() }
	}
	for _, c := range []struct {
		name     string
		given    *int
		fallback int
		limit    *int
	}{
		{"MaxCheckKeys", o.MaxCheckKeys, 10_000, &a.limits.checks},
		{"MaxRowKeys", o.MaxRowKeys, 10_000, &a.limits.rows},
		{"MaxPrincipals", o.MaxPrincipals, 1_000, &a.limits.principals},
		{"MaxRecentPrincipalsPerRow", o.MaxRecentPrincipalsPerRow, 5, &a.limits.recent},
	} {
		*c.limit = c.fallback
		if c.given != nil {
			*c.limit = *c.given
		}
		if *c.limit < 0 {
			return nil, fmt.Errorf("metrics: AggregatorOptions.%s must not be negative: %d", c.name, *c.limit)
		}
	}
	a.open = newWindow(a.clock())
	return a, nil
}

func windowOf(d time.Duration) (time.Duration, error) {
	switch {
	case d == 0:
		return time.Minute, nil
	case d < time.Millisecond:
		return 0, fmt.Errorf("metrics: AggregatorOptions.Window must be at least a millisecond: %v", d)
	}
	return d, nil
}

// NonBlocking says that checks may call Observe directly.
func (a *Aggregator) NonBlocking() {}

// Observe counts one observation. Past the window's length, or when the clock
// stepped back before its start, the window is closed first. The error is
// always nil.
func (a *Aggregator) Observe(o CheckObservation) error {
	if done, end := a.count(&o); done != nil {
		a.deliverFromCheck(a.close(done, end))
	}
	return nil
}

// count answers the window that the observation closed, if any. The clock is read
// under the lock: an instant read before it could lie before a window that
// another check opened meanwhile.
func (a *Aggregator) count(o *CheckObservation) (done *window, end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if now < a.open.start || now-a.open.start >= a.length {
		done, end = a.open, now
		a.open = newWindow(now)
		a.open.byCheck = true
	}
	a.open.add(o, a.limits)
	return done, end
}

// Snapshot answers the open window without closing it.
func (a *Aggregator) Snapshot() Batch { return a.SnapshotAt(a.clock()) }

// SnapshotAt is Snapshot with the window's end given.
func (a *Aggregator) SnapshotAt(at int64) Batch {
	a.mu.Lock()
	w := a.open.copy()
	a.mu.Unlock()
	return w.batch(a.instanceID, at)
}

// Flush closes the window, hands it to the Flush callback and answers it, also
// when it is empty.
func (a *Aggregator) Flush() Batch { return a.FlushAt(a.clock()) }

// FlushAt is Flush with the window's end given, at which the next one starts.
func (a *Aggregator) FlushAt(at int64) Batch { return a.flushAt(context.Background(), at) }

// flushAt waits for the callback until ctx ends.
func (a *Aggregator) flushAt(ctx context.Context, at int64) Batch {
	a.mu.Lock()
	done := a.open
	a.open = newWindow(at)
	a.mu.Unlock()
	return a.finish(ctx, done, at)
}

// tick closes the window, unless a check opened it less than half an interval ago:
// where checks and ticks come at the same moments, the second would close all but
// nothing each time, which takes the same place in a queue.
func (a *Aggregator) tick(ctx context.Context, interval time.Duration) {
	a.mu.Lock()
	now, done := a.clock(), a.open
	if age := now - done.start; done.byCheck && age >= 0 && age < interval.Milliseconds()/2 {
		a.mu.Unlock()
		return
	}
	a.open = newWindow(now)
	a.mu.Unlock()
	a.finish(ctx, done, now)
}

func (a *Aggregator) finish(ctx context.Context, done *window, at int64) Batch {
	b := a.close(done, at)
	if a.flush != nil {
		a.patience.call(ctx, func() { a.callback(b) })
	}
	return b
}

// close builds the batch outside the lock.
func (a *Aggregator) close(done *window, end int64) Batch {
	b := done.batch(a.instanceID, end)
	if a.closed != nil {
		a.closed(b)
	}
	for _, f := range a.forwarders {
		f.Forward(b)
	}
	return b
}

// deliverFromCheck calls the callback for a window that a check closed.
func (a *Aggregator) deliverFromCheck(b Batch) {
	if a.flush == nil || a.patience.passedOver() {
		return
	}
	if a.patience.within(observerTimeout, func() { a.callback(b) }) {
		a.errors.report(&OverdueError{In: "Flush", Timeout: observerTimeout})
	}
}

func (a *Aggregator) callback(b Batch) {
	a.errors.report(try("Flush", func() error { return a.flush(b) }))
}

// StartFlusher closes windows on an interval instead of on traffic, but for one that
// traffic has just opened; 0 or less is a minute. stop ends it, without closing the
// open window, and may be called twice.
func (a *Aggregator) StartFlusher(interval time.Duration) (stop func()) {
	if interval <= 0 {
		interval = time.Minute
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				a.tick(ctx, interval)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
