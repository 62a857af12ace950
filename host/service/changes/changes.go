package changes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Every is how often a place is looked at, Patience how long one look may take.
const (
	Every    = 400 * time.Millisecond
	Patience = 5 * time.Second
)

// Place is where something may be written.
type Place struct {
	Org  string
	Name string // Account, Root, or an application's id behind Application
}

// The names of places.
const (
	Account     = "account"
	Root        = "org"
	Application = "application:"
)

// Look answers the position of a place, given the one before it, "" at first: another one
// when something was written since.
type Look func(ctx context.Context, at Place, before string) (position string, err error)

// Watcher looks at places while somebody waits.
type Watcher struct {
	look  Look
	every time.Duration

	mu     sync.Mutex
	closed bool
	places map[Place]*watched
	looks  sync.WaitGroup
}

type watched struct {
	waiting map[*Waiter]bool
	end     context.CancelFunc
}

// New makes a Watcher that looks so often; 0 is Every.
func New(look Look, every time.Duration) *Watcher {
	if every == 0 {
		every = Every
	}
	return &Watcher{look: look, every: every, places: map[Place]*watched{}}
}

// Close ends all waiting.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	for at, p := range w.places {
		for one := range p.waiting {
			one.finish()
		}
		p.end()
		delete(w.places, at)
	}
	w.mu.Unlock()
	w.looks.Wait()
}

// Waiter is somebody who waits.
type Waiter struct {
	watcher *Watcher
	places  []Place

	// Ready receives when Changed has something to say, or nothing follows.
	Ready <-chan struct{}

	ready   chan struct{}
	mu      sync.Mutex
	changed map[string]bool
	over    bool
}

// Wait begins to wait for places of one org. Close ends it.
func (w *Watcher) Wait(org string, names ...string) *Waiter {
	ready := make(chan struct{}, 1)
	one := &Waiter{watcher: w, Ready: ready, ready: ready, changed: map[string]bool{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		one.finish()
		return one
	}
	for _, name := range names {
		at := Place{org, name}
		p := w.places[at]
		if p == nil {
			ctx, end := context.WithCancel(context.Background())
			p = &watched{waiting: map[*Waiter]bool{}, end: end}
			w.places[at] = p
			w.looks.Go(func() { w.watch(ctx, at, p) })
		}
		p.waiting[one] = true
		one.places = append(one.places, at)
	}
	return one
}

// Close ends waiting.
func (o *Waiter) Close() {
	w := o.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range o.places {
		p := w.places[at]
		if p == nil {
			continue
		}
		if delete(p.waiting, o); len(p.waiting) == 0 {
			p.end()
			delete(w.places, at)
		}
	}
}

// Changed are the names of the places where something was written since it was asked, in
// their order. Over tells that nothing follows.
func (o *Waiter) Changed() (names []string, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names = slices.Sorted(maps.Keys(o.changed))
	clear(o.changed)
	return names, o.over
}

func (o *Waiter) tell(name string) {
	o.mu.Lock()
	o.changed[name] = true
	o.mu.Unlock()
	o.wake()
}

func (o *Waiter) finish() {
	o.mu.Lock()
	o.over = true
	o.mu.Unlock()
	o.wake()
}

func (o *Waiter) wake() {
	select {
	case o.ready <- struct{}{}:
	default: // it is awake
	}
}

// watch looks at a place until nobody waits. What cannot be looked at is looked at again:
// its next position tells whether anything was written meanwhile.
func (w *Watcher) watch(ctx context.Context, at Place, p *watched) {
	position := ""
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, Patience)
		next, err := w.look(limited, at, position)
		cancel()
		if err == nil && next != position {
			w.mu.Lock() // at first too: something may have been written before the look
			for one := range p.waiting {
				one.tell(at.Name)
			}
			w.mu.Unlock()
			position = next
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.every):
		}
	}
}
