package metrics

import (
	"context"
	"sync"
)

// queue hands what is put into it to deliver, one at a time and in order. Putting
// never blocks; what finds limit waiting or in delivery is refused.
type queue[T any] struct {
	limit   int
	deliver func(context.Context, T) // returns soon after its context ends
	context context.Context
	cancel  context.CancelFunc // of deliveries

	mu      sync.Mutex
	pending []entry[T] // the first one is in delivery
	stopped bool
}

type entry[T any] struct {
	value T
	done  chan struct{}
}

func newQueue[T any](limit int, deliver func(context.Context, T)) *queue[T] {
	q := &queue[T]{limit: limit, deliver: deliver}
	q.context, q.cancel = context.WithCancel(context.Background())
	return q
}

// admission is what became of a value that was put.
type admission int

const (
	admitted admission = iota
	refusedFull
	refusedStopped
)

func (q *queue[T]) put(v T) admission {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopped:
		return refusedStopped
	case len(q.pending) >= q.limit:
		return refusedFull
	}
	q.pending = append(q.pending, entry[T]{v, make(chan struct{})})
	if len(q.pending) == 1 {
		go q.run()
	}
	return admitted
}

// run delivers what is pending and ends. There is one at a time.
func (q *queue[T]) run() {
	for {
		q.mu.Lock()
		next := q.pending[0]
		q.mu.Unlock()
		q.deliver(q.context, next.value)
		q.mu.Lock()
		q.pending = q.pending[1:]
		left := len(q.pending)
		q.mu.Unlock()
		close(next.done)
		if left == 0 {
			return
		}
	}
}

func (q *queue[T]) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending)
}

// flush waits until everything that was put before was delivered. The error is
// ctx's.
func (q *queue[T]) flush(ctx context.Context) error {
	q.mu.Lock()
	var last chan struct{}
	if n := len(q.pending); n > 0 {
		last = q.pending[n-1].done
	}
	q.mu.Unlock()
	if last == nil {
		return ctx.Err()
	}
	select {
	case <-last:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop refuses what comes from now on and cuts off the delivery under way. It
// answers what was waiting, never to be delivered, and a channel that is closed
// when no delivery is left.
func (q *queue[T]) stop() (left []T, ended <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.cancel()
	if len(q.pending) == 0 {
		closed := make(chan struct{})
		close(closed)
		return nil, closed
	}
	for _, e := range q.pending[1:] {
		left = append(left, e.value)
		close(e.done)
	}
	q.pending = q.pending[:1]
	return left, q.pending[0].done
}
