package store

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// askHealth asks the driver how its database is. The answer says whether it tells at
// all, as with Renew.
func (s *Store) askHealth() {
	s.each(s.opts.HealthEvery, func(h *handle) {
		if h.silent {
			return
		}
		ctx, cancel := bounded(s.life, maxProbe)
		health, err := h.store.Health(ctx)
		cancel()
		switch {
		case err == nil:
			s.compareClocks(health.ClockAhead)
		case storage.IsLost(err):
			s.lose(h, err)
		case storage.CodeOf(err) == storage.CodeUnsupported:
			h.silent = true
		}
	})
}

// lose gives up a handle whose content was taken away under it. The store is lost from
// now on, whatever is opened next.
func (s *Store) lose(h *handle, why error) {
	s.losing.Lock()
	defer s.losing.Unlock()
	s.mu.Lock()
	if s.closed || s.current != h {
		s.mu.Unlock()
		return
	}
	s.lost = &loss{since: time.Now(), reason: reasonOf(why), taken: true}
	s.drop(h, why)
	s.mu.Unlock()
	s.opts.OnLost()
	s.opts.Logger.Error("STORAGE LOST: the content was taken away while it was open; the store is unavailable until it is put back and accepted",
		"application", s.opts.Application, "partition", s.partition, "incarnation", h.info.Incarnation, "error", reasonOf(why),
		"accept", "authz storage accept "+s.opts.Application)
}

// renewTaken gives content that comes back after it was taken away another incarnation,
// unless it has one: it may be an older copy under the name that every host knows. It
// takes the place of the handle, which it closes.
func (s *Store) renewTaken(ctx context.Context, h *handle) (*handle, error) {
	s.mu.Lock()
	known := s.info.Incarnation
	same := s.lost != nil && s.lost.taken && h.info.Incarnation == known
	s.mu.Unlock()
	if !same {
		return h, nil
	}
	_, err := s.renew(ctx, h, known)
	_ = h.store.Close() // it held nothing
	if code := storage.CodeOf(err); err != nil && code != storage.CodeUnsupported && code != storage.CodeConflict {
		return nil, typed(ctx, err, authz.OutcomeUnknown)
	}
	return s.open(ctx)
}
