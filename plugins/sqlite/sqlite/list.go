package sqlite

import (
	"context"
	"iter"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The bounds of a chunk: what a list reads at once and keeps in memory.
const (
	chunkRows  = 1024 // a page of a thousand, and the row that says that more follow
	chunkBytes = 1 << 20
)

// query is a SELECT of one partition under construction.
type query struct {
	text strings.Builder
	args []any
}

// selecting begins a query that uses the index on the column named, or the key
// with "". The choice is not left to SQLite: without statistics it reads whole
// partitions in the order of the key rather than sort the few rows of an index.
func (s *store) selecting(columns, table, index string) *query {
	q := &query{args: []any{s.app}}
	q.text.WriteString("SELECT " + columns + " FROM " + using(table, index) + " WHERE \"app\" = ?")
	return q
}

// using names a table to be read by the index on a column.
func using(table, index string) string {
	if index == "" {
		return quote(table)
	}
	return quote(table) + " INDEXED BY " + quote(table+"_"+index)
}

// candidate is an index that a query could use when a member of its filter is
// present.
type candidate struct {
	present bool
	index   string
}

// indexOf picks the first that can be used, "" for none.
func indexOf(candidates ...candidate) string {
	for _, c := range candidates {
		if c.present {
			return c.index
		}
	}
	return ""
}

// and adds a condition, an expression with a parameter for each of args.
func (q *query) and(condition string, args ...any) {
	q.text.WriteString(" AND " + condition)
	q.args = append(q.args, args...)
}

// equal adds a member of a filter; nil selects everything.
func equal[T any](q *query, column string, member *T) {
	if member != nil {
		q.and(`"`+column+`" = ?`, *member)
	}
}

// page ends the query.
func (q *query) page(order string, limit int) {
	q.text.WriteString(" ORDER BY " + order + " LIMIT ?")
	q.args = append(q.args, limit)
}

// list is a streamed list. Each chunk is a query of its own above the key of the
// last row, so nothing stays open while the consumer is slow. arguments are what
// the caller sent.
type list[K, T any] struct {
	arguments []any
	after     K
	limit     int // 0 for none
	chunk     func(after K, limit int) *query
	scan      func(relational.Scan) (T, error)
	key       func(T) K

	// ordered compares keys of a query that leaves the order to its plan; nil of one
	// that sorts.
	ordered func(a, b K) int
}

func stream[K, T any](ctx context.Context, s *store, l list[K, T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := s.usable(ctx, l.arguments...); err != nil {
			yield(none, err)
			return
		}
		if l.limit < 0 {
			yield(none, storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
			return
		}
		for left, last := l.limit, l.after; ; {
			n := chunkRows
			if l.limit > 0 {
				n = min(n, left)
			}
			rows, more, err := readChunk(ctx, s, l.chunk(last, n), l.scan)
			if err != nil {
				yield(none, err)
				return
			}
			if l.ordered != nil && !relational.Ascending(last, rows, l.key, l.ordered) {
				yield(none, storage.Unavailable(authz.OutcomeNotApplied, nil, "the database answered rows out of their order"))
				return
			}
			if !deliver(ctx, s, rows, yield) {
				return
			}
			if left -= len(rows); !more && len(rows) < n || l.limit > 0 && left <= 0 {
				return
			}
			last = l.key(rows[len(rows)-1])
		}
	}
}

// readChunk reads rows up to the bounds of a chunk; more says that it stopped
// before the query did.
func readChunk[T any](ctx context.Context, s *store, q *query, scan func(relational.Scan) (T, error)) (rows []T, more bool, err error) {
	err = s.db.read(ctx, func(w *work) error {
		rows, more = nil, false
		size := 0
		return w.each(q.text.String(), q.args, func(columns relational.Scan) (bool, error) {
			row, err := scan(func(dest ...any) error {
				err := columns(dest...)
				size += sizeOf(dest)
				return err
			})
			if err != nil {
				return false, err
			}
			rows = append(rows, row)
			more = size >= chunkBytes
			return more, nil
		})
	})
	return rows, more, err
}

// sizeOf is about how much memory scanned columns take.
func sizeOf(columns []any) int {
	size := 0
	for _, c := range columns {
		size += 16
		switch c := c.(type) {
		case *string:
			size += len(*c)
		case **string:
			if *c != nil {
				size += len(**c)
			}
		case *[]byte:
			size += len(*c)
		}
	}
	return size
}

// deliver yields rows until the consumer, the context or the handle ends.
func deliver[T any](ctx context.Context, s *store, rows []T, yield func(T, error) bool) bool {
	for _, row := range rows {
		if err := s.usable(ctx); err != nil {
			var none T
			yield(none, err)
			return false
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

// refused is a list that answers an error.
func refused[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}

// empty is a list that a filter rules out before anything is read.
func empty[T any](ctx context.Context, s *store, limit int, arguments ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if err := s.usable(ctx, arguments...); err != nil {
			yield(zero, err)
		} else if limit < 0 {
			yield(zero, storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
		}
	}
}
