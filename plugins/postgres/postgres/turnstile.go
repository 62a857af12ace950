package postgres

import (
	"container/list"
	"context"
	"sync"
)

// pair is what a section is known by.
type pair struct{ partition, key string }

// text spells the pair as no other one: partitions hold no slash.
func (p pair) text() string { return p.partition + "/" + p.key }

// turnstile lets the waiters of one pair through one at a time, in the order they
// came: only the first of them asks the database.
type turnstile struct {
	mu     sync.Mutex
	queues map[pair]*list.List // of *ticket
}

// ticket is a place in a queue.
type ticket struct {
	pair  pair
	first chan struct{} // closed when it is the first
	wake  chan struct{} // nudged when the section may have become free
	place *list.Element
}

func (t *turnstile) join(p pair) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.queues[p]
	if queue == nil {
		queue = list.New()
		t.queues[p] = queue
	}
	k := &ticket{pair: p, first: make(chan struct{}), wake: make(chan struct{}, 1)}
	k.place = queue.PushBack(k)
	if queue.Front() == k.place {
		close(k.first)
	}
	return k
}

// leave lets the next waiter through.
func (t *turnstile) leave(k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.queues[k.pair]
	wasFirst := queue.Front() == k.place
	queue.Remove(k.place)
	switch next := queue.Front(); {
	case next == nil:
		delete(t.queues, k.pair)
	case wasFirst:
		close(next.Value.(*ticket).first)
	}
}

// freed has the first waiter of the pair ask at once.
func (t *turnstile) freed(p pair) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if queue := t.queues[p]; queue != nil {
		nudge(queue.Front().Value.(*ticket).wake)
	}
}

// wait returns when the ticket is the first, or with the context's error.
func (k *ticket) wait(ctx context.Context) error {
	select {
	case <-k.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
