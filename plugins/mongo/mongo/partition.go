package mongo

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// partition is what the handles of one driver share of a slice of the database.
type partition struct {
	*driver
	name   string
	tables *layout.Partition
	marker layout.Marker

	handles int // under driver.mu
	life    context.Context
	stop    context.CancelFunc

	// writer is held by whoever of this process waits for the turn or has it:
	// first come, first served.
	writer chan struct{}

	queues  queues
	leases  storage.Leases // of holders that are in the way, the turn's too
	flights flights
	head    signal
}

func newPartition(d *driver, name string, tables *layout.Partition, marker layout.Marker) *partition {
	p := &partition{driver: d, name: name, tables: tables, marker: marker, writer: make(chan struct{}, 1),
		queues: queues{byKey: map[string]*queue{}}, flights: newFlights(), head: signal{moved: make(chan struct{})}}
	p.life, p.stop = context.WithCancel(context.Background())
	// A sweep may wait long: it must not keep what a dead writer left waiting too.
	go p.every(watchTurn, p.rescue)
	go p.every(d.sweepEvery, p.sweep)
	return p
}

func (p *partition) in(name layout.Name) *layout.Collection { return p.tables.Collection(name) }

// step tells a test which statement comes next.
func (p *partition) step(name string) error {
	if p.pause == nil {
		return nil
	}
	return p.pause(name)
}

// every carries out what is due from time to time while the partition is open.
func (p *partition) every(most time.Duration, due func(context.Context) error) {
	for {
		select {
		case <-p.life.Done():
			return
		case <-time.After(jitter(most)):
		}
		ctx, done := context.WithTimeout(p.life, p.patience)
		_ = due(ctx) // a database that does not answer is asked again the next time
		done()
	}
}

// jitter is a duration a little below d, so that processes do not act in step.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// signal wakes whoever waits for a new head.
type signal struct {
	mu    sync.Mutex
	moved chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}

// flights counts commits that have been started and not ended, and by the fences
// that they run under: a section goes back only when none runs under it.
type flights struct {
	mu      sync.Mutex
	all     int
	under   map[storage.Fence]int
	unclear map[storage.Fence]bool // of sections held here: true when a decision that was sent may yet arrive
	ended   chan struct{}          // closed at the next end
}

func newFlights() flights {
	return flights{under: map[storage.Fence]int{}, unclear: map[storage.Fence]bool{}, ended: make(chan struct{})}
}

func (f *flights) start(fences []storage.Fence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all++
	for _, fence := range fences {
		f.under[fence]++
	}
}

func (f *flights) end(fences []storage.Fence, unclear bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all--
	for _, fence := range fences {
		if f.under[fence]--; f.under[fence] == 0 {
			delete(f.under, fence)
		}
		if _, held := f.unclear[fence]; held && unclear {
			f.unclear[fence] = true
		}
	}
	close(f.ended)
	f.ended = make(chan struct{})
}

// wait reports whether the condition came true before ctx ended.
func (f *flights) wait(ctx context.Context, ready func(*flights) bool) bool {
	for {
		f.mu.Lock()
		ok, ended := ready(f), f.ended
		f.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
}

// hold begins to note what becomes of decisions under the fence of a section.
func (f *flights) hold(fence storage.Fence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unclear[fence] = false
}

// letGo ends that.
func (f *flights) letGo(fence storage.Fence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.unclear, fence)
}

// settled reports whether every decision made under the fence is known.
func (f *flights) settled(fence storage.Fence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.unclear[fence]
}
