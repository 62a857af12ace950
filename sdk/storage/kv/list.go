package kv

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/storage"
)

// The bounds of a chunk: what a list reads in one transaction and keeps in memory.
// The row that reaches the bytes is its last.
const (
	chunkRows  = 1000
	chunkBytes = 1 << 20
)

// keysOf are the keys of rows that a list may hold, above a place.
type keysOf func(p *partition, after string) iter.Seq[string]

func one[R any](ctx context.Context, s *store, t table[R], key string) (row R, found bool, err error) {
	err = s.view(ctx, func(p *partition) {
		if stored := t.get(p, key); stored != nil {
			row, found = *stored, p.err == nil
		}
	}, key)
	return row, found, err
}

// list yields the rows that match, each chunk from a transaction of its own. place
// is where a row stands; args are what the caller sent.
func list[R any](ctx context.Context, s *store, t table[R], keys keysOf, match func(*R) bool, place func(*R) string,
	after string, limit int, args ...any) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		at, left := after, limit
		for more := true; more && (limit <= 0 || left > 0); {
			n := chunkRows
			if limit > 0 {
				n = min(n, left)
			}
			var rows []*R
			size := 0
			more = false
			err := s.view(ctx, func(p *partition) {
				if limit < 0 {
					p.refuse(storage.CodeValidation, "a page's limit must not be negative")
				}
				for row, bytes := range t.all(p, keys(p, at)) {
					if match(row) {
						rows, size = append(rows, row), size+bytes
					}
					if more = len(rows) == n || size >= chunkBytes; more {
						return
					}
				}
			}, args...)
			if err != nil {
				yield(*new(R), err)
				return
			}
			for _, row := range rows {
				if err := s.usable(ctx); err != nil {
					yield(*new(R), err)
					return
				}
				if !yield(*row, nil) {
					return
				}
				at = place(row)
			}
			left -= len(rows)
		}
	}
}

// byKey lists rows by key: all, or those found by a value.
func byKey[R any](ctx context.Context, s *store, t table[R], value string, match func(*R) bool, pg storage.Page, args ...any) iter.Seq2[R, error] {
	keys := keysOf(t.keys)
	if value != "" {
		keys = func(p *partition, after string) iter.Seq[string] { return t.with(p, value, after) }
	}
	return list(ctx, s, t, keys, match, t.key, pg.After, pg.Limit, append(args, value, pg)...)
}

func every[R any](*R) bool { return true }

// is applies one member of a filter; nil selects everything.
func is[T comparable](member *T, value T) bool { return member == nil || *member == value }
