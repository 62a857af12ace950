package conformance_test

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

// inMemory is a backend that cases connect to.
type inMemory struct{ *memory.Backend }

func (b inMemory) Connect(context.Context) (storage.Driver, error) { return b.Driver(), nil }
func (inMemory) Close() error                                      { return nil }

// A driver in Go proves itself by one test, conformance.Run(t, target), whose cases are
// subtests. A program asks for a report.
func ExampleCheck() {
	target := conformance.Target{Name: "memory", Unpartitioned: true, SeparateProcesses: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return inMemory{memory.NewBackend(memory.Options{Lease: o.Lease})}, nil
		}}
	conformance.Check(context.Background(), target, conformance.Selection{IDs: []string{"B01", "B02"}}, func(r conformance.Result) {
		fmt.Println(r.Case.ID, r.Outcome)
	})
	// Output:
	// B01 passed
	// B02 passed
}
