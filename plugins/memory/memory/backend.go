package memory

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// schemaVersion is the relational one: the memory driver keeps the same entities.
const schemaVersion = 6

// Options configures a Backend. The zero value is ready to use.
type Options struct {
	// Clock gives epoch milliseconds: where fences start, and how long commit
	// ids and idle fences are kept. nil is the wall clock.
	Clock func() int64

	// Lease is how long a section is held without a renewal, by the process's
	// monotonic clock. Zero or less is storage.DefaultLease.
	Lease time.Duration
}

// Backend holds partitions. Stores opened over one backend by whichever driver
// see each other; stores of two backends share nothing.
type Backend struct {
	clock func() int64
	lease time.Duration

	mu         sync.Mutex
	partitions map[string]*partition
}

// NewBackend returns an empty backend.
func NewBackend(opts Options) *Backend {
	if opts.Clock == nil {
		opts.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if opts.Lease <= 0 {
		opts.Lease = storage.DefaultLease
	}
	return &Backend{clock: opts.Clock, lease: opts.Lease, partitions: map[string]*partition{}}
}

// Driver returns a driver over the backend. Closing it ends the stores that it
// opened; the content stays with the backend.
func (b *Backend) Driver() storage.Driver {
	return &driver{backend: b, stores: map[*store]struct{}{}}
}

// New returns a driver over a backend of its own.
func New(opts Options) storage.Driver { return NewBackend(opts).Driver() }

func (b *Backend) partition(name string) *partition {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, found := b.partitions[name]
	if !found {
		p = &partition{
			name:     name,
			clock:    b.clock,
			writer:   make(chan struct{}, 1),
			sections: newSections(b.clock, b.lease),
		}
		incarnation := rand.Text()
		p.incarnation.Store(&incarnation)
		p.current.Store(newState())
		b.partitions[name] = p
	}
	return p
}

// partition owns one slice of the backend.
type partition struct {
	name        string
	incarnation atomic.Pointer[string]
	clock       func() int64

	// writer is held by whoever builds the next state.
	writer   chan struct{}
	current  atomic.Pointer[state]
	sections *sections
}

// write gives build a draft of the current state and publishes it when build
// changed it and the fences still stand at that moment.
func (p *partition) write(ctx context.Context, fences []storage.Fence, build func(*draft) (changed bool, err error)) error {
	select {
	case p.writer <- struct{}{}:
	case <-ctx.Done():
		return seam.Interrupted(ctx)
	}
	defer func() { <-p.writer }()
	before := p.current.Load()
	d := before.draft()
	if changed, err := build(d); err != nil || !changed {
		return err
	}
	moved := d.log.head() != before.log.head()
	if moved {
		d.log.moved = make(chan struct{})
	}
	err := p.sections.whileCurrent(fences, func() { p.current.Store(&d.state) })
	if err == nil && moved {
		close(before.log.moved)
	}
	return err
}

type driver struct {
	backend *Backend

	mu     sync.Mutex
	closed bool
	stores map[*store]struct{}
}

func (d *driver) Info() storage.DriverInfo {
	durable := false
	return storage.DriverInfo{Name: "memory", Durable: &durable, CrossProcess: true}
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	if err := storage.CheckPartition(partition); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, seam.Interrupted(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, seam.DriverClosed()
	}
	p := d.backend.partition(partition)
	s := &store{partition: p, incarnation: *p.incarnation.Load(), handle: make(seam.Handle)}
	s.forget = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.stores, s)
	}
	d.stores[s] = struct{}{}
	return s, nil
}

func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	open := make([]*store, 0, len(d.stores))
	for s := range d.stores {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		_ = s.Close() // never fails
	}
	return nil
}
