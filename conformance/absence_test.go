package conformance_test

import (
	"context"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

// Drivers that lack capabilities pass all the same: nothing that a case needs of
// one goes unsaid.
func TestDriversWithFewerCapabilities(t *testing.T) {
	for name, absent := range map[string]storage.Capabilities{
		"as a document store": {storage.CapHistory, storage.CapMetrics},
		"none at all":         storage.AllCapabilities,
	} {
		t.Run(name, func(t *testing.T) {
			if len(absent) < len(storage.AllCapabilities) && !full {
				t.Skip("AUTHZ_FULL=1 runs it")
			}
			conformance.RunSelected(t, conformance.Target{Name: name, Unpartitioned: true, SeparateProcesses: true,
				New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
					b := memory.NewBackend(memory.Options{Lease: o.Lease})
					return connects(func() storage.Driver { return lacking.Driver(b.Driver(), absent...) }), nil
				}}, conformance.Quick(t))
		})
	}
}
