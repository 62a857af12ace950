package otlp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/otlp/otlptest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func mustOpen(t testing.TB, o otlp.Options) metrics.Sink {
	t.Helper()
	s, err := otlp.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

func window(sequence uint64, estimated float64, permissions ...string) metrics.Window {
	w := metrics.Window{Application: "docs", Origin: "o", Sequence: sequence}
	w.InstanceID, w.WindowStart, w.WindowEnd = "host-1", 1_700_000_000_000, 1_700_000_060_000
	for _, p := range permissions {
		w.Checks = append(w.Checks, metrics.CheckCounter{Permission: p, Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*",
			Observed: 1, Estimated: estimated})
	}
	return w
}

// sums is what the receiver came to, zeros left out.
func sums(r otlptest.Received) map[string]float64 {
	m := map[string]float64{}
	for _, s := range r.Series {
		if s.Value != 0 {
			name := s.Name
			for _, a := range []string{"permission", "grant_id", "revoke_id", "role_id"} {
				name += s.Attributes[a]
			}
			m[name] = s.Value
		}
	}
	return m
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came to be: %s", what)
		}
	}
}

// ways are both protocols to a receiver in plaintext.
func ways(r *otlptest.Receiver) map[string]otlp.Options {
	return map[string]otlp.Options{
		"grpc": {Endpoint: r.GRPC, Insecure: true},
		"http": {Endpoint: "http://" + r.HTTP, Protocol: otlp.ProtocolHTTP},
	}
}

// outcome is "taken", "invalid", or the outcome of an outage.
func outcome(err error) string {
	var down *authz.UnavailableError
	switch {
	case err == nil:
		return "taken"
	case authz.CodeOf(err) == authz.CodeValidation:
		return "invalid"
	case errors.As(err, &down):
		return string(down.Outcome)
	}
	return fmt.Sprintf("%T", err)
}

func logger(to *testlog.Log) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func secretless(t *testing.T, what string, said string) {
	t.Helper()
	if strings.Contains(said, "s3cret") {
		t.Errorf("%s says %s", what, said)
	}
}
