package otlp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/testcert"
	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/otlp/otlptest"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// full is a window with all that a window may count.
func full(sequence uint64) metrics.Window {
	w := window(sequence, 1.5, "a", "b")
	w.Checks = append(w.Checks, metrics.CheckCounter{Permission: "(any)", Decision: metrics.Deny, Shape: metrics.ShapeHeldKeys, ScopeType: "docs.file", Scope: "docs.file:1", Observed: 1, Estimated: 4})
	w.Grants = []metrics.RowCounter{{RowID: "g", Matched: 2, SoleMatch: 1, EstimatedMatched: 2, EstimatedSoleMatch: 1}}
	w.Revokes = []metrics.RowCounter{{RowID: "v", EstimatedMatched: 3}}
	w.Roles = []metrics.RowCounter{{RowID: "r", EstimatedMatched: 5}}
	w.Dropped = 6
	return w
}

func TestTheReceiverComesToTheSameSums(t *testing.T) {
	want := map[string]float64{`authz.checks"a"`: 4.5, `authz.checks"b"`: 4.5, `authz.checks"(any)"`: 12, `authz.grant.matched"g"`: 6, `authz.grant.sole_match"g"`: 3,
		`authz.revoke.matched"v"`: 9, `authz.role.matched"r"`: 15, `authz.dropped`: 18}
	for _, temporality := range []string{otlp.TemporalityCumulative, otlp.TemporalityDelta} {
		for _, protocol := range []string{"grpc", "http"} {
			t.Run(temporality+" "+protocol, func(t *testing.T) {
				receiver := otlptest.Start(t, "", "")
				o := ways(receiver)[protocol]
				o.Temporality, o.Interval, o.Resource, o.Version = temporality, 100*time.Millisecond, []string{"service.name=mine"}, "v1"
				s := mustOpen(t, o)
				for i := range 3 {
					sinktest.Write(t, s, full(uint64(i+1)))
				}
				if err := s.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := receiver.Received()
				if diff := cmp.Diff(want, sums(r)); diff != "" {
					t.Error(diff)
				}
				for _, s := range r.Series {
					if s.Temporality != temporality || !s.Monotonic || s.Fell > 0 || s.Start >= s.Time || !strings.HasPrefix(s.Unit, "{") || s.Resource["service.name"] != `"mine"` {
						t.Errorf("%+v", s)
					}
					if s.Attributes["permission"] != `"(any)"` {
						continue
					}
					wantAttributes := map[string]string{"application": `"docs"`, "instance": `"host-1"`, "permission": `"(any)"`, "decision": `"deny"`, "shape": `"heldKeys"`,
						"gate": `false`, "scope_type": `"docs.file"`, "scope": `"docs.file:1"`}
					if diff := cmp.Diff(wantAttributes, s.Attributes); diff != "" {
						t.Error(diff)
					}
				}
			})
		}
	}
}

func TestTLSAndHeaders(t *testing.T) {
	ca, certificate, key := testcert.Make(t)
	foreign, _, _ := testcert.Make(t)
	receiver := otlptest.Start(t, certificate, key)
	receiver.Behave(otlptest.Behaviour{Token: "Bearer s3cret"})
	for name, o := range map[string]otlp.Options{
		"grpc": {Endpoint: receiver.GRPC},
		"http": {Endpoint: "https://" + receiver.HTTP, Protocol: otlp.ProtocolHTTP},
	} {
		o.Temporality, o.CA, o.Headers, o.Timeout = otlp.TemporalityDelta, ca, []string{"Authorization: Bearer s3cret", "X-Tenant: a"}, time.Minute
		if err := mustOpen(t, o).Write(t.Context(), window(1, 1, "a")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r := receiver.Received()
		if h := append(r.Headers["x-tenant"], r.Headers["X-Tenant"]...); len(h) != 1 || h[0] != "a" {
			t.Errorf("%s: headers %v", name, r.Headers)
		}
		o.Headers = []string{"Authorization: Bearer s3cret-but-wrong"}
		err := mustOpen(t, o).Write(t.Context(), window(1, 1, "a"))
		if outcome(err) != "not_applied" {
			t.Errorf("%s with a wrong token: %v", name, err)
		}
		secretless(t, name, fmt.Sprint(err))

		o.CA, o.Timeout = foreign, 300*time.Millisecond
		before := receiver.Received().Requests
		if err := mustOpen(t, o).Write(t.Context(), window(1, 1, "a")); outcome(err) != "not_applied" {
			t.Errorf("%s with another's authority: %v", name, err)
		}
		if receiver.Received().Requests != before {
			t.Errorf("%s sent to whom it does not trust", name)
		}
	}
	if got := sums(receiver.Received()); got[`authz.checks"a"`] != 2 {
		t.Error(got)
	}
}

func TestMessagesKeepToTheirBound(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	names := make([]string, 2000)
	for i := range names {
		names[i] = strings.Repeat("p", 200) + fmt.Sprint(i)
	}
	const bound = 128 << 10
	for _, temporality := range []string{otlp.TemporalityDelta, otlp.TemporalityCumulative} {
		o := ways(receiver)["grpc"]
		o.Temporality, o.MaxMessage, o.Interval, o.Prefix = temporality, bound, time.Hour, temporality+"."
		s := mustOpen(t, o)
		sinktest.Write(t, s, window(1, 1, names...))
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, series := range receiver.Received().Series {
			if series.Name == temporality+".checks" && series.Value == 1 {
				got++
			}
		}
		if got != len(names) {
			t.Errorf("%s: %d series, want %d", temporality, got, len(names))
		}
	}
	if r := receiver.Received(); r.Largest > bound || r.Requests < 6 {
		t.Errorf("%d requests, the largest of %d bytes", r.Requests, r.Largest)
	}
}

func TestConcurrentWriters(t *testing.T) {
	for _, temporality := range []string{otlp.TemporalityDelta, otlp.TemporalityCumulative} {
		receiver := otlptest.Start(t, "", "")
		o := ways(receiver)["grpc"]
		o.Temporality, o.Interval = temporality, 100*time.Millisecond
		s := mustOpen(t, o)
		var all sync.WaitGroup
		for origin := range 6 {
			all.Go(func() {
				for i := range 20 {
					w := window(uint64(i+1), 1, "a")
					w.Origin = fmt.Sprint("o", origin)
					sinktest.Write(t, s, w)
				}
			})
		}
		all.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := sums(receiver.Received())[`authz.checks"a"`]; got != 120 {
			t.Errorf("%s: %v checks, want 120", temporality, got)
		}
		if err := s.Write(t.Context(), window(99, 1, "a")); outcome(err) != "not_applied" {
			t.Errorf("%s, closed: %v", temporality, err)
		}
	}
}

func TestCumulativeTotalsSurviveWithAStateDirectory(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	o := ways(receiver)["grpc"]
	o.StateDir, o.Interval = t.TempDir(), time.Hour
	for life := range 3 {
		s := mustOpen(t, o)
		if c := s.Info().Capabilities; len(c) != 1 || c[0] != metrics.SinkRecognises {
			t.Errorf("capabilities %v", c)
		}
		for i := range life + 1 { // those before are recognised
			sinktest.Write(t, s, window(uint64(i+1), 2, "a"))
		}
		ctx := t.Context()
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := sums(receiver.Received())[`authz.checks"a"`]; got != 6 {
		t.Errorf("%v checks, want 6", got)
	}
	for _, s := range receiver.Received().Series {
		if s.Fell > 0 {
			t.Errorf("%s fell", s.Name)
		}
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		o     otlp.Options
		field string
	}{
		"no endpoint":               {otlp.Options{}, "endpoint"},
		"a URL over gRPC":           {otlp.Options{Endpoint: "http://127.0.0.1:4317"}, "endpoint"},
		"no URL over HTTP":          {otlp.Options{Endpoint: "127.0.0.1:4318", Protocol: "http"}, "endpoint"},
		"credentials in the URL":    {otlp.Options{Endpoint: "https://u:s3cret@c.example", Protocol: "http"}, "endpoint"},
		"headers in the clear":      {otlp.Options{Endpoint: "http://c.example", Protocol: "http", Headers: []string{"A: s3cret"}}, "endpoint"},
		"headers in plain gRPC":     {otlp.Options{Endpoint: "c.example:4317", Insecure: true, Headers: []string{"A: s3cret"}}, "insecure"},
		"insecure over HTTP":        {otlp.Options{Endpoint: "http://c.example", Protocol: "http", Insecure: true}, "insecure"},
		"another protocol":          {otlp.Options{Endpoint: "127.0.0.1:4317", Protocol: "http/json"}, "protocol"},
		"another temporality":       {otlp.Options{Endpoint: "127.0.0.1:4317", Temporality: "lowmemory"}, "temporality"},
		"state of deltas":           {otlp.Options{Endpoint: "127.0.0.1:4317", Temporality: "delta", StateDir: t.TempDir()}, "state_dir"},
		"a state that cannot be":    {otlp.Options{Endpoint: "127.0.0.1:4317", StateDir: "/proc/nothing"}, "state_dir"},
		"an authority in the clear": {otlp.Options{Endpoint: "127.0.0.1:4317", Insecure: true, CA: "/etc/ca"}, "ca"},
		"no authority":              {otlp.Options{Endpoint: "127.0.0.1:4317", CA: "/nowhere"}, "ca"},
		"no header":                 {otlp.Options{Endpoint: "127.0.0.1:4317", Headers: []string{"s3cret"}}, "headers"},
		"gRPC's own header":         {otlp.Options{Endpoint: "127.0.0.1:4317", Headers: []string{"grpc-timeout: 1S"}}, "headers"},
		"a name for HTTP alone":     {otlp.Options{Endpoint: "127.0.0.1:4317", Headers: []string{"A!: s3cret"}}, "headers"},
		"what gRPC cannot carry":    {otlp.Options{Endpoint: "127.0.0.1:4317", Headers: []string{"A: s3cret\u00fc"}}, "headers"},
		"too often":                 {otlp.Options{Endpoint: "127.0.0.1:4317", Interval: time.Millisecond}, "interval"},
		"no time":                   {otlp.Options{Endpoint: "127.0.0.1:4317", Timeout: -1}, "timeout"},
		"no series":                 {otlp.Options{Endpoint: "127.0.0.1:4317", MaxSeries: -1}, "max_series"},
		"tiny messages":             {otlp.Options{Endpoint: "127.0.0.1:4317", MaxMessage: 1}, "max_message"},
		"a strange prefix":          {otlp.Options{Endpoint: "127.0.0.1:4317", Prefix: "1."}, "prefix"},
		"a resource of one word":    {otlp.Options{Endpoint: "127.0.0.1:4317", Resource: []string{"x"}}, "resource"},
	} {
		s, err := otlp.Open(c.o)
		var refused *plugin.ConfigError
		if !errors.As(err, &refused) || refused.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
		secretless(t, name, fmt.Sprint(err))
		if err == nil {
			_ = s.Close(context.Background())
		}
	}
}

// A zero is refused, not taken for the default.
func TestAZeroIsNoDefault(t *testing.T) {
	sinktest.NoZeroIsADefault(t, otlp.Plugin("test"), map[string]any{"endpoint": "127.0.0.1:4317"},
		"timeout", "interval", "max_series", "max_message")
}
