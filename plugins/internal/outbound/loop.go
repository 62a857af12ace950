package outbound

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry is a failure that may pass: what was not sent is worth another attempt soon,
// After at the earliest.
type Retry struct {
	Err   error
	After time.Duration
}

func (e *Retry) Error() string { return e.Err.Error() }
func (e *Retry) Unwrap() error { return e.Err }

const (
	firstPause = 250 * time.Millisecond
	lastPause  = 30 * time.Second
	maxAfter   = 5 * time.Minute // of what another side may ask for
)

// Loop calls a function that sends the newest totals. They are cumulative, so nothing
// is kept for a repetition: it sends what is newest by then.
type Loop struct {
	interval, timeout time.Duration
	send              func(context.Context) error
	told              func(error)

	life    context.Context // of calls
	end     context.CancelFunc
	closing chan context.Context
	done    chan error
}

// Start begins; the first call comes after an interval. A call gets timeout; told
// hears the outcome of each, one at a time.
func Start(interval, timeout time.Duration, send func(context.Context) error, told func(error)) *Loop {
	l := &Loop{interval: interval, timeout: timeout, send: send, told: told, closing: make(chan context.Context, 1), done: make(chan error, 1)}
	l.life, l.end = context.WithCancel(context.Background())
	go l.run()
	return l
}

// Close sends a last time, repeating what may pass until ctx ends. It is called once.
func (l *Loop) Close(ctx context.Context) error {
	defer l.end()
	l.closing <- ctx
	stop := context.AfterFunc(ctx, l.end) // a call that is under way ends with it
	defer stop()
	return <-l.done
}

func (l *Loop) run() {
	failures := 0
	for timer := time.NewTimer(l.interval); ; {
		select {
		case ctx := <-l.closing:
			timer.Stop()
			l.done <- l.last(ctx)
			return
		case <-timer.C:
		}
		err := l.once(l.life)
		pause := l.interval
		if retry := (*Retry)(nil); errors.As(err, &retry) {
			// A pause may be longer than the interval: that is what it is for.
			failures++
			pause = backoff(failures, retry.After)
		} else {
			failures = 0
		}
		timer.Reset(pause)
	}
}

func (l *Loop) last(ctx context.Context) error {
	for failures := 1; ; failures++ {
		err := l.once(ctx)
		retry := (*Retry)(nil)
		if !errors.As(err, &retry) {
			return err
		}
		select {
		case <-time.After(backoff(failures, retry.After)):
		case <-ctx.Done():
			return err
		}
	}
}

func (l *Loop) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := l.send(ctx)
	l.told(err)
	return err
}

// backoff doubles, half of it by chance, and keeps to what the other side asked for.
func backoff(failures int, after time.Duration) time.Duration {
	pause := min(lastPause, firstPause<<min(failures-1, 10))
	pause = pause/2 + rand.N(pause/2)
	return max(pause, min(after, maxAfter))
}
