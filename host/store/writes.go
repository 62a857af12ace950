package store

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// resend bounds the pauses before a commit of unknown fate is sent again
// through a living handle.
const (
	resendLeast = 10 * time.Millisecond
	resendMost  = time.Second
)

// Renew gives the content a new incarnation and opens it anew: it is then another
// one than before, and stays lost until it is accepted. The answer says whether the
// driver can, not the capability: plugins that were built before there was one do not
// declare it.
func (s *Store) Renew(ctx context.Context, expect string) (incarnation string, err error) {
	ctx, cancel := bounded(ctx, s.opts.CommitTimeout)
	defer cancel()
	h, err := s.use(ctx, s.opts.ReopenWait)
	if err != nil {
		return "", typed(ctx, err, authz.OutcomeNotApplied)
	}
	defer s.done(h)
	incarnation, err = s.renew(ctx, h, expect)
	err = typed(ctx, err, authz.OutcomeUnknown)
	why := err
	switch {
	case err == nil:
		why = storage.Unavailable(authz.OutcomeNotApplied, nil, "the content was given a new incarnation")
	case outcomeOf(err) != authz.OutcomeUnknown:
		if storage.CodeOf(err) == storage.CodeUnavailable {
			s.suspect(h)
		}
		return "", err
	}
	// Also when nobody can say whether it was renewed: opening it tells.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == h && !s.closed {
		s.drop(h, why)
	}
	return incarnation, err
}

func (s *Store) renew(ctx context.Context, h *handle, expect string) (incarnation string, err error) {
	return measure(ctx, s, "Renew", func(ctx context.Context) (string, error) { return h.store.Renew(ctx, expect) })
}

// commitTries attempts of CommitTimeout are the time that a commit has in all.
const commitTries = 4

// Commit sends a commit until its fate is known: again after every attempt that ended
// without saying so, for the time of commitTries attempts and no longer than the caller
// waits. Only when that is over is the outcome unknown. Nobody above sends a commit again.
//
// It is sent to the life of the content that it was judged against and to no other. A
// commit that names none was judged against the present one.
func (s *Store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	ctx, cancel := bounded(ctx, commitTries*s.opts.CommitTimeout)
	defer cancel()
	if err := s.judgedAgainst(&c); err != nil {
		return storage.CommitResult{}, err
	}
	sent := false // an attempt is out whose fate is unknown
	for attempts := 0; ; attempts++ {
		patience := s.opts.ReopenWait
		if sent {
			patience = 0
		}
		h, err := s.use(ctx, patience)
		if err != nil {
			return storage.CommitResult{}, fate(typed(ctx, err, authz.OutcomeNotApplied), sent)
		}
		if h.info.Incarnation != c.Incarnation {
			s.done(h)
			return storage.CommitResult{}, fate(storage.Unavailable(authz.OutcomeNotApplied, errRefused,
				"the content that the commit was judged against is gone"), sent)
		}
		result, err := s.attempt(ctx, h, c)
		if err == nil {
			return result, nil
		}
		if storage.CodeOf(err) != storage.CodeUnavailable {
			return storage.CommitResult{}, err // also settles an attempt that was out
		}
		unknown := outcomeOf(err) == authz.OutcomeUnknown
		sent = sent || unknown
		if ctx.Err() != nil {
			if ours(ctx) {
				s.suspect(h)
			}
			return storage.CommitResult{}, fate(err, sent)
		}
		alive := s.alive(ctx, h)
		if storage.IsLost(err) || alive && !sent { // there is nothing to send it to, or a driver that lives refused it
			return storage.CommitResult{}, fate(err, sent)
		}
		if unknown {
			s.opts.Logger.Warn("the fate of a commit is unknown; sending it again", "commit", c.ID, "changes", len(c.Changes), "attempts", attempts+1, "error", err)
		}
		if !alive {
			continue
		}
		pause := time.NewTimer(backoff(attempts, resendLeast, resendMost))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// attempt sends a commit once, and gives the handle back.
func (s *Store) attempt(ctx context.Context, h *handle, c storage.Commit) (storage.CommitResult, error) {
	defer s.done(h)
	ctx, cancel := bounded(ctx, s.opts.CommitTimeout)
	defer cancel()
	result, err := measure(ctx, s, "Commit", func(ctx context.Context) (storage.CommitResult, error) { return h.store.Commit(ctx, c) })
	return result, typed(ctx, err, authz.OutcomeUnknown)
}

// judgedAgainst names the life of the content that the commit was judged against. A
// section of an earlier life is stale, whatever its number.
func (s *Store) judgedAgainst(c *storage.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range c.Fences {
		if held, ok := s.sections[f]; ok && held.handle.info.Incarnation != s.info.Incarnation {
			return storage.Errorf(storage.CodeStaleFence, "section %s was held in content that is gone", spell.Quote(f.Key))
		}
	}
	if c.Incarnation == "" {
		c.Incarnation = s.info.Incarnation
	}
	return nil
}

// fate is the last word on a commit that did not end: unknown once an attempt
// that may have arrived is out.
func fate(err error, sent bool) error {
	if e, ok := err.(*storage.Error); ok && sent && e.Outcome != authz.OutcomeUnknown {
		fixed := *e
		fixed.Outcome = authz.OutcomeUnknown
		return &fixed
	}
	return err
}

func outcomeOf(err error) authz.Outcome {
	if e, ok := err.(*storage.Error); ok {
		return e.Outcome
	}
	return ""
}

// write carries out a write that is no commit. Nothing recognises a second one,
// so there is none.
func write[T any](ctx context.Context, s *Store, name string, call func(context.Context, storage.Store) (T, error)) (T, error) {
	var none T
	ctx, cancel := bounded(ctx, s.opts.CommitTimeout)
	defer cancel()
	h, err := s.use(ctx, s.opts.ReopenWait)
	if err != nil {
		return none, typed(ctx, err, authz.OutcomeNotApplied)
	}
	defer s.done(h)
	v, err := measure(ctx, s, name, func(ctx context.Context) (T, error) { return call(ctx, h.store) })
	if err == nil {
		return v, nil
	}
	err = typed(ctx, err, authz.OutcomeUnknown)
	if storage.CodeOf(err) == storage.CodeUnavailable && (ctx.Err() == nil || ours(ctx)) {
		s.suspect(h)
	}
	return none, err
}

func (s *Store) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	return write(ctx, s, "PruneEvents", func(ctx context.Context, st storage.Store) (int64, error) { return st.PruneEvents(ctx, p) })
}

func (s *Store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	_, err := write(ctx, s, "RecordMetrics", func(ctx context.Context, st storage.Store) (struct{}, error) {
		return struct{}{}, st.RecordMetrics(ctx, deltas)
	})
	return err
}

func (s *Store) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	return write(ctx, s, "PruneMetrics", func(ctx context.Context, st storage.Store) (int64, error) { return st.PruneMetrics(ctx, before) })
}
