package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// stopTimeout bounds the Stop of a ProviderSink and of a Forwarder, so that what is
// dead cannot hang a shutdown.
const stopTimeout = 10 * time.Second

// defaultPending is how many windows wait or are in delivery before new ones are
// dropped.
const defaultPending = 4

// Reporter takes closed windows: a provider. A window
// that it refuses is lost; it is never sent twice.
type Reporter interface {
	ReportMetrics(ctx context.Context, b Batch) error
}

// ProviderSinkOptions configures a sink.
type ProviderSinkOptions struct {
	AggregatorOptions // OnError hears of failed deliveries too

	// Accepts reads whether the reporter keeps metrics (capability metrics). It
	// is asked before the first delivery and again after a failure, whose batch
	// is discarded; after false nothing is ever sent. Nil is yes.
	Accepts func(context.Context) (bool, error)

	// Interval (Window) is how often windows are closed by time.
	Interval time.Duration

	// MaxPendingBatches (4) is how many batches may wait or be in delivery
	// before new ones are dropped.
	MaxPendingBatches *int
}

// ProviderSink is an aggregator whose closed windows go to a reporter, one at a time, in
// order, never twice. No check waits for it and no queue grows. It is an
// Observer; Stop ends it.
type ProviderSink struct {
	aggregator *Aggregator
	reporter   Reporter
	accepts    func(context.Context) (bool, error)
	queue      *queue[Batch]
	errors     *errorHook
	stopTimer  func()
	stop       sync.Once

	mu        sync.Mutex
	decided   bool // the capability was read
	accepting bool
	dropped   uint64
}

// NewProviderSink checks the options and starts timed closing. A nil reporter leaves a
// local aggregator.
func NewProviderSink(reporter Reporter, o ProviderSinkOptions) (*ProviderSink, error) {
	s := &ProviderSink{reporter: reporter, accepts: o.Accepts}
	limit := defaultPending
	if o.MaxPendingBatches != nil {
		limit = *o.MaxPendingBatches
	}
	if limit < 0 {
		return nil, fmt.Errorf("metrics: ProviderSinkOptions.MaxPendingBatches must not be negative: %d", limit)
	}
	if o.Interval < 0 {
		return nil, fmt.Errorf("metrics: ProviderSinkOptions.Interval must not be negative: %v", o.Interval)
	}
	s.queue = newQueue(limit, func(ctx context.Context, b Batch) { s.errors.report(s.send(ctx, b)) })
	a, err := newAggregator(o.AggregatorOptions, s.enqueue)
	if err != nil {
		return nil, err
	}
	if o.Interval == 0 {
		o.Interval = o.Window
	}
	s.aggregator, s.errors = a, a.errors
	s.stopTimer = a.StartFlusher(o.Interval)
	return s, nil
}

// NonBlocking says that checks may call Observe directly.
func (s *ProviderSink) NonBlocking() {}

// Observe counts one observation. The error is always nil.
func (s *ProviderSink) Observe(o CheckObservation) error { return s.aggregator.Observe(o) }

// Aggregator is where the sink counts.
func (s *ProviderSink) Aggregator() *Aggregator { return s.aggregator }

// DroppedBatches counts the batches that were not sent because too many were
// pending, or because the sink had stopped.
func (s *ProviderSink) DroppedBatches() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Flush closes the window and waits until it, and what was closed before it, was
// delivered or lost. The error is ctx's.
func (s *ProviderSink) Flush(ctx context.Context) error {
	s.aggregator.flushAt(ctx, s.aggregator.clock())
	return s.queue.flush(ctx)
}

// Stop stops the timer and flushes, for at most 10 s; then it gives up, drops
// what is pending and tells OnError. It may be called twice.
func (s *ProviderSink) Stop() {
	s.stop.Do(func() {
		s.stopTimer()
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err := s.Flush(ctx)
		left, _ := s.queue.stop()
		s.drop(len(left))
		if err != nil {
			s.errors.report(fmt.Errorf("metrics: the sink stopped before its last window was delivered: %w", err))
		}
	})
}

// enqueue takes a closed window of the aggregator. It never blocks.
func (s *ProviderSink) enqueue(b Batch) {
	if s.reporter == nil || b.Empty() {
		return
	}
	s.mu.Lock()
	refuses := s.decided && !s.accepting
	s.mu.Unlock()
	if !refuses && s.queue.put(b) != admitted {
		s.drop(1)
	}
}

func (s *ProviderSink) drop(batches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += uint64(batches)
}

// send reads the capability first, unless it is known.
func (s *ProviderSink) send(ctx context.Context, b Batch) error {
	s.mu.Lock()
	decided, accepting := s.decided, s.accepting
	s.mu.Unlock()
	if !decided {
		var err error
		if accepting, err = s.capability(ctx); err != nil {
			return fmt.Errorf("metrics: a window was lost, the reporter's capability could not be read: %w", err)
		}
		s.mu.Lock()
		s.decided, s.accepting = true, accepting
		s.mu.Unlock()
	}
	if !accepting {
		return nil
	}
	if err := try("ReportMetrics", func() error { return s.reporter.ReportMetrics(ctx, b) }); err != nil {
		return fmt.Errorf("metrics: a window was lost, its delivery failed: %w", err)
	}
	return nil
}

func (s *ProviderSink) capability(ctx context.Context) (accepting bool, err error) {
	if s.accepts == nil {
		return true, nil
	}
	err = try("Accepts", func() (failed error) {
		accepting, failed = s.accepts(ctx)
		return failed
	})
	return accepting, err
}
