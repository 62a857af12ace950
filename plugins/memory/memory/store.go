package memory

import (
	"context"
	"crypto/rand"
	"iter"
	"slices"
	"sync"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// chunkRows is how many rows a list reads from one state.
const chunkRows = 1000

// store is one handle on a partition. It satisfies storage.Store.
type store struct {
	partition   *partition
	incarnation string // as it was at opening
	handle      seam.Handle
	once        sync.Once
	forget      func()
}

var _ storage.Store = (*store)(nil)

func (s *store) Info() storage.StoreInfo {
	return storage.StoreInfo{
		Partition:     s.partition.name,
		Incarnation:   s.incarnation,
		SchemaVersion: schemaVersion,
		Capabilities:  slices.Clone(storage.AllCapabilities),
	}
}

func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	if err := s.usable(ctx, expect); err != nil {
		return "", err
	}
	incarnation := rand.Text()
	for {
		now := s.partition.incarnation.Load()
		if expect != "" && *now != expect {
			return "", storage.Errorf(storage.CodeConflict, "the content has another incarnation already")
		}
		if s.partition.incarnation.CompareAndSwap(now, &incarnation) {
			return incarnation, nil
		}
	}
}

// Health is that of this process, whose clock is the machine's.
func (s *store) Health(ctx context.Context) (storage.Health, error) {
	return storage.Health{}, s.usable(ctx)
}

func (s *store) Close() error {
	s.once.Do(func() {
		close(s.handle)
		s.partition.sections.releaseOf(s)
		s.forget()
	})
	return nil
}

// usable refuses a call on a closed handle, one whose context has ended, and
// arguments that no driver accepts.
func (s *store) usable(ctx context.Context, arguments ...any) error {
	if err := s.handle.Usable(ctx); err != nil {
		return err
	}
	return seam.Check(arguments)
}

func (s *store) now() *state { return s.partition.current.Load() }

// get is a single-row read.
func get[R, V any](ctx context.Context, s *store, rows func(*state) *tree[*R], probe *R, copied func(*R) V, key ...any) (row V, found bool, err error) {
	if err := s.usable(ctx, key...); err != nil {
		return row, false, err
	}
	stored, found := rows(s.now()).get(probe)
	if !found {
		return row, false, nil
	}
	return copied(stored), true, nil
}

// stream lists rows above a key, each chunk from the state of its time, so that
// no state outlives its turn while the consumer is slow. read returns the first n
// rows above the key, fewer only at the end. arguments are what the caller sent.
func stream[K, R, V any](ctx context.Context, s *store, arguments []any, after K, limit int,
	read func(st *state, after K, n int) []R, key func(R) K, copied func(R) V) iter.Seq2[V, error] {
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
		for left, last := limit, after; ; {
			n := chunkRows
			if limit > 0 {
				n = min(n, left)
			}
			rows := read(s.now(), last, n)
			if !deliver(ctx, s, rows, copied, yield) {
				return
			}
			if left -= len(rows); len(rows) < n || limit > 0 && left <= 0 {
				return
			}
			last = key(rows[len(rows)-1])
		}
	}
}

// deliver yields rows until the consumer, the context or the handle ends.
func deliver[R, V any](ctx context.Context, s *store, rows []R, copied func(R) V, yield func(V, error) bool) bool {
	for _, row := range rows {
		if err := s.usable(ctx); err != nil {
			var none V
			yield(none, err)
			return false
		}
		if !yield(copied(row), nil) {
			return false
		}
	}
	return true
}

// take collects the first n rows that match.
func take[R any](rows iter.Seq[R], n int, match func(R) bool) []R {
	var out []R
	for row := range rows {
		if match(row) {
			if out = append(out, row); len(out) == n {
				break
			}
		}
	}
	return out
}

// while ends the rows before the first that does not hold.
func while[R any](rows iter.Seq[R], holds func(R) bool) iter.Seq[R] {
	return func(yield func(R) bool) {
		for row := range rows {
			if !holds(row) || !yield(row) {
				return
			}
		}
	}
}

// selects applies one member of a filter: nil selects everything.
func selects[T comparable](member *T, value T) bool { return member == nil || *member == value }
