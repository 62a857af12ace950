package boltstore_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/examples/vendor-driver/boltstore"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestConformance(t *testing.T) {
	conformance.RunSelected(t, conformance.Target{Name: "bolt", New: newFile, Unpartitioned: true}, conformance.Quick(t))
}

// file is the fresh database of one case. Only one process can open it, so that
// its connections are handles on one driver.
type file struct {
	dir string
	storage.Driver
}

func newFile(_ context.Context, o conformance.Options) (conformance.Backend, error) {
	dir, err := os.MkdirTemp("", "boltstore")
	if err != nil {
		return nil, err
	}
	driver, err := boltstore.Open(filepath.Join(dir, "authz.db"), cmp.Or(o.Lease, storage.DefaultLease))
	return &file{dir, driver}, err
}

func (f *file) Connect(context.Context) (storage.Driver, error) {
	return &connection{Driver: f.Driver}, nil
}

func (f *file) Close() error { return errors.Join(f.Driver.Close(), os.RemoveAll(f.dir)) }

// connection closes the stores that were opened through it.
type connection struct {
	storage.Driver
	stores []storage.Store
	closed bool
}

func (c *connection) Open(ctx context.Context, partition string) (storage.Store, error) {
	if c.closed {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the driver is closed")
	}
	s, err := c.Driver.Open(ctx, partition)
	if err == nil {
		c.stores = append(c.stores, s)
	}
	return s, err
}

func (c *connection) Close() (err error) {
	c.closed = true
	for _, s := range c.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}
