package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// capabilities are all but history, metrics and ancestors.
var capabilities = storage.Capabilities{
	storage.CapEvents, storage.CapImports, storage.CapBatchRoles, storage.CapExpand, storage.CapAncestry, storage.CapLookups, storage.CapRecords, storage.CapAuditSubjects,
	storage.CapWatch, storage.CapRenewal, storage.CapHealth,
}

// Options configures a driver. URI and Database are required.
type Options struct {
	URI      string
	Database string
	Layout   layout.Kind   // "" is layout.Collections
	Lease    time.Duration // of sections; 0 is storage.DefaultLease

	// WatchPoll is how often Watch asks for the head; 0 is 250 ms. Commits of
	// this process are seen at once.
	WatchPoll time.Duration
}

const (
	defaultWatchPoll = 250 * time.Millisecond

	// turnLease bounds how long a dead writer keeps others from committing. A
	// living one renews it.
	turnLease = 2 * time.Second

	// watchTurn is how often an open partition looks for a commit whose writer
	// died, at most.
	watchTurn = 2 * time.Second

	// patience is how long after taking the turn a writer still sends
	// statements, by its own clock. Stones outlive it by far.
	patience = time.Minute

	// closeWait is how long Close waits for commits in flight, and then for what
	// is done aside.
	closeWait = 5 * time.Second
)

// driver is one client of one database.
type driver struct {
	client     *mongodriver.Client
	database   *layout.Database
	rows       bool
	clock      *serverClock
	lease      time.Duration
	turnLease  time.Duration
	watchPoll  time.Duration
	patience   time.Duration
	sweepEvery time.Duration

	// pause is nil but in tests: it is called before each statement of a
	// commit, by the statement's name.
	pause func(step string) error

	// cleaning counts what outlives a call.
	cleaning sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	ending     bool // nothing is done aside any more
	stores     map[*store]struct{}
	partitions map[string]*partition
}

// New returns a driver. It asks the database nothing: Open does.
func New(o Options) (storage.Driver, error) { return newDriver(o, nil) }

// newDriver lets tests watch the client's commands.
func newDriver(o Options, adjust func(*options.ClientOptions)) (*driver, error) {
	// What the connection string says of concerns and preferences would weaken
	// what a commit promises.
	journaled := true
	c := options.Client().SetServerSelectionTimeout(10 * time.Second).ApplyURI(o.URI).
		SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled}).
		SetRetryReads(true).SetRetryWrites(true)
	if adjust != nil {
		adjust(c)
	}
	client, err := mongodriver.Connect(c)
	if err != nil {
		return nil, err
	}
	if o.Layout == "" {
		o.Layout = layout.Collections
	}
	if o.Lease <= 0 {
		o.Lease = storage.DefaultLease
	}
	if o.WatchPoll <= 0 {
		o.WatchPoll = defaultWatchPoll
	}
	db := client.Database(o.Database)
	return &driver{
		client: client, database: layout.New(db, o.Layout), rows: o.Layout == layout.Rows, clock: &serverClock{db: db},
		lease: o.Lease, turnLease: turnLease, watchPoll: o.WatchPoll, patience: patience, sweepEvery: sweepEvery,
		stores: map[*store]struct{}{}, partitions: map[string]*partition{},
	}, nil
}

func (d *driver) Info() storage.DriverInfo {
	durable := true
	return storage.DriverInfo{Name: "mongo", Durable: &durable, CrossProcess: true}
}

// Open finishes a commit that somebody left decided: no handle sees half of one.
func (d *driver) Open(ctx context.Context, name string) (storage.Store, error) {
	if err := storage.CheckPartition(name); err != nil {
		return nil, err
	}
	if d.rows && name == "" {
		return nil, storage.Errorf(storage.CodeValidation, "the layout rows needs a partition")
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	tables, marker, err := d.database.Open(ctx, name, rand.Text())
	switch {
	case errors.Is(err, layout.ErrOtherLayout):
		return nil, storage.Errorf(storage.CodeConflict, "the database holds partitions in the other layout")
	case errors.Is(err, layout.ErrNewerVersion):
		return nil, storage.Errorf(storage.CodeUnsupported, "the partition was written by a newer version of the mongo plugin")
	case err != nil:
		return nil, failed(err)
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, seam.DriverClosed()
	}
	p := d.partitions[name]
	if p == nil || p.marker.Incarnation != marker.Incarnation {
		p = newPartition(d, name, tables, marker)
		d.partitions[name] = p
	}
	p.handles++
	s := &store{partition: p, handle: make(seam.Handle), sections: map[*section]struct{}{}}
	d.stores[s] = struct{}{}
	d.mu.Unlock()
	if err := p.finishLeft(ctx); err != nil {
		_ = s.Close()
		return nil, failed(err)
	}
	return s, nil
}

// forget ends a handle's share in its partition.
func (d *driver) forget(s *store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stores, s)
	p := s.partition
	if p.handles--; p.handles == 0 {
		p.stop()
		if d.partitions[p.name] == p {
			delete(d.partitions, p.name)
		}
	}
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
	ctx, done := context.WithTimeout(context.Background(), closeWait)
	defer done()
	for _, s := range open { // d.partitions lacks those that another incarnation superseded
		s.partition.flights.wait(ctx, func(f *flights) bool { return f.all == 0 })
	}
	var ends sync.WaitGroup
	for _, s := range open {
		ends.Go(func() { _ = s.Close() }) // what it could not give back, the lease ends
	}
	ends.Wait()
	d.mu.Lock()
	d.ending = true
	d.mu.Unlock()
	d.cleaning.Wait()
	return failed(d.client.Disconnect(ctx))
}

// aside runs f beside the call that asks for it, before Close ends at the latest.
func (d *driver) aside(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return
	}
	d.cleaning.Go(func() {
		ctx, done := context.WithTimeout(context.Background(), closeWait)
		defer done()
		f(ctx)
	})
}
