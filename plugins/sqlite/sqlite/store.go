package sqlite

import (
	"context"
	"slices"
	"sync"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
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
	handle seam.Handle

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
		close(s.handle)
		err = s.releaseAll()
		s.driver.forget(s)
	})
	return err
}

// usable refuses a call on a closed handle, one whose context has ended, and
// arguments that no driver accepts.
func (s *store) usable(ctx context.Context, arguments ...any) error {
	if err := s.handle.Usable(ctx); err != nil {
		return err
	}
	if err := s.db.file.check(); err != nil {
		return err
	}
	return seam.Check(arguments)
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
		if s.handle.Closed() {
			return seam.Closed()
		}
		return fn(w)
	})
}
