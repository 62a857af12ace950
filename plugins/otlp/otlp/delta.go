package otlp

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin/otlp/upload"
)

// Pauses before a message is sent again that the collector did not take.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// delta exports each window by itself.
type delta struct {
	options Options
	encoder encoder
	to      upload.Uploader
	life    context.Context // of exports
	end     context.CancelFunc

	mu      sync.Mutex
	closed  bool
	writing sync.WaitGroup // begun under mu
}

func newDelta(o Options, e encoder, to upload.Uploader) *delta {
	d := &delta{options: o, encoder: e, to: to}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// Info implements metrics.Sink: a collector recognises nothing.
func (*delta) Info() metrics.SinkInfo { return metrics.SinkInfo{Name: name} }

// Write implements metrics.Sink: it answers as the collector did. A window of more
// than one message that fails in the middle is of unknown outcome.
func (d *delta) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return &authz.UnavailableError{Message: "the sink is closed", Outcome: authz.OutcomeNotApplied}
	}
	d.writing.Add(1)
	d.mu.Unlock()
	defer d.writing.Done()

	ctx, cancel := context.WithTimeout(ctx, d.options.Timeout)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	counted := totals.Points(&w, !d.options.OmitAttribution)
	points := make([]point, len(counted))
	for i, p := range counted {
		points[i] = point{p.Key, p.Value, w.WindowStart, w.WindowEnd}
	}
	messages, counts := d.encoder.messages(points)
	rejected := 0
	for i, m := range messages {
		partial, err := d.export(ctx, func(ctx context.Context) (upload.Partial, error) { return d.to.Upload(ctx, upload.Metrics, m) })
		if err != nil {
			return refusal(err, i > 0)
		}
		rejected += int(min(partial.Rejected, int64(counts[i])))
	}
	switch {
	case rejected == 0:
		return nil
	case rejected == len(points):
		return authz.Validation("the collector refused all points of the window")
	}
	d.options.Log.Warn("the collector refused some points of a window, which are lost", "points", rejected, "of", len(points))
	return nil
}

// export repeats what the collector has not taken for sure, and never anything else:
// a delta that is taken twice is counted twice.
func (d *delta) export(ctx context.Context, send func(context.Context) (upload.Partial, error)) (upload.Partial, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		partial, err := send(ctx)
		failure := (*upload.Error)(nil)
		if err == nil || !errors.As(err, &failure) || !failure.Untaken || !failure.Retry {
			return partial, err
		}
		wait := max(failure.After, pause/2+rand.N(pause/2))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return partial, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return partial, err
		}
	}
}

// refusal is the seam's error for the uploader's; begun says that a part of the
// window was taken.
func refusal(err error, begun bool) error {
	failure := (*upload.Error)(nil)
	if !errors.As(err, &failure) {
		failure = &upload.Error{Reason: "the export failed"}
	}
	switch {
	case failure.Invalid && !begun:
		return authz.Validation("the window cannot be exported: %s", failure.Reason)
	case failure.Untaken && !begun:
		return &authz.UnavailableError{Message: failure.Reason, Outcome: authz.OutcomeNotApplied}
	}
	return &authz.UnavailableError{Message: failure.Reason, Outcome: authz.OutcomeUnknown}
}

// Close implements metrics.Sink: it waits for the exports that are under way, and ends
// them with ctx.
func (d *delta) Close(ctx context.Context) error {
	d.mu.Lock()
	already := d.closed
	d.closed = true
	d.mu.Unlock()
	if already {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		d.writing.Wait() // each write has a timeout of its own
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	d.end()
	return d.to.Close()
}
