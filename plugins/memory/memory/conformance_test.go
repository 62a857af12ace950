package memory_test

import (
	"context"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

type backend struct{ *memory.Backend }

func (b backend) Connect(context.Context) (storage.Driver, error) { return b.Driver(), nil }

func (backend) Close() error { return nil }

func TestConformance(t *testing.T) {
	conformance.RunSelected(t, conformance.Target{
		Name:              "memory",
		Unpartitioned:     true,
		SeparateProcesses: true, // drivers of one backend behave so
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return backend{memory.NewBackend(memory.Options{Lease: o.Lease})}, nil
		},
	}, conformance.Quick(t))
}
