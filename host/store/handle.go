package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// handle is one opening of the partition. users, verdict and retired belong to
// the Store's mu.
type handle struct {
	store storage.Store
	info  storage.StoreInfo

	silent bool // the driver does not tell how its database is; of the goroutine that asks

	users   int           // calls in flight and sections held
	retired bool          // closed when the last user leaves
	verdict chan struct{} // closed when the running probe has an answer
}

// probeID is a commit that nobody ever sent: looking it up is the cheapest
// question that a living handle answers and a dead one does not.
const probeID = "00000000-0000-0000-0000-000000000000"

// maxProbe bounds the wait for that answer.
const maxProbe = 2 * time.Second

// open asks the driver for a handle and makes sure that it got the right one.
func (s *Store) open(ctx context.Context) (*handle, error) {
	st, err := s.driver.Open(ctx, s.partition)
	if err != nil {
		return nil, typed(ctx, err, "")
	}
	h := &handle{store: st, info: st.Info()}
	if h.info.Partition != s.partition {
		_ = st.Close() // the error that matters is the next
		return nil, storage.Unavailable("", nil, "the driver opened partition %s instead of %s",
			spell.Quote(h.info.Partition), spell.Quote(s.partition))
	}
	return h, nil
}

// use returns the current handle, to be given back by done. Without one it waits
// for the reopening, at most patience; 0 is until ctx ends.
func (s *Store) use(ctx context.Context, patience time.Duration) (*handle, error) {
	var over <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	for {
		if ctx.Err() != nil {
			return nil, typed(ctx, ctx.Err(), authz.OutcomeNotApplied)
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
		}
		if h := s.current; h != nil {
			h.users++
			s.mu.Unlock()
			return h, nil
		}
		changed, reason := s.changed, s.reason
		if s.lost != nil && s.lost.taken && patience > 0 {
			err := s.lostError()
			s.mu.Unlock()
			return nil, err // it takes an operator, who takes longer
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-over:
			return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the storage is being reopened: %s", reason)
		}
	}
}

func (s *Store) done(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
	s.sweep(h)
}

// sweep closes a retired handle that nobody uses. Callers hold mu.
func (s *Store) sweep(h *handle) {
	if s.closed || !h.retired || h.users > 0 {
		return
	}
	delete(s.handles, h)
	s.background.Go(func() { _ = h.store.Close() }) // it was given up already
}

// suspect finds out whether a handle that failed a call is dead, or its content
// another one, once for all who ask. The channel closes with the verdict: the handle is then still current,
// or a reopening has begun.
func (s *Store) suspect(h *handle) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.current != h {
		known := make(chan struct{})
		close(known)
		return known
	}
	if h.verdict != nil {
		return h.verdict
	}
	verdict := make(chan struct{})
	h.verdict = verdict
	s.background.Go(func() {
		ctx, cancel := bounded(s.life, min(maxProbe, s.opts.ReadTimeout))
		defer cancel()
		_, err := measure(ctx, s, "GetCommit", func(ctx context.Context) (found bool, err error) {
			_, found, err = h.store.GetCommit(ctx, probeID)
			return found, err
		})
		err = typed(ctx, err, "")
		if err == nil {
			err = s.another(ctx, h)
		}
		if storage.IsLost(err) {
			s.lose(h, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		h.verdict = nil
		close(verdict)
		if storage.CodeOf(err) == storage.CodeUnavailable && s.current == h && !s.closed {
			s.drop(h, err)
		}
	})
	return verdict
}

// another opens the partition once more: a handle knows the incarnation that it
// was opened with and no later one. The error, unavailable, says that it is
// another one; when it cannot be told there is none.
func (s *Store) another(ctx context.Context, h *handle) error {
	now, err := s.open(ctx)
	if storage.IsLost(err) {
		return err
	}
	if err != nil {
		return nil
	}
	_ = now.store.Close() // it held nothing
	if now.info.Incarnation == h.info.Incarnation {
		return nil
	}
	return storage.Unavailable(authz.OutcomeNotApplied, nil, "the content was given a new incarnation")
}

// each calls f with the handle that is open, at every interval in the store's life.
func (s *Store) each(interval time.Duration, f func(*handle)) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-s.life.Done():
			return
		}
		s.mu.Lock()
		h := s.current
		s.mu.Unlock()
		if h != nil {
			f(h)
		}
	}
}

// compare gives up a handle whose content somebody else renewed or replaced: such
// a handle lives and says nothing of it. Without a handle, the reopening compares.
func (s *Store) compare() {
	s.each(s.opts.CompareEvery, func(h *handle) {
		ctx, cancel := bounded(s.life, s.opts.ReadTimeout)
		s.renewCondemned(ctx, h)
		err := s.another(ctx, h)
		cancel()
		if storage.IsLost(err) {
			s.lose(h, err)
		}
		s.mu.Lock()
		if err != nil && s.current == h && !s.closed {
			s.drop(h, err)
		}
		s.mu.Unlock()
	})
}

// replaced waits for the verdict on a handle that failed a call, and when it is
// dead for another. ok is false when the handle lives or none came in time.
func (s *Store) replaced(ctx context.Context, h *handle, patience time.Duration) (next *handle, ok bool) {
	if s.alive(ctx, h) {
		return nil, false
	}
	next, err := s.use(ctx, patience)
	return next, err == nil
}

// alive waits for the verdict on a handle.
func (s *Store) alive(ctx context.Context, h *handle) bool {
	select {
	case <-s.suspect(h):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current == h
}

// drop gives the current handle up and begins to reopen. Callers hold mu.
func (s *Store) drop(h *handle, why error) {
	s.opts.Logger.Warn("storage handle lost, reopening", "application", s.opts.Application, "partition", s.partition,
		"driver", s.driverName, "error", why, "cause", errors.Unwrap(why))
	s.current, s.since, s.reason = nil, time.Now(), reasonOf(why)
	h.retired = true
	s.sweep(h)
	if !s.reopening {
		s.reopening = true
		s.background.Go(s.reopen)
	}
}

// Reopen makes sure that a living handle is open, at once instead of after the
// next attempt's delay. It is for whoever restarted the driver's process.
func (s *Store) Reopen(ctx context.Context) error {
	s.mu.Lock()
	h := s.current
	s.mu.Unlock()
	if h != nil {
		s.alive(ctx, h)
	}
	select {
	case s.kick <- struct{}{}:
	default: // somebody else hurries it already
	}
	h, err := s.use(ctx, 0)
	if err != nil {
		return err
	}
	s.done(h)
	return nil
}

// reopen tries until a handle is open or the store is closed.
func (s *Store) reopen() {
	select { // a kick that came before this reopening is none for it
	case <-s.kick:
	default:
	}
	for failures := 0; ; failures++ {
		ctx, cancel := bounded(s.life, s.opts.CommitTimeout)
		h, err := s.open(ctx)
		if err == nil {
			h, err = s.renewTaken(ctx, h)
		}
		cancel()
		if err == nil {
			s.publish(h)
			return
		}
		s.mu.Lock()
		s.reason = reasonOf(err)
		s.mu.Unlock()
		log := s.opts.Logger.Debug
		if failures == 0 {
			log = s.opts.Logger.Warn
		}
		log("storage cannot be reopened yet", "application", s.opts.Application, "partition", s.partition, "error", err, "cause", errors.Unwrap(err))
		pause := time.NewTimer(backoff(failures, s.opts.ReopenMin, s.opts.ReopenMax))
		select {
		case <-pause.C:
		case <-s.kick:
			failures = 0
		case <-s.life.Done():
			pause.Stop()
			return
		}
		pause.Stop()
	}
}

// publish makes h the current handle. Another life is told to OnLost before
// anybody can be answered from it.
func (s *Store) publish(h *handle) {
	s.losing.Lock()
	defer s.losing.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = h.store.Close()
		return
	}
	before := s.info.Incarnation
	s.info = h.info
	another := before != h.info.Incarnation
	if another {
		s.condemned = ""
		if s.lost == nil {
			s.lost = &loss{since: time.Now(), reason: "the content of partition " + spell.Quote(s.partition) +
				" is not the one that was open before: it vanished, was restored, or another host found that it lost events"}
		}
	}
	s.mu.Unlock()
	if another {
		s.opts.OnLost()
		s.opts.Logger.Error("STORAGE LOST: the content is another one than before; checks are unavailable until it is filled and accepted",
			"application", s.opts.Application, "partition", s.partition, "was", before, "is", h.info.Incarnation,
			"accept", "authz storage accept "+s.opts.Application)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reopening = false
	if s.closed {
		s.background.Go(func() { _ = h.store.Close() })
		return
	}
	s.handles[h] = struct{}{}
	s.current, s.since, s.reason = h, time.Now(), ""
	close(s.changed)
	s.changed = make(chan struct{})
	s.opts.Logger.Info("storage reopened", "application", s.opts.Application, "partition", s.partition, "incarnation", h.info.Incarnation)
}

// backoff doubles from least to most and takes a random part of it off, so that
// many stores of one restarted process do not come at once.
func backoff(failures int, least, most time.Duration) time.Duration {
	d := most
	if failures < 20 {
		d = min(most, least<<failures)
	}
	return d/2 + rand.N(d/2+1)
}
