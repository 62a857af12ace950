package api

import (
	"context"
	"sync"
	"time"
)

// limited is context.WithTimeout whose timer begins when somebody waits: a warm
// check waits for nothing, and a timer costs as much as it does.
type limited struct {
	context.Context // of the caller
	at              time.Time

	mu     sync.Mutex
	timed  context.Context // nil until somebody waits
	cancel context.CancelFunc
	ended  bool
}

func limit(ctx context.Context, within time.Duration) *limited {
	return &limited{Context: ctx, at: time.Now().Add(within)}
}

func (l *limited) started() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.at)
		if l.ended {
			l.cancel()
		}
	}
	return l.timed
}

func (l *limited) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.cancel != nil {
		l.cancel()
	}
}

func (l *limited) Deadline() (time.Time, bool) {
	if at, ok := l.Context.Deadline(); ok && at.Before(l.at) {
		return at, true
	}
	return l.at, true
}

func (l *limited) Done() <-chan struct{} { return l.started().Done() }
func (l *limited) Err() error            { return l.started().Err() }

// Value asks the timed context once there is one: contexts below find their parent
// by it, and would else keep a goroutine each.
func (l *limited) Value(key any) any {
	l.mu.Lock()
	timed := l.timed
	l.mu.Unlock()
	if timed != nil {
		return timed.Value(key)
	}
	return l.Context.Value(key)
}
