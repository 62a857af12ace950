package meshcases_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/host/mesh/meshcases"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/storage"
)

// over is a target whose every case has a backend of its own, which connect opens.
func over(name string, backend func(conformance.Options) (conformance.Backend, error)) conformance.Target {
	return conformance.Target{Name: name, Unpartitioned: true, SeparateProcesses: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) { return backend(o) }}
}

type inMemory func() storage.Driver

func (d inMemory) Connect(context.Context) (storage.Driver, error) { return d(), nil }
func (inMemory) Close() error                                      { return nil }

func memoryTarget() conformance.Target {
	return over("memory", func(o conformance.Options) (conformance.Backend, error) {
		return inMemory(memory.NewBackend(memory.Options{Lease: o.Lease}).Driver), nil
	})
}

func TestMeshOverMemory(t *testing.T) { meshcases.Plan(memoryTarget()).Test(t, runner.Selection{}) }

// A database that cases share, whose drivers are one process.
func TestMeshOverOneSharedProcess(t *testing.T) {
	shared := memory.New(memory.Options{Lease: 0})
	t.Cleanup(func() { _ = shared.Close() })
	target := conformance.Target{Name: "shared memory", Prefix: "p",
		New: func(context.Context, conformance.Options) (conformance.Backend, error) {
			return inMemory(func() storage.Driver { return lasting{shared} }), nil
		}}
	meshcases.Plan(target).Test(t, runner.Selection{Skip: []string{"X30b"}}) // which sets the lease
}

// lasting is a connection whose end is not the driver's.
type lasting struct{ storage.Driver }

func (lasting) Close() error { return nil }

// file is a backend whose every connection is as another process.
type file struct {
	path string
	o    conformance.Options

	mu   sync.Mutex
	open []storage.Driver
}

func (f *file) Connect(ctx context.Context) (storage.Driver, error) {
	d, err := sqlite.Open(ctx, sqlite.Options{Path: f.path, Lease: f.o.Lease})
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.open = append(f.open, d)
	}
	return d, err
}

func (f *file) Close() error {
	var failed []error
	for _, d := range f.open {
		failed = append(failed, d.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(filepath.Dir(f.path)))...)
}

func TestMeshOverSQLite(t *testing.T) {
	target := over("sqlite", func(o conformance.Options) (conformance.Backend, error) {
		dir, err := os.MkdirTemp("", "authz-mesh-")
		if err != nil {
			return nil, err
		}
		return &file{path: filepath.Join(dir, "authz.db"), o: o}, nil
	})
	meshcases.Plan(target).Test(t, runner.Selection{})
}
