package memory

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// keepIdle is how long the fence of a free section is kept, in the clock's
// milliseconds, and sweepIdle how many older ones an acquisition forgets.
const (
	keepIdle  = int64(24 * time.Hour / time.Millisecond)
	sweepIdle = 8
)

// sections are the exclusive sections of one partition. Waiters of one key are
// served in the order they came; a holder whose lease has run out is robbed by
// the first waiter, or by whoever comes next.
type sections struct {
	clock func() int64
	lease time.Duration

	mu   sync.Mutex
	rows map[string]*sectionRow
	idle *list.List // of free rows, longest free first

	// floor is the highest fence ever forgotten, so that no fence repeats even
	// when the clock is set back.
	floor int64
}

type sectionRow struct {
	key     string
	fence   int64
	holder  *section // nil when free
	expires time.Time
	queue   []*waiter

	place     *list.Element // in idle
	freeSince int64
}

type waiter struct {
	store *store
	got   chan *section // holds one
}

// section is one acquisition; it is held as long as its row says so.
type section struct {
	sections *sections
	row      *sectionRow
	store    *store
	fence    int64
}

func newSections(clock func() int64, lease time.Duration) *sections {
	return &sections{clock: clock, lease: lease, rows: map[string]*sectionRow{}, idle: list.New()}
}

// whileCurrent runs f when every fence is the newest of its key. Nobody can
// take a section between the comparison and the end of f.
func (t *sections) whileCurrent(fences []storage.Fence, f func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, want := range fences {
		if row, found := t.rows[want.Key]; !found || row.fence != want.Fence {
			return storage.Errorf(storage.CodeStaleFence, "section %s has moved on from fence %d", spell.Quote(want.Key), want.Fence)
		}
	}
	f()
	return nil
}

func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.usable(ctx, key); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, storage.Errorf(storage.CodeValidation, "a section needs a key that is not empty")
	}
	t := s.partition.sections
	w := &waiter{store: s, got: make(chan *section, 1)}
	t.mu.Lock()
	row := t.row(key)
	row.queue = append(row.queue, w)
	left := t.advance(row)
	t.mu.Unlock()
	for {
		leaseEnds := time.NewTimer(left)
		select {
		case got := <-w.got:
			leaseEnds.Stop()
			return got, nil
		case <-ctx.Done():
			leaseEnds.Stop()
			t.leave(row, w)
			return nil, seam.Interrupted(ctx)
		case <-s.handle:
			leaseEnds.Stop()
			t.leave(row, w)
			return nil, seam.Closed()
		case <-leaseEnds.C:
			t.mu.Lock()
			left = t.advance(row)
			t.mu.Unlock()
		}
	}
}

// row finds the row of a key or makes one, and forgets some that have been free
// for long.
func (t *sections) row(key string) *sectionRow {
	now := t.clock()
	for range sweepIdle {
		front := t.idle.Front()
		if front == nil || now-front.Value.(*sectionRow).freeSince <= keepIdle {
			break
		}
		old := t.idle.Remove(front).(*sectionRow)
		t.floor = max(t.floor, old.fence)
		delete(t.rows, old.key)
	}
	row, found := t.rows[key]
	if !found {
		row = &sectionRow{key: key, fence: max(now, t.floor+1) - 1}
		row.place = t.idle.PushBack(row)
		row.freeSince = now
		t.rows[key] = row
	}
	return row
}

// advance gives the section to its first waiter when it is free or its lease
// has run out, and returns how long the present lease still runs.
func (t *sections) advance(row *sectionRow) time.Duration {
	row.queue = slices.DeleteFunc(row.queue, func(w *waiter) bool { return w.store.handle.Closed() })
	if len(row.queue) > 0 && (row.holder == nil || time.Until(row.expires) <= 0) {
		first := row.queue[0]
		row.queue = slices.Delete(row.queue, 0, 1)
		if row.place != nil {
			t.idle.Remove(row.place)
			row.place = nil
		}
		row.fence++
		row.holder = &section{sections: t, row: row, store: first.store, fence: row.fence}
		row.expires = time.Now().Add(t.lease)
		first.got <- row.holder
	}
	return time.Until(row.expires)
}

// leave takes a waiter out of the queue, or gives back what it was just given.
func (t *sections) leave(row *sectionRow, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row.queue = slices.DeleteFunc(row.queue, func(o *waiter) bool { return o == w })
	select {
	case got := <-w.got:
		t.free(got)
	default:
	}
}

// free ends a section that is still held; the next waiter has it at once.
func (t *sections) free(s *section) {
	row := s.row
	if row.holder != s {
		return
	}
	row.holder = nil
	row.freeSince = t.clock()
	row.place = t.idle.PushBack(row)
	t.advance(row)
}

func (t *sections) releaseOf(s *store) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range t.rows {
		if row.holder != nil && row.holder.store == s {
			t.free(row.holder)
		}
	}
}

func (s *section) Fence() storage.Fence { return storage.Fence{Key: s.row.key, Fence: s.fence} }

func (s *section) Lease() time.Duration { return s.sections.lease }

func (s *section) Renew(ctx context.Context) error {
	if ctx.Err() != nil {
		return seam.Interrupted(ctx)
	}
	s.sections.mu.Lock()
	defer s.sections.mu.Unlock()
	if s.row.holder != s {
		return storage.Errorf(storage.CodeStaleFence, "section %s is no longer held under fence %d", spell.Quote(s.row.key), s.fence)
	}
	s.row.expires = time.Now().Add(s.sections.lease)
	return nil
}

// Release needs no time that its context could take away.
func (s *section) Release(context.Context) error {
	s.sections.mu.Lock()
	defer s.sections.mu.Unlock()
	s.sections.free(s)
	return nil
}
