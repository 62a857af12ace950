package otlp_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/otlp/otlptest"
	"github.com/authzhost/authz/sdk/metrics"
)

// collected is a backend whose counts are those that the receiver came to.
type collected struct {
	receiver *otlptest.Receiver
	options  otlp.Options

	mu   sync.Mutex
	open []metrics.Sink
}

func (b *collected) Connect(context.Context) (metrics.Sink, error) {
	s, err := otlp.Open(b.options)
	if err == nil {
		b.mu.Lock()
		b.open = append(b.open, s)
		b.mu.Unlock()
	}
	return s, err
}

func (b *collected) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, s := range b.open {
		_ = s.Close(ctx)
	}
	b.receiver.Stop()
	if b.options.StateDir == "" {
		return nil
	}
	return os.RemoveAll(b.options.StateDir)
}

func (b *collected) Counts(context.Context) (map[sink.Key]float64, error) {
	counts := map[sink.Key]float64{}
	for _, s := range b.receiver.Received().Series {
		if s.Name == "authz.checks" {
			plain := func(name string) string { return strings.Trim(s.Attributes[name], `"`) }
			counts[sink.Key{Application: plain("application"), Permission: plain("permission"), Decision: metrics.Decision(plain("decision"))}] += s.Value
		}
	}
	return counts, nil
}

func TestConformance(t *testing.T) {
	for _, protocol := range []string{otlp.ProtocolGRPC, otlp.ProtocolHTTP} {
		for _, temporality := range []string{otlp.TemporalityCumulative, otlp.TemporalityDelta} {
			t.Run(protocol+" "+temporality, func(t *testing.T) {
				sink.Run(t, sink.Target{Name: "otlp", New: func(context.Context) (sink.Backend, error) {
					receiver := otlptest.Start(t, "", "") // one each: what it was given in all is asked for often
					o := ways(receiver)[protocol]
					o.Temporality, o.Interval, o.MaxSeries, o.Timeout = temporality, 200*time.Millisecond, 100_000, time.Minute
					o.OmitAttribution = true // the largest window is slow to encode under the race detector
					var err error
					if temporality == otlp.TemporalityCumulative {
						o.StateDir, err = os.MkdirTemp("", "authz-otlp")
					}
					return &collected{receiver: receiver, options: o}, err
				}})
			})
		}
	}
}
