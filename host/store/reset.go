package store

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var _ provider.Losing = (*Store)(nil)

// LostPosition is told by whoever kept a position of a log that the log no longer
// has it. The store makes sure of that. It is then lost, and its content gets another
// incarnation, over the one that lost the events and no other, so that every host
// learns of it.
func (s *Store) LostPosition(ctx context.Context, incarnation string, at authz.Position) {
	ctx, cancel := bounded(ctx, s.opts.ReadTimeout)
	defer cancel()
	head, err := s.Head(ctx)
	if err != nil {
		return // whoever kept the position comes again
	}
	if head.Seq >= at.Seq {
		page, err := s.EventsSince(ctx, at, 1)
		if err != nil || !page.Reset {
			return
		}
	}
	if !s.condemn(incarnation, at) {
		return
	}
	h, err := s.use(ctx, s.opts.ReopenWait)
	if err != nil {
		return // compare renews it
	}
	defer s.done(h)
	s.renewCondemned(ctx, h)
}

// condemn makes the store lost because its log lost an event.
func (s *Store) condemn(incarnation string, at authz.Position) bool {
	s.losing.Lock()
	defer s.losing.Unlock()
	s.mu.Lock()
	if s.closed || s.info.Incarnation != incarnation || s.condemned == incarnation {
		s.mu.Unlock()
		return false
	}
	s.condemned = incarnation
	if s.lost == nil {
		s.lost = &loss{since: time.Now(), reason: "the content of partition " + spell.Quote(s.partition) + " lost event " + at.String() +
			", which had been acknowledged: the database failed over to a standby that lacked it, or was restored"}
	}
	s.mu.Unlock()
	s.opts.OnLost()
	s.opts.Logger.Error("STORAGE LOST: the event log lost events that had been acknowledged; checks are unavailable until what was lost is written again and the content accepted",
		"application", s.opts.Application, "partition", s.partition, "incarnation", incarnation, "event", at.Seq, "identity", at.Identity,
		"accept", "authz storage accept "+s.opts.Application)
	return true
}

// renewCondemned gives content that lost events another incarnation. A failure is
// tried again at the next comparison: until then other hosts know only what their own
// positions tell.
func (s *Store) renewCondemned(ctx context.Context, h *handle) {
	s.mu.Lock()
	condemned := s.condemned
	s.mu.Unlock()
	if condemned == "" || condemned != h.info.Incarnation {
		return
	}
	_, err := s.renew(ctx, h, condemned)
	if storage.CodeOf(err) == storage.CodeUnsupported {
		return
	}
	if err = typed(ctx, err, authz.OutcomeUnknown); err != nil && storage.CodeOf(err) != storage.CodeConflict {
		s.opts.Logger.Warn("content that lost events could not be given a new incarnation; trying again",
			"application", s.opts.Application, "partition", s.partition, "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == h && !s.closed {
		s.drop(h, storage.Unavailable(authz.OutcomeNotApplied, nil, "the content lost events and was given a new incarnation"))
	}
}
