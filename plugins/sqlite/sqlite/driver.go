package sqlite

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// driver is one database file and the stores open on it.
type driver struct {
	db      *database
	options Options

	mu         sync.Mutex
	closed     bool
	stores     map[*store]struct{}
	partitions map[string]*partition
}

// partition is what the stores of one partition share in this process: who waits
// for sections, who is to be woken. Its rows are in the database.
type partition struct {
	name     string
	sections *sections
	head     signal
}

// Open opens the file, making or migrating its tables where that is allowed. What
// is wrong with the configuration is a *plugin.ConfigError, a layout that this
// driver does not read is a *storage.Error with CodeUnsupported.
func Open(ctx context.Context, options Options) (storage.Driver, error) {
	options, err := options.filled()
	if err != nil {
		return nil, err
	}
	f, err := prepareFile(options.Path)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(f, options)
	if err != nil {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, err, "the database cannot be opened")
	}
	if err := db.prepareSchema(ctx); err != nil {
		_ = db.close() // the first failure says why
		return nil, err
	}
	return &driver{db: db, options: options, stores: map[*store]struct{}{}, partitions: map[string]*partition{}}, nil
}

func (d *driver) Info() storage.DriverInfo {
	durable := true
	return storage.DriverInfo{Name: driverName, Durable: &durable, CrossProcess: d.options.Lock == LockTable}
}

func (d *driver) Open(ctx context.Context, name string) (storage.Store, error) {
	if err := storage.CheckPartition(name); err != nil {
		return nil, err
	}
	p, err := d.partition(name)
	if err != nil {
		return nil, err
	}
	if err := d.db.file.look(); err != nil {
		return nil, err
	}
	incarnation, err := d.incarnation(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &store{driver: d, db: d.db, app: name, partition: p, incarnation: incarnation, handle: make(seam.Handle), held: map[*section]struct{}{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, seam.DriverClosed()
	}
	d.stores[s] = struct{}{}
	return s, nil
}

func (d *driver) partition(name string) (*partition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, seam.DriverClosed()
	}
	p, found := d.partitions[name]
	if !found {
		p = &partition{name: name, sections: newSections()}
		d.partitions[name] = p
	}
	return p, nil
}

// incarnation reads the name of the partition's content, which its first opening
// writes.
func (d *driver) incarnation(ctx context.Context, app string) (name string, err error) {
	known := func(w *work) (bool, error) {
		var version int64
		found, err := w.one(`SELECT "version", "incarnation" FROM "AuthzSchema" WHERE "app" = ?`, []any{app}, &version, &name)
		if err == nil && version > relational.SchemaVersion {
			err = errNewer(version)
		}
		return found, err
	}
	var found bool
	err = d.db.read(ctx, func(w *work) (err error) {
		found, err = known(w)
		return err
	})
	if err != nil || found {
		return name, err
	}
	err = d.db.write(ctx, func(w *work) error {
		if found, err := known(w); err != nil || found {
			return err
		}
		name = rand.Text()
		_, err := w.exec(`INSERT INTO "AuthzSchema" ("app", "id", "version", "incarnation", "migratedAt") VALUES (?, 1, ?, ?, ?)`,
			app, relational.SchemaVersion, name, d.options.Clock())
		return err
	})
	return name, err
}

func (d *driver) forget(s *store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stores, s)
}

func (d *driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	open := make([]*store, 0, len(d.stores))
	for s := range d.stores {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		_ = s.Close() // a section it cannot give back is given up by its lease
	}
	if err := d.db.close(); err != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, err, "the database did not close cleanly")
	}
	return nil
}
