package mongo

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// queues order this process's waiters of one section: the first of them polls the
// database, and a release nearby wakes it.
type queues struct {
	mu    sync.Mutex
	byKey map[string]*queue
}

type queue struct {
	users int // waiters and holders
	first chan struct{}
	freed chan struct{} // holds one
}

func (q *queues) join(key string) *queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.byKey[key]
	if at == nil {
		at = &queue{first: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
		q.byKey[key] = at
	}
	at.users++
	return at
}

func (q *queues) leave(key string, at *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(q.byKey, key)
	}
}

func (q *queue) wake() {
	select {
	case q.freed <- struct{}{}:
	default:
	}
}

// section is one acquisition.
type section struct {
	store  *store
	key    string
	holder string
	fence  int64
	queue  *queue
	over   atomic.Bool // released, or found lost
	once   sync.Once
}

func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.usable(ctx, key); err != nil {
		return nil, err
	}
	switch key {
	case "":
		return nil, storage.Errorf(storage.CodeValidation, "a section needs a key that is not empty")
	case turnKey:
		return nil, storage.Errorf(storage.CodeValidation, "section %s is the driver's own", spell.Quote(key))
	}
	p := s.partition
	ctx, cancel := s.whileOpen(ctx)
	defer cancel()
	q := p.queues.join(key)
	got, err := s.acquire(ctx, key, q)
	if err != nil {
		p.queues.leave(key, q)
		if s.handle.Closed() {
			return nil, seam.Closed()
		}
		if ctx.Err() != nil {
			return nil, interrupted(ctx)
		}
		return nil, failed(err)
	}
	p.flights.hold(got.Fence())
	if !s.keep(got) {
		got.release(p.life)
		return nil, seam.Closed()
	}
	return got, nil
}

// acquire waits behind this process's other waiters, then polls. It answers only
// when nothing that was judged under an earlier fence can still be decided.
func (s *store) acquire(ctx context.Context, key string, q *queue) (*section, error) {
	select {
	case q.first <- struct{}{}:
	case <-ctx.Done():
		return nil, interrupted(ctx)
	}
	defer func() { <-q.first }()
	p, holder := s.partition, rand.Text()
	if err := p.in(layout.Locks).Ready(ctx); err != nil {
		return nil, err
	}
	way := obstacle{p: p, key: key, length: p.lease}
	for wait := pollLeast; ; wait = min(2*wait, pollMost) {
		before, fence, held, err := p.takeLock(ctx, key, holder, p.lease, way.stale)
		if held && before.Holder != nil {
			err = p.passThrough(ctx)
		}
		if err != nil {
			// The caller may have left; the lease ends what cannot be given back.
			p.aside(func(ctx context.Context) { _ = p.surrender(ctx, key, holder) })
			return nil, err
		}
		if held {
			return &section{store: s, key: key, holder: holder, fence: fence, queue: q}, nil
		}
		way.look(ctx)
		select {
		case <-q.freed:
		case <-time.After(jitter(wait)):
		case <-ctx.Done():
			return nil, interrupted(ctx)
		}
	}
}

// surrender ends the lease of an acquisition that nobody will use. It keeps the
// holder, so that the next one is a theft too.
func (p *partition) surrender(ctx context.Context, key, holder string) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), min(p.lease, closeWait))
	defer done()
	now, err := p.clock.now(ctx)
	if err != nil {
		return err
	}
	locks := p.in(layout.Locks)
	// Ended now, not long ago: a sweep would take the row, and with it the sign of a theft.
	_, err = locks.Update(ctx, locks.Key(key, eq("holder", holder)), set(eq("expiresAt", now)))
	return err
}

func (s *section) Fence() storage.Fence { return storage.Fence{Key: s.key, Fence: s.fence} }

func (s *section) Lease() time.Duration { return s.store.partition.lease }

func (s *section) Renew(ctx context.Context) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if s.over.Load() {
		return errLost(s)
	}
	p := s.store.partition
	held, err := p.renewLock(ctx, s.key, s.holder, s.fence, p.lease)
	if err != nil {
		return failed(err)
	}
	if !held {
		s.end()
		return errLost(s)
	}
	return nil
}

func errLost(s *section) *storage.Error {
	return storage.Errorf(storage.CodeStaleFence, "section %s is no longer held under fence %d", spell.Quote(s.key), s.fence)
}

func (s *section) Release(ctx context.Context) error {
	if s.over.Load() {
		return nil
	}
	return s.release(ctx)
}

// releaseWait is how long a release waits for commits under the section.
const releaseWait = time.Second

// release gives the section back once no commit runs under it. A commit that takes
// longer, or one whose decision was sent and not answered, may still be decided:
// the section is then left for the next holder to rob, who passes through the turn
// and finds it finished or impossible.
func (s *section) release(ctx context.Context) error {
	p := s.store.partition
	defer s.end()
	wait, done := context.WithTimeout(ctx, releaseWait)
	defer done()
	quiet := p.flights.wait(wait, func(f *flights) bool { return f.under[s.Fence()] == 0 })
	if !p.flights.settled(s.Fence()) || !quiet {
		return failed(p.surrender(ctx, s.key, s.holder))
	}
	return failed(p.freeLock(ctx, s.key, s.holder, s.fence))
}

// end takes the section off the store's list, once.
func (s *section) end() {
	s.once.Do(func() {
		s.over.Store(true)
		s.store.drop(s)
		s.store.partition.flights.letGo(s.Fence())
		s.queue.wake()
		s.store.partition.queues.leave(s.key, s.queue)
	})
}
