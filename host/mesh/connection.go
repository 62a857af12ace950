package mesh

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Partition is where the registry lives.
const Partition = "__mesh"

// Options says where a mesh is and whose connection to it this is.
type Options struct {
	// Partition is that of the connecting application. Required.
	Partition string

	// Open opens a store of the shared database that is pinned to a partition: the
	// same for every partition, so that layout and options agree. Required. What it
	// opened is closed with the connection.
	Open func(ctx context.Context, partition string) (storage.Store, error)

	// Driver is what the driver behind Open says of itself.
	Driver storage.DriverInfo

	Clock  func() int64  // epoch milliseconds; default the wall clock
	IDs    func() string // ids of audit entries; default random UUIDs
	Logger hclog.Logger  // default none
}

// Connection is one application's way into the mesh. Its methods may be called
// concurrently.
type Connection struct {
	partition string
	open      func(ctx context.Context, partition string) (storage.Store, error)
	driver    storage.DriverInfo
	clock     func() int64
	ids       func() string
	log       hclog.Logger

	registry cache

	mu     sync.Mutex
	closed bool
	stores map[string]*opening
	peers  map[*Peer]struct{}
}

// opening is a store, or the attempt to open it that others wait for.
type opening struct {
	done  chan struct{}
	store storage.Store
	err   error
}

// Connect makes a connection. It reads nothing, so that a mesh can be begun: a
// missing registry is told by what needs one. A malformed or reserved partition is
// CodeValidation (spec: mesh §3).
func Connect(o Options) (*Connection, error) {
	switch fault := partitionFault(o.Partition); {
	case fault != "":
		return nil, authz.Validation("a mesh needs a partition of the application's own: %s %s", spell.Quote(o.Partition), fault)
	case o.Open == nil:
		return nil, authz.Validation("a mesh needs a function that opens stores")
	}
	c := &Connection{partition: o.Partition, open: o.Open, driver: o.Driver, clock: o.Clock, ids: o.IDs, log: o.Logger,
		stores: map[string]*opening{}, peers: map[*Peer]struct{}{}}
	if c.clock == nil {
		c.clock = func() int64 { return time.Now().UnixMilli() }
	}
	if c.ids == nil {
		c.ids = uuid.NewString
	}
	if c.log == nil {
		c.log = hclog.NewNullLogger()
	}
	return c, nil
}

// Partition is the application's own.
func (c *Connection) Partition() string { return c.partition }

// Storage is the store of the application's own partition, to construct the
// application with. The connection closes it.
func (c *Connection) Storage(ctx context.Context) (storage.Store, error) {
	return c.store(ctx, c.partition)
}

// Close ends the peers of the connection and closes the stores that it opened.
func (c *Connection) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	peers, stores := c.peers, c.stores
	c.peers, c.stores = nil, nil
	c.mu.Unlock()
	var errs []error
	for p := range peers {
		errs = append(errs, p.Close())
	}
	for _, o := range stores {
		<-o.done
		if o.store != nil {
			errs = append(errs, o.store.Close())
		}
	}
	return errors.Join(errs...)
}

// store is the open store of a partition; concurrent callers share the opening.
func (c *Connection) store(ctx context.Context, partition string) (storage.Store, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, &authz.MeshError{Code: authz.MeshPeerClosed, To: partition, Message: "the connection to the mesh is closed"}
	}
	o, found := c.stores[partition]
	if !found {
		o = &opening{done: make(chan struct{})}
		c.stores[partition] = o
	}
	c.mu.Unlock()
	if !found {
		o.store, o.err = c.opened(ctx, partition)
		if o.err != nil {
			c.mu.Lock()
			delete(c.stores, partition) // the next caller tries again
			c.mu.Unlock()
		}
		close(o.done)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, unavailable("open the store of "+partition, ctx.Err())
	}
	if o.err != nil && found && ended(o.err) && ctx.Err() == nil {
		return c.store(ctx, partition) // whoever opened it gave up; that is not our answer
	}
	return o.store, o.err
}

func (c *Connection) opened(ctx context.Context, partition string) (storage.Store, error) {
	s, err := c.open(ctx, partition)
	if err != nil {
		return nil, failed("open the store of "+partition, err)
	}
	fault := func(e *authz.MeshError) (storage.Store, error) {
		return nil, errors.Join(e, s.Close())
	}
	switch info := s.Info(); {
	case info.Partition != partition:
		return fault(&authz.MeshError{Code: authz.MeshPartitionMismatch, Asked: partition, Got: info.Partition,
			Message: "the driver opened partition " + spell.Quote(info.Partition) + " instead of " + spell.Quote(partition)})
	case !info.Capabilities.Has(storage.CapRecords):
		return fault(&authz.MeshError{Code: authz.MeshUnsupported, DriverName: c.driver.Name,
			Message: "a mesh needs a storage driver with the capability records, which " + spell.Quote(c.driver.Name) + " has not"})
	}
	return s, nil
}

// failed is the error of an operation on storage as callers may see it.
func failed(op string, err error) error {
	var typed authz.Error
	if errors.As(err, &typed) {
		if _, driver := typed.(*storage.Error); !driver {
			return err
		}
	}
	if storage.CodeOf(err) == storage.CodeUnavailable || ended(err) {
		return unavailable(op, err)
	}
	return &fault{op: op, cause: err}
}

func unavailable(op string, cause error) error {
	return &authz.UnavailableError{Message: op + ": storage is unavailable", Cause: cause}
}

func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// fault is an answer of storage that no caller can have caused. Its text names the
// operation only; the cause is for logs.
type fault struct {
	op    string
	cause error
}

func (e *fault) Error() string { return e.op + " failed in storage" }
func (e *fault) Unwrap() error { return e.cause }

// forget drops a peer that was closed.
func (c *Connection) forget(p *Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p)
}

// sorted is a sorted copy, never nil.
func sorted(of []string) []string {
	sorted := append([]string{}, of...)
	slices.Sort(sorted)
	return sorted
}

var errRaced = errors.New("somebody else kept writing it")

func orFailed(op string, err error) error {
	if err == nil {
		return nil
	}
	return failed(op, err)
}

func issuesOf(err error) []authz.Issue {
	var c *authz.CatalogError
	if errors.As(err, &c) {
		return c.Issues
	}
	return nil
}
