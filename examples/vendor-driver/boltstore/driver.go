// Package boltstore keeps applications in a bbolt file: a storage driver as a
// vendor makes one, from the SDK and a database client.
//
// A partition is a bucket of JSON rows and index entries (table.go). bbolt has
// one writer at a time, and readers that see one instant: a commit is one
// transaction (commit.go), and so is ReadAccess (reads.go). One process has the
// file open, so exclusive sections live in memory, their fences in the file
// (sections.go). Catalog history, metrics and watch are left out.
package boltstore

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	Name          = "bolt"
	layoutVersion = 1
	fileWait      = 5 * time.Second // for a process that is about to exit
)

// Capabilities are the optional operations that the driver has.
var Capabilities = storage.Capabilities{
	storage.CapEvents, storage.CapImports, storage.CapBatchRoles, storage.CapExpand, storage.CapAncestry, storage.CapRecords,
}

type driver struct {
	db     *bolt.DB
	lease  time.Duration
	writer chan struct{} // held by the one writer: a wait for it can be given up, unlike one for bbolt's lock

	open  context.Context // ends with Close, and with it every store and section
	close context.CancelFunc

	mu    sync.Mutex
	turns map[string]*turn
}

// Open opens the file, or makes it.
func Open(path string, lease time.Duration) (storage.Driver, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: fileWait, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errors.New("another process has the file open")
	}
	if err != nil {
		return nil, err
	}
	d := &driver{db: db, lease: lease, writer: make(chan struct{}, 1), turns: map[string]*turn{}}
	d.open, d.close = context.WithCancel(context.Background())
	return d, nil
}

func (d *driver) Info() storage.DriverInfo {
	durable := true
	return storage.DriverInfo{Name: Name, Durable: &durable}
}

func (d *driver) Close() error {
	d.close()
	return d.db.Close()
}

// Open pins a store to the bucket of a partition, which it makes the first time.
func (d *driver) Open(ctx context.Context, name string) (storage.Store, error) {
	if err := storage.CheckPartition(name); err != nil {
		return nil, err
	}
	s := &store{driver: d, name: name}
	s.open, s.close = context.WithCancel(d.open)
	err := s.update(ctx, func(p *partition) {
		life := heads.get(p, "life")
		if life == nil {
			life = &head{Name: "life", Version: layoutVersion, Text: rand.Text()}
			heads.put(p, *life)
		}
		if life.Version > layoutVersion {
			p.refuse(storage.CodeUnsupported, "the file has layout %d, this driver knows %d", life.Version, layoutVersion)
		}
		s.incarnation = life.Text
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// store is one handle on a partition.
type store struct {
	driver            *driver
	name, incarnation string
	open              context.Context
	close             context.CancelFunc
}

func (s *store) Info() storage.StoreInfo {
	return storage.StoreInfo{Partition: s.name, Incarnation: s.incarnation, SchemaVersion: layoutVersion, Capabilities: slices.Clone(Capabilities)}
}

func (s *store) Close() error {
	s.close()
	return nil
}

// Renew gives the content a new incarnation, after a restore from a backup. Open
// handles keep the one that they found.
func (s *store) Renew(ctx context.Context) (string, error) {
	life := head{Name: "life", Version: layoutVersion, Text: rand.Text()}
	err := s.update(ctx, func(p *partition) { heads.put(p, life) })
	return life.Text, err
}

// partition is the bucket of a partition in a transaction. It keeps the first
// error; after that nothing more is changed, and the transaction returns it.
type partition struct {
	bucket *bolt.Bucket
	ctx    context.Context
	err    error

	// writes are not in the bucket yet, nil for a delete. bbolt takes many keys
	// well in their order, and badly in any other.
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

// get returns nil for a key that is not there.
func (p *partition) get(key string) []byte {
	if value, written := p.writes[key]; written {
		return value
	}
	return p.bucket.Get([]byte(key))
}

func (p *partition) flush() {
	for _, key := range slices.Sorted(maps.Keys(p.writes)) {
		if p.err != nil {
			return
		}
		if value := p.writes[key]; value != nil {
			p.fail(p.bucket.Put([]byte(key), value))
		} else {
			p.fail(p.bucket.Delete([]byte(key)))
		}
	}
	clear(p.writes)
}

// view reads rows of one instant. It must not wait for a consumer: while a read
// transaction is open the file cannot reuse its pages.
func (s *store) view(ctx context.Context, read func(*partition), args ...any) error {
	if err := s.usable(ctx, args...); err != nil {
		return err
	}
	return failed(s.driver.db.View(func(tx *bolt.Tx) error {
		p := &partition{bucket: tx.Bucket([]byte("/" + s.name)), ctx: ctx}
		read(p)
		return p.err
	}))
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
	}
	defer func() { <-s.driver.writer }()
	tx, err := s.driver.db.Begin(true)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	bucket, err := tx.CreateBucketIfNotExists([]byte("/" + s.name))
	p := &partition{bucket, ctx, err, map[string][]byte{}}
	if err == nil {
		change(p)
	}
	p.flush()
	if p.fail(ctx.Err()); p.err != nil {
		return failed(p.err)
	}
	if err := tx.Commit(); err != nil {
		return storage.Unavailable(authz.OutcomeUnknown, err, "the file could not be written")
	}
	return nil
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
	case errors.Is(err, bolterrors.ErrKeyTooLarge):
		return storage.Errorf(storage.CodeTooLarge, "an id, or a text that rows are found by, is too long")
	}
	return storage.Unavailable(authz.OutcomeNotApplied, err, "the call could not be carried out")
}
