package store

import (
	"context"
	"errors"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// errNoAnswer is the cause of a context that this package ended.
var errNoAnswer = errors.New("no answer in time")

// errRefused is the cause of what this package refuses itself: no sign of a dead
// handle.
var errRefused = errors.New("refused above the driver")

// bounded gives a call its deadline; a shorter one stays.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, errNoAnswer)
}

// ours reports that this package ended the context, not the caller.
func ours(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNoAnswer) }

// typed makes every error a *storage.Error; nil stays nil. outcome is what is
// known of a call that was cut off: "" of a read.
func typed(ctx context.Context, err error, outcome authz.Outcome) error {
	if err == nil {
		return nil
	}
	var e *storage.Error
	if errors.As(err, &e) {
		if e.Code != storage.CodeUnavailable || e.Outcome == outcome {
			return e
		}
		fixed := *e
		switch {
		case outcome == "":
			fixed.Outcome = ""
		case fixed.Outcome == "":
			fixed.Outcome = outcome
		}
		return &fixed
	}
	switch {
	case ours(ctx):
		return storage.Unavailable(outcome, err, "the storage gave no answer in time")
	case ctx.Err() != nil:
		return storage.Unavailable(outcome, err, "the caller ended the call")
	}
	return storage.Unavailable(outcome, err, "the storage driver failed")
}

// reasonOf is what people may read of an error: not its cause.
func reasonOf(err error) string {
	var e *storage.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the storage driver failed"
}

// read carries out a read, a second time when the handle died under it.
func read[T any](ctx context.Context, s *Store, name string, call func(context.Context, storage.Store) (T, error)) (T, error) {
	return readIf(ctx, s, name, func(*handle) error { return nil }, call)
}

// closure is a read that decisions hang on: not of content that nobody accepted.
func closure[T any](ctx context.Context, s *Store, name string, call func(context.Context, storage.Store) (T, error)) (T, error) {
	return readIf(ctx, s, name, func(h *handle) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.lostError(); err != nil {
			return err
		}
		if h.info.Incarnation != s.info.Incarnation {
			return storage.Unavailable("", errRefused, "the content was replaced while it was read")
		}
		return nil
	}, call)
}

func readIf[T any](ctx context.Context, s *Store, name string, may func(*handle) error, call func(context.Context, storage.Store) (T, error)) (T, error) {
	var none T
	ctx, cancel := bounded(ctx, s.opts.ReadTimeout)
	defer cancel()
	h, err := s.use(ctx, s.opts.ReopenWait)
	if err != nil {
		return none, typed(ctx, err, "")
	}
	v, err := attempt(ctx, s, h, name, may, call)
	if err == nil || !s.repeatable(ctx, h, err) {
		return v, err
	}
	next, ok := s.replaced(ctx, h, s.opts.ReopenWait)
	if !ok {
		return none, err
	}
	return attempt(ctx, s, next, name, may, call)
}

// attempt asks may before, so that nothing is read in vain, and after, because
// the content may have been lost meanwhile. It gives the handle back.
func attempt[T any](ctx context.Context, s *Store, h *handle, name string, may func(*handle) error, call func(context.Context, storage.Store) (T, error)) (T, error) {
	defer s.done(h)
	var none T
	if err := may(h); err != nil {
		return none, err
	}
	v, err := measure(ctx, s, name, func(ctx context.Context) (T, error) { return call(ctx, h.store) })
	if err != nil {
		return none, typed(ctx, err, "")
	}
	if err := may(h); err != nil {
		return none, err
	}
	return v, nil
}

// repeatable says whether it is worth asking if the handle is dead. One that gave
// no answer in time is asked in the background: this call's time is over.
func (s *Store) repeatable(ctx context.Context, h *handle, err error) bool {
	if storage.CodeOf(err) != storage.CodeUnavailable || errors.Is(err, errRefused) || errors.Is(err, errNoAnswer) {
		return false
	}
	if ours(ctx) {
		s.suspect(h)
	}
	return ctx.Err() == nil
}
