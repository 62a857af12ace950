package kv

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// layoutVersion is that of the keys and rows, whatever the DB.
const layoutVersion = 5

type driver struct {
	db      DB
	options Options
	lease   time.Duration
	writer  chan struct{} // held by the one writer: a wait for it can be given up, unlike one for a lock

	open  context.Context // ends with Close, and with it every store and section
	end   context.CancelFunc
	close func() error
	using sync.RWMutex // held for reading by every transaction, so that Close finds none

	mu    sync.Mutex
	turns map[string]*turn
}

// New makes the driver, which owns db from then on: closing it closes db. It
// touches nothing; a partition is written to when it is first opened. Data of a
// newer layout than this package's is refused by Open with CodeUnsupported.
func New(db DB, o Options) storage.Driver {
	d := &driver{db: db, options: o, lease: cmp.Or(o.Lease, storage.DefaultLease), writer: make(chan struct{}, 1), turns: map[string]*turn{}}
	d.open, d.end = context.WithCancel(context.Background())
	d.close = sync.OnceValue(func() error {
		d.end()
		d.using.Lock()
		defer d.using.Unlock()
		return d.db.Close()
	})
	return d
}

func (d *driver) Info() storage.DriverInfo {
	durable := d.options.Durable
	return storage.DriverInfo{Name: d.options.Name, Durable: &durable}
}

// Close waits for the transactions that run.
func (d *driver) Close() error {
	if err := d.close(); err != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, err, "the database could not be closed")
	}
	return nil
}

// Open pins a store to a partition, to which it gives an incarnation the first
// time.
func (d *driver) Open(ctx context.Context, name string) (storage.Store, error) {
	if err := storage.CheckPartition(name); err != nil {
		return nil, err
	}
	// No partition's name holds a slash, so that no prefix begins another one.
	s := &store{driver: d, name: name, prefix: "/" + name + "/"}
	s.open, s.close = context.WithCancel(d.open)
	err := s.update(ctx, func(p *partition) {
		life := heads.get(p, "life")
		if life == nil {
			life = &head{Name: "life", Version: layoutVersion, Text: rand.Text()}
			heads.put(p, *life)
		}
		if life.Version > layoutVersion {
			p.refuse(storage.CodeUnsupported, "the data has layout %d, this driver knows %d", life.Version, layoutVersion)
		}
		if life.Version < layoutVersion {
			beginMigration(p, *life)
		}
		s.incarnation = life.Text
	})
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// store is one handle on a partition.
type store struct {
	storage.Unimplemented
	driver            *driver
	name, incarnation string
	prefix            string // of every key
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
func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	life := head{Name: "life", Version: layoutVersion, Text: rand.Text()}
	err := s.update(ctx, func(p *partition) {
		if now := heads.get(p, "life"); expect != "" && (now == nil || now.Text != expect) {
			p.refuse(storage.CodeConflict, "the content has another incarnation already")
		}
		heads.put(p, life)
	})
	if err != nil {
		return "", err
	}
	return life.Text, nil
}
