package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

type backend struct{ *memory.Backend }

func (b backend) Connect(context.Context) (storage.Driver, error) { return b.Driver(), nil }
func (backend) Close() error                                      { return nil }

func memoryTarget() conformance.Target {
	return conformance.Target{Name: "memory", Unpartitioned: true, SeparateProcesses: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return backend{memory.NewBackend(memory.Options{Lease: o.Lease})}, nil
		}}
}

func TestMemory(t *testing.T) { conformance.Run(t, memoryTarget()) }

func TestMemoryAsProcesses(t *testing.T) { conformance.Run(t, processTarget(nil)) }

// A database that cases share gives each of them partitions of its own.
func TestSharedBackend(t *testing.T) {
	shared := memory.NewBackend(memory.Options{Lease: 3 * time.Second})
	conformance.Run(t, conformance.Target{Name: "shared memory", SeparateProcesses: true, Prefix: "p",
		New: func(context.Context, conformance.Options) (conformance.Backend, error) { return backend{shared}, nil }})
}
