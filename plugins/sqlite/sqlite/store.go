package sqlite

import (
	"context"
	"slices"
	"sync"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

// store is one handle on a partition. It satisfies storage.Store.
type store struct {
	driver      *driver
	db          *database
	app         string // the partition, the first parameter of every statement
	partition   *partition
	incarnation string

	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	held map[*section]struct{}
}

var _ storage.Store = (*store)(nil)

func (s *store) Info() storage.StoreInfo {
	return storage.StoreInfo{
		Partition:     s.app,
		Incarnation:   s.incarnation,
		SchemaVersion: relational.SchemaVersion,
		Capabilities:  slices.Clone(storage.AllCapabilities),
	}
}

func (s *store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		err = s.releaseAll()
		s.driver.forget(s)
	})
	return err
}

func (s *store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// usable refuses a call on a closed handle, one whose context has ended, and
// arguments that no driver accepts.
func (s *store) usable(ctx context.Context, arguments ...any) error {
	if s.isClosed() {
		return errClosed()
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if err := s.db.file.check(); err != nil {
		return err
	}
	for _, a := range arguments {
		if err := storage.CheckValue(a); err != nil {
			return err
		}
	}
	return nil
}

// get is a single-row read by key.
func get[T any](ctx context.Context, s *store, t table[T], key ...any) (row T, found bool, err error) {
	return find(ctx, s, t.Scan, t.get, key...)
}

// find is a single-row read. args are what the caller sent.
func find[T any](ctx context.Context, s *store, scan func(relational.Scan) (T, error), text string, args ...any) (row T, found bool, err error) {
	if err := s.usable(ctx, args...); err != nil {
		return row, false, err
	}
	err = s.db.read(ctx, func(w *work) (err error) {
		row, found, err = rowOf(w, scan, text, slices.Insert(slices.Clone(args), 0, any(s.app))...)
		return err
	})
	return row, found, err
}

// write runs fn in a transaction of the partition.
func (s *store) write(ctx context.Context, fn func(*work) error) error {
	return s.db.write(ctx, func(w *work) error {
		if s.isClosed() {
			return errClosed()
		}
		return fn(w)
	})
}
