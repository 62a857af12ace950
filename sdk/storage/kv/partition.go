package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// partition is the rows of a partition in a transaction. It keeps the first error;
// after that nothing more is changed, and the transaction returns it.
type partition struct {
	tx     Tx
	prefix string
	ctx    context.Context
	err    error

	// writes are not in the transaction yet, nil for a delete. Most stores take
	// many keys well in their order, and badly in any other.
	writes map[string][]byte
}

func (p *partition) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *partition) refuse(code storage.Code, format string, args ...any) {
	p.fail(storage.Errorf(code, format, args...))
}

// get returns nil for a key that is not there, and after an error.
func (p *partition) get(key string) []byte {
	if value, written := p.writes[key]; written {
		return value
	}
	if p.err != nil {
		return nil
	}
	value, err := p.tx.Get([]byte(p.prefix + key))
	p.fail(err)
	return value
}

// following yields what follows a prefix in the keys that have it, above after.
func (p *partition) following(prefix, after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if p.flush(); p.err != nil {
			return
		}
		common := []byte(p.prefix + prefix)
		p.fail(p.tx.Scan([]byte(p.prefix+prefix+after), func(key []byte) bool {
			if !bytes.HasPrefix(key, common) {
				return false
			}
			rest := string(key[len(common):])
			return rest == after || yield(rest)
		}))
	}
}

func (p *partition) flush() {
	for _, key := range slices.Sorted(maps.Keys(p.writes)) {
		if p.err != nil {
			return
		}
		if value := p.writes[key]; value != nil {
			p.fail(p.tx.Put([]byte(p.prefix+key), value))
		} else {
			p.fail(p.tx.Delete([]byte(p.prefix + key)))
		}
	}
	clear(p.writes)
}

// view reads rows of one instant. It must not wait for a consumer: a store may
// keep for an open reader what it could free or write over.
func (s *store) view(ctx context.Context, read func(*partition), args ...any) error {
	if err := s.usable(ctx, args...); err != nil {
		return err
	}
	s.driver.using.RLock()
	defer s.driver.using.RUnlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	var p *partition
	err := s.driver.db.View(ctx, func(tx Tx) error {
		p = &partition{tx: tx, prefix: s.prefix, ctx: ctx}
		read(p)
		return p.err
	})
	switch {
	case err != nil:
		return failed(err)
	case p == nil:
		return storage.Unavailable(authz.OutcomeNotApplied, nil, "the database did not read")
	}
	return failed(p.err)
}

// update changes rows: all of it is durable when it returns nil, and none of it
// happened when it returns an error other than "unknown".
func (s *store) update(ctx context.Context, change func(*partition), args ...any) error {
	if err := s.usable(ctx, args...); err != nil {
		return err
	}
	select {
	case s.driver.writer <- struct{}{}:
	case <-ctx.Done():
		return failed(ctx.Err())
	case <-s.open.Done():
		return s.usable(ctx)
	}
	defer func() { <-s.driver.writer }()
	s.driver.using.RLock()
	defer s.driver.using.RUnlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	committing := false
	err := s.driver.db.Update(ctx, func(tx Tx) error {
		p := &partition{tx: tx, prefix: s.prefix, ctx: ctx, writes: map[string][]byte{}}
		change(p)
		p.flush()
		p.fail(ctx.Err())
		committing = p.err == nil
		return p.err
	})
	certain := errors.Is(err, ErrNotApplied) || errors.Is(err, ErrTooLarge)
	switch {
	case err == nil && committing:
		return nil
	case err == nil, committing && !certain:
		return storage.Unavailable(authz.OutcomeUnknown, err, "the database did not say whether it committed")
	}
	return failed(err)
}

// usable refuses a closed handle, a call that is over, and arguments that no
// driver accepts.
func (s *store) usable(ctx context.Context, args ...any) error {
	if s.open.Err() != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	if ctx.Err() != nil {
		return failed(ctx.Err())
	}
	return storage.CheckValue(args)
}

// failed is what crosses the seam for an error in a transaction, which then
// changed nothing. The database's own text is only a cause.
func failed(err error) error {
	var own *storage.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.Is(err, ErrTooLarge):
		refusal := storage.Errorf(storage.CodeTooLarge, "a row, an id, or a text that rows are found by, is larger than the database takes")
		refusal.Cause = err
		return refusal
	}
	return storage.Unavailable(authz.OutcomeNotApplied, err, "the call could not be carried out")
}
