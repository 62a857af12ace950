package conformance

import (
	"context"
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// OneDriver is a Backend of a database that only one driver can have open, such as a
// file that its process locks: its connections are handles on that driver. Sections
// hold within a driver, so that a target of such backends is no SeparateProcesses.
type OneDriver struct{ storage.Driver }

// Connect is another handle on the driver. Closing it closes the stores that were
// opened through it, and nothing else.
func (o OneDriver) Connect(context.Context) (storage.Driver, error) {
	return &handle{Driver: o.Driver}, nil
}

type handle struct {
	storage.Driver
	stores []storage.Store
	closed bool
}

func (h *handle) Open(ctx context.Context, partition string) (storage.Store, error) {
	if h.closed {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the driver is closed")
	}
	s, err := h.Driver.Open(ctx, partition)
	if err == nil {
		h.stores = append(h.stores, s)
	}
	return s, err
}

func (h *handle) Close() (err error) {
	h.closed = true
	for _, s := range h.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}
