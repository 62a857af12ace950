package mesh_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// BenchmarkMeshStaleness tells how long a member that imports a key allows it after its
// owner has acknowledged a revoke: by revalidation alone, and with the poller. It says
// times of no operation, p50-ms and p99-ms are what it is run for.
func BenchmarkMeshStaleness(b *testing.B) {
	const step = 100 * time.Millisecond // in place of the 5 s of a client and a poller
	b.Run("window=100ms", func(b *testing.B) {
		measureStaleness(b, newImporter(b, 1, client.Options{RevalidateAfter: ptr(step)}), step)
	})
	b.Run("poller=100ms", func(b *testing.B) {
		i := newImporter(b, 1, client.Options{})
		own, err := i.Open(context.Background(), "docs")
		if err != nil {
			b.Fatal(err)
		}
		log := application.LogOf(own, func(_ string, err error) error { return err })
		p, err := eventlog.StartPoller(context.Background(), i.app, i.store.Parts(log), eventlog.PollerOptions{Interval: step})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { p.Stop(); <-p.Done() })
		measureStaleness(b, i, step)
	})
}

func measureStaleness(b *testing.B, i *importer, step time.Duration) {
	const key = "owner0.things.read"
	ctx := context.Background()
	store, err := i.Driver.Open(ctx, "owner0")
	if err != nil {
		b.Fatal(err)
	}
	vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"owner0"}, Permissions: []catalog.PermissionSet{{Leaves: []catalog.Permission{{Key: key}}}}})
	if err != nil {
		b.Fatal(err)
	}
	owner, err := application.New(ctx, application.Options{Name: "owner0", Catalog: vocabulary, Store: store})
	if err != nil {
		b.Fatal(err)
	}
	defer owner.Close()
	until := func(want bool) time.Duration {
		for began := time.Now(); ; time.Sleep(200 * time.Microsecond) {
			if allowed, err := i.Can(ctx, users[3], key, "*"); err != nil {
				b.Fatal(err)
			} else if allowed == want {
				return time.Since(began)
			}
		}
	}
	var late []time.Duration
	for b.Loop() {
		until(true)
		time.Sleep(rand.N(step)) // at any moment of the window
		row, err := owner.CreateRevoke(ctx, provider.RevokeInput{UserID: users[3].UserID, Pattern: key, Scope: authz.Global}, admin)
		if err != nil {
			b.Fatal(err)
		}
		late = append(late, until(false))
		if err := owner.DeleteRevoke(ctx, row.ID, admin); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(late)
	at := func(q float64) float64 {
		return float64(late[min(len(late)-1, int(q*float64(len(late))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
}
