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
	"github.com/authzhost/authz/sdk/storage"
)

func TestConformance(t *testing.T) {
	conformance.RunSelected(t, conformance.Target{Name: "bolt", New: newFile, Unpartitioned: true}, conformance.Quick(t))
}

// file is the fresh database of one case. Only one process can open it.
type file struct {
	conformance.OneDriver
	dir string
}

func newFile(_ context.Context, o conformance.Options) (conformance.Backend, error) {
	dir, err := os.MkdirTemp("", "boltstore")
	if err != nil {
		return nil, err
	}
	driver, err := boltstore.Open(filepath.Join(dir, "authz.db"), cmp.Or(o.Lease, storage.DefaultLease))
	return &file{conformance.OneDriver{Driver: driver}, dir}, err
}

func (f *file) Close() error { return errors.Join(f.Driver.Close(), os.RemoveAll(f.dir)) }
