package mongo

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// readWait bounds a read of one instant whose caller set no deadline.
const readWait = 30 * time.Second

// store is one handle on a partition. It satisfies storage.Store.
type store struct {
	storage.Unimplemented
	partition *partition
	handle    seam.Handle
	once      sync.Once

	mu       sync.Mutex
	sections map[*section]struct{}
}

var _ storage.Store = (*store)(nil)

func (s *store) Info() storage.StoreInfo {
	return storage.StoreInfo{
		Partition:     s.partition.name,
		Incarnation:   s.partition.marker.Incarnation,
		SchemaVersion: layout.Version,
		Capabilities:  slices.Clone(capabilities),
	}
}

// Close gives the handle's sections back. Those that the database does not take
// back in time end with their lease.
func (s *store) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		close(s.handle)
		held := make([]*section, 0, len(s.sections))
		for section := range s.sections {
			held = append(held, section)
		}
		s.mu.Unlock()
		ctx, done := context.WithTimeout(context.Background(), closeWait)
		defer done()
		var releases sync.WaitGroup
		for _, section := range held {
			releases.Go(func() { _ = section.release(ctx) })
		}
		releases.Wait()
		s.partition.forget(s)
	})
	return nil
}

// keep remembers a section, unless the handle was closed meanwhile.
func (s *store) keep(got *section) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle.Closed() {
		return false
	}
	s.sections[got] = struct{}{}
	return true
}

func (s *store) drop(gone *section) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sections, gone)
}

func (s *store) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sections) > 0
}

// usable refuses a call on a closed handle, one whose context has ended, and
// arguments that no driver accepts, before the database is asked anything.
func (s *store) usable(ctx context.Context, arguments ...any) error {
	if s.handle.Closed() {
		return seam.Closed()
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return seam.Check(arguments)
}

// whileOpen is a context that also ends with the handle.
func (s *store) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-s.handle:
			cancel()
		case <-done:
		}
	}()
	return ctx, sync.OnceFunc(func() { close(done); cancel() })
}

// read runs one query, at one instant when the handle holds a section: whoever
// holds one decides by what it reads. Which calls run under the section cannot be
// seen from here.
func (s *store) read(ctx context.Context, query func(context.Context) error) error {
	err := error(nil)
	if s.holds() {
		ctx, cancel := bounded(ctx, readWait)
		defer cancel()
		err = s.partition.atOneInstant(ctx, func() error { return failed(query(ctx)) })
	} else {
		err = failed(query(ctx))
	}
	if err != nil && ctx.Err() != nil && storage.CodeOf(err) == storage.CodeUnavailable {
		return interrupted(ctx)
	}
	return err
}

func eq(member string, value any) bson.E { return bson.E{Key: member, Value: value} }

// with is a filter with more members; the first one stays as it is.
func with(members []bson.E, more ...bson.E) []bson.E { return slices.Concat(members, more) }

// get is a single-row read.
func get[V any](ctx context.Context, s *store, e entity[V], key string, arguments ...any) (v V, found bool, err error) {
	if err := s.usable(ctx, append(arguments, key)...); err != nil {
		return v, false, err
	}
	in := s.partition.in(e.in)
	err = s.read(ctx, func(ctx context.Context) error {
		var row layout.Row
		var err error
		row, found, err = in.One(ctx, in.Key(key))
		if found = found && !row.Flag("gone"); err != nil || !found {
			return err
		}
		v, err = e.from(row)
		return err
	})
	if err != nil {
		var none V
		return none, false, err
	}
	return v, found, nil
}

// Lists are read in chunks, each a query of its own. The size of what came decides
// how many rows the next chunk asks for.
const (
	chunkRows  = 1000
	firstRows  = 64
	chunkBytes = 1 << 20
)

// query is how a list reads its next rows. after is the filter above a key.
type query[K, V any] struct {
	in    *layout.Collection
	after func(K) layout.Filter
	sort  bson.D
	only  []string
	from  func(layout.Row) (V, error)
	key   func(V) K
}

// stream lists rows above a key. arguments are what the caller sent.
func stream[K, V any](ctx context.Context, s *store, arguments []any, start K, limit int, q query[K, V]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		if err := s.usable(ctx, arguments...); err != nil {
			yield(none, err)
			return
		}
		if limit < 0 {
			yield(none, storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
			return
		}
		next := firstRows
		for left, last := limit, start; ; {
			n := next
			if limit > 0 {
				n = min(n, left)
			}
			rows, size, cut, err := q.chunk(ctx, s, last, n)
			if err != nil {
				yield(none, err)
				return
			}
			for _, row := range rows {
				if err := s.usable(ctx); err != nil {
					yield(none, err)
					return
				}
				if !yield(row, nil) {
					return
				}
			}
			if left -= len(rows); len(rows) < n && !cut || limit > 0 && left <= 0 {
				return
			}
			last = q.key(rows[len(rows)-1])
			next = max(1, min(chunkRows, 4*next, chunkBytes/max(1, size/len(rows))))
		}
	}
}

// chunk returns the first n rows above a key, fewer at the end or when cut for
// their size.
func (q query[K, V]) chunk(ctx context.Context, s *store, after K, n int) (out []V, size int, cut bool, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		var rows []layout.Row
		var err error
		rows, cut, err = q.in.Find(ctx, q.after(after), layout.Page{Sort: q.sort, Limit: int64(n), Bytes: chunkBytes, Only: q.only})
		if err != nil {
			return err
		}
		out, size = make([]V, len(rows)), 0
		for i, row := range rows {
			size += row.Size()
			if out[i], err = q.from(row); err != nil {
				return err
			}
		}
		return nil
	})
	return out, size, cut, err
}

var byID = bson.D{{Key: "_id", Value: 1}}

// listByID lists an entity by its key.
func listByID[V any](ctx context.Context, s *store, e entity[V], p storage.Page, arguments []any, filter ...bson.E) iter.Seq2[V, error] {
	in := s.partition.in(e.in)
	return stream(ctx, s, append(arguments, p), p.After, p.Limit, query[string, V]{
		in: in, sort: byID, from: e.from, key: e.key,
		after: func(last string) layout.Filter { return in.Above(last, with(filter, live)...) },
	})
}

// empty is a list of nothing, once the arguments are found good.
func empty[V any](ctx context.Context, s *store, p storage.Page, arguments ...any) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		err := s.usable(ctx, append(arguments, p)...)
		if err == nil && p.Limit < 0 {
			err = storage.Errorf(storage.CodeValidation, "a page's limit must not be negative")
		}
		if err != nil {
			var none V
			yield(none, err)
		}
	}
}

// refused is a list that answers an error.
func refused[V any](err error) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		yield(none, err)
	}
}
