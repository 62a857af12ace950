package postgres

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// chunkRows and chunkBytes bound what a list holds at once: a page of a thousand and
	// the row that says that more follow.
	chunkRows  = 1024
	chunkBytes = 1 << 20

	// firstChunk is how many rows a list asks for before it has seen their size.
	firstChunk = 64
)

// store is one handle on a partition. It satisfies storage.Store.
type store struct {
	storage.Unimplemented
	driver      *driver
	partition   string
	at          *server // that it was opened at
	incarnation string

	handle seam.Handle
	once   sync.Once

	commits  atomic.Uint64 // decide which of them sweep
	acquires atomic.Uint64

	mu   sync.Mutex
	held map[*section]struct{}
}

var _ storage.Store = (*store)(nil)

func (s *store) Info() storage.StoreInfo {
	return storage.StoreInfo{
		Partition:     s.partition,
		Incarnation:   s.incarnation,
		SchemaVersion: relational.SchemaVersion,
		Capabilities:  slices.Clone(s.driver.capabilities),
	}
}

// Close gives the store's sections back.
func (s *store) Close() error {
	s.once.Do(func() {
		close(s.handle)
		s.releaseAll()
		s.driver.forget(s)
	})
	return nil
}

// usable refuses a call on a closed handle, one whose context has ended, and
// arguments that no driver accepts.
func (s *store) usable(ctx context.Context, arguments ...any) error {
	if err := s.handle.Usable(ctx); err != nil {
		return err
	}
	if split := s.driver.primary.split.Load(); split != nil {
		return split
	}
	if now := s.driver.primary.now.Load(); now.system != s.at.system {
		return storage.Lost(authz.OutcomeNotApplied, nil, "PostgreSQL at %s is another cluster than the one that the store was opened in", now.address)
	}
	return seam.Check(arguments)
}

// able is usable for the operations of a capability.
func (s *store) able(ctx context.Context, c storage.Capability, arguments ...any) error {
	if !s.driver.has(c) {
		return storage.Unsupported(c)
	}
	return s.usable(ctx, arguments...)
}

// scanner reads the columns of one row into a value.
type scanner[T any] func(relational.Scan) (T, error)

// one is a read of at most one row. The statement's first argument is always the
// partition.
func one[T any](ctx context.Context, s *store, text string, scan scanner[T], args ...any) (row T, found bool, err error) {
	err = s.driver.read(ctx, func(c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, s.driver.sql(text), append([]any{s.partition}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if found = rows.Next(); found {
			if row, err = scan(rows.Scan); err != nil {
				return err
			}
		}
		rows.Close()
		return rows.Err()
	})
	if err != nil {
		var none T
		return none, false, readError(err)
	}
	return row, found, nil
}

// chunk is a piece of a list. cut says that it ended for its size.
type chunk[T any] struct {
	rows  []T
	bytes int
	cut   bool
}

// several is a query whose answer is kept whole up to chunkBytes; further rows are
// read off the wire and dropped.
func several[T any](ctx context.Context, s *store, bound bool, scan scanner[T], text string, args ...any) (out chunk[T], err error) {
	// Planned with the values at hand: what suits a rare subject is ruinous for
	// one that half the rows name.
	planned := append([]any{pgx.QueryExecModeCacheDescribe, s.partition}, args...)
	err = s.driver.read(ctx, func(c *pgxpool.Conn) error {
		out = chunk[T]{}
		rows, err := c.Query(ctx, s.driver.sql(text), planned...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			for _, column := range rows.RawValues() {
				out.bytes += len(column)
			}
			row, err := scan(rows.Scan)
			if err != nil {
				return err
			}
			out.rows = append(out.rows, row)
			if bound && out.bytes >= chunkBytes {
				out.cut = true
				break
			}
		}
		rows.Close()
		return rows.Err()
	})
	if err != nil {
		return chunk[T]{}, readError(err)
	}
	return out, nil
}

// listing is the query behind a list: where it starts, and how a chunk is read.
type listing[T, K any] struct {
	limit int // 0: none
	after K
	first int // rows of the first chunk
	fetch func(ctx context.Context, after K, n int) (chunk[T], error)
	key   func(T) K

	// ordered compares keys of a query that leaves the order to its plan; nil of one
	// that sorts.
	ordered func(a, b K) int
}

// stream lists rows by key, each chunk a query of its own. refusal, when not nil, is
// all that it answers.
func stream[T, K any](ctx context.Context, s *store, refusal error, l listing[T, K]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		check := refusal
		if check == nil {
			check = s.usable(ctx)
		}
		if check == nil && l.limit < 0 {
			check = storage.Errorf(storage.CodeValidation, "a page's limit must not be negative")
		}
		if check != nil {
			yield(none, check)
			return
		}
		n, left, after := l.first, l.limit, l.after
		for {
			asked := n
			if l.limit > 0 {
				asked = min(n, left)
			}
			c, err := l.fetch(ctx, after, asked)
			if err != nil {
				yield(none, err)
				return
			}
			if l.ordered != nil && !relational.Ascending(after, c.rows, l.key, l.ordered) {
				yield(none, storage.Unavailable("", nil, "PostgreSQL answered rows out of their order"))
				return
			}
			for _, row := range c.rows {
				if err := s.usable(ctx); err != nil {
					yield(none, err)
					return
				}
				if !yield(row, nil) {
					return
				}
			}
			if left -= len(c.rows); !c.cut && len(c.rows) < asked || l.limit > 0 && left <= 0 {
				return
			}
			after = l.key(c.rows[len(c.rows)-1])
			n = nextChunk(n, len(c.rows), c.bytes)
		}
	}
}

// nextChunk is how many rows of the size seen fit into a chunk.
func nextChunk(n, rows, bytes int) int {
	fit := chunkBytes / max(1, bytes/max(1, rows))
	return max(1, min(chunkRows, fit, n*4))
}

// refused is a list that answers an error.
func refused[V any](err error) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		yield(none, err)
	}
}
