package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// ignored observes for nobody: what is left is what an observation costs.
type ignored struct{}

func (ignored) NonBlocking()                           {}
func (ignored) Observe(metrics.CheckObservation) error { return nil }

// BenchmarkClientCanObserved is BenchmarkClientCan of 100 rows and 300 keys under
// the observers that a host configures: none, one that only counts, and an
// aggregator, which asks for the rows.
func BenchmarkClientCanObserved(b *testing.B) {
	for _, scope := range []string{"global", "depth5"} {
		for _, rows := range []int{10, 100, 1000} {
			for _, observer := range []string{"none", "ignored, no rows", "ignored", "aggregator"} {
				b.Run(fmt.Sprintf("scope=%s/rows=%d/observer=%s", scope, rows, observer), func(b *testing.B) {
					w := newBenchWorld(b, scope, rows, 300, 1)
					o := client.Options{Provider: w.source, Catalog: benchCatalog(b, 300)}
					switch observer {
					case "ignored", "ignored, no rows":
						o.Metrics = &metrics.RecorderOptions{Observers: []metrics.Observer{ignored{}}, OmitAttribution: observer != "ignored"}
					case "aggregator":
						a, err := metrics.NewAggregator(metrics.AggregatorOptions{})
						if err != nil {
							b.Fatal(err)
						}
						o.Metrics = &metrics.RecorderOptions{Observers: []metrics.Observer{a}}
					}
					c, err := client.New(o)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(c.Close)
					ctx := context.Background()
					for i := range w.questions {
						p, key, scope := w.at(i)
						if _, err := c.Can(ctx, p, key, scope); err != nil {
							b.Fatal(err)
						}
					}
					runtime.GC()
					b.ReportAllocs()
					i := rand.IntN(len(w.questions))
					for b.Loop() {
						p, key, scope := w.at(i)
						i++
						if _, err := c.Can(ctx, p, key, scope); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
