package metrics_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// benchObservations are those of 1,000 principals asking about 300 permissions, as a
// client delivers them: half denied, allows with a row or two and a role.
func benchObservations() []metrics.CheckObservation {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]metrics.CheckObservation, 1<<13)
	for i := range out {
		o := metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Decided(i%2 == 0), ScopeType: "docs.doc", SampleRate: 1,
			Permission: strings.Clone(fmt.Sprintf("docs.area%d.read_thing%d", rng.IntN(30), rng.IntN(10))),
			Principal:  authz.UserPrincipal(fmt.Sprintf("user-%d", rng.IntN(1000)))}
		if o.Decision == metrics.Allow {
			for range 1 + rng.IntN(2) {
				o.MatchedGrantIDs = append(o.MatchedGrantIDs, fmt.Sprintf("4f6c1e0a-0000-4000-8000-%012d", rng.IntN(5000)))
			}
			if len(o.MatchedGrantIDs) == 1 {
				o.SoleMatchGrantID = o.MatchedGrantIDs[0]
			}
			o.RoleIDs = []string{fmt.Sprintf("role%d", rng.IntN(50))}
		}
		out[i] = o
	}
	return out
}

// BenchmarkAggregator counts into a window that has seen everything already.
func BenchmarkAggregator(b *testing.B) {
	stream := benchObservations()
	warm := func(b *testing.B) *metrics.Aggregator {
		a, err := metrics.NewAggregator(metrics.AggregatorOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for range 4 {
			for i := range stream {
				_ = a.Observe(stream[i]) // always nil
			}
		}
		b.ReportAllocs()
		b.ResetTimer()
		return a
	}
	b.Run("serial", func(b *testing.B) {
		a := warm(b)
		for i := 0; b.Loop(); i++ {
			_ = a.Observe(stream[i&(len(stream)-1)])
		}
	})
	b.Run("parallel", func(b *testing.B) {
		a := warm(b)
		b.RunParallel(func(pb *testing.PB) {
			for i := rand.IntN(len(stream)); pb.Next(); i++ {
				_ = a.Observe(stream[i&(len(stream)-1)])
			}
		})
	})
}
