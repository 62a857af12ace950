package kv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/authzhost/authz/sdk/storage/kv"
)

func TestConformance(t *testing.T) {
	conformance.RunSelected(t, conformance.Target{
		Name:          "kv",
		Unpartitioned: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return backend{kv.New(newMemory(), kv.Options{Name: "memory", Lease: o.Lease})}, nil
		},
	}, conformance.Quick(t))
}

// backend is the fresh database of one case. Sections hold within a driver, so that
// its connections are handles on one.
type backend struct{ storage.Driver }

func (b backend) Connect(context.Context) (storage.Driver, error) {
	return &connection{Driver: b.Driver}, nil
}

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
