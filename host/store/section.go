package store

import (
	"context"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// section is a section with the handle that it hangs on. The handle stays open
// until the section is released, also when another has taken its place: a lease
// may outlive a broken connection.
type section struct {
	storage.Section
	store  *Store
	handle *handle
	once   sync.Once
}

// Acquire waits for a section, at most storage.DefaultAcquireWait. It is not
// repeated: a section that was acquired and lost again is nobody's.
func (s *Store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	ctx, cancel := bounded(ctx, storage.DefaultAcquireWait)
	defer cancel()
	h, err := s.use(ctx, s.opts.ReopenWait)
	if err != nil {
		return nil, typed(ctx, err, authz.OutcomeNotApplied)
	}
	// Its time is mostly that of waiting for whoever holds the section.
	inner, err := measure(ctx, s, "Acquire", func(ctx context.Context) (storage.Section, error) { return h.store.Acquire(ctx, key) })
	if err != nil {
		err = typed(ctx, err, authz.OutcomeNotApplied)
		// Waiting long is no sign of a dead handle; an early end is.
		if storage.CodeOf(err) == storage.CodeUnavailable && ctx.Err() == nil {
			s.suspect(h)
		}
		s.done(h)
		if outcomeOf(err) == authz.OutcomeUnknown {
			// Whether a section was taken is nobody's concern: no row was written.
			return nil, storage.Unavailable(authz.OutcomeNotApplied, err, "%s", reasonOf(err))
		}
		return nil, err
	}
	held := &section{Section: inner, store: s, handle: h}
	s.mu.Lock()
	s.sections[inner.Fence()] = held
	s.mu.Unlock()
	return held, nil
}

// Renew extends the lease through the handle that acquired the section. Content
// of another life has no such section.
func (h *section) Renew(ctx context.Context) error {
	s := h.store
	s.mu.Lock()
	gone := h.handle.info.Incarnation != s.info.Incarnation
	s.mu.Unlock()
	if gone {
		return storage.Errorf(storage.CodeStaleFence, "section %s was held in content that is gone", spell.Quote(h.Fence().Key))
	}
	ctx, cancel := bounded(ctx, h.patience())
	defer cancel()
	err := typed(ctx, h.Section.Renew(ctx), "")
	if storage.CodeOf(err) == storage.CodeUnavailable && (ctx.Err() == nil || ours(ctx)) {
		s.suspect(h.handle)
	}
	return err
}

// Release gives the section back and lets go of its handle.
func (h *section) Release(ctx context.Context) (err error) {
	h.once.Do(func() {
		ctx, cancel := bounded(ctx, h.patience())
		defer cancel()
		err = typed(ctx, h.Section.Release(ctx), "")
		h.store.mu.Lock()
		delete(h.store.sections, h.Fence())
		h.store.mu.Unlock()
		h.store.done(h.handle)
	})
	return err
}

// patience is no longer than the lease: past it an answer is worth nothing.
func (h *section) patience() time.Duration { return min(h.Lease(), h.store.opts.ReadTimeout) }
