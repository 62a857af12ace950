package prometheus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/testplugin"
	"github.com/authzhost/authz/plugins/prometheus/promtest"
	"github.com/authzhost/authz/sdk/metrics"
)

// The binary is built once for both.
func TestTheProcess(t *testing.T) {
	binary := testplugin.Build(t, "prometheus")
	t.Run("killed, it loses nothing and counts nothing twice", func(t *testing.T) { killed(t, binary) })
	t.Run("without state it declares nothing", func(t *testing.T) { stateless(t, binary) })
}

// A process that is killed at any moment has lost nothing that it acknowledged, and
// counts nothing twice that is sent again: at the server the counters never fall.
func killed(t *testing.T, binary string) {
	address := promtest.FreeAddress(t)
	server := promtest.Start(t, promtest.Scrape{Job: "scraped", Target: address})
	p := testplugin.Start(t, binary, map[string]any{"listen": address, "state_dir": filepath.Join(t.TempDir(), "state"),
		"remote_write_url": server.WriteURL(), "remote_write_interval": "200ms"})
	sink, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	if c := sink.Info().Capabilities; len(c) != 1 || c[0] != metrics.SinkRecognises {
		t.Fatalf("capabilities %v", c)
	}
	const kills = 6
	x := newRandom(t)
	repeated, killed := 0, 0
	deliver := func(w metrics.Window) {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			err := p.AwaitRunning(ctx)
			if err == nil {
				err = sink.Write(ctx, w)
			}
			if ctx.Err() != nil {
				t.Fatalf("window %d: %v", w.Sequence, err)
			}
			cancel()
			if err == nil {
				return
			}
			repeated++
		}
	}
	for killed < kills {
		go func(pid int) {
			time.Sleep(rand.N(300 * time.Millisecond))
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}(p.Status().PID)
		for before := p.Status().Restarts; p.Status().Restarts == before; {
			deliver(x.window("host-1"))
		}
		killed++
	}
	for range 5 {
		deliver(x.window("host-1"))
	}
	t.Logf("%d windows, %d kills, %d repetitions", x.sequence, killed, repeated)
	for job, way := range map[string]string{"scraped": "the scrape", "": "remote-write"} {
		selector := fmt.Sprintf("job=%q", job)
		server.Until(2*time.Minute, way+" has the last window", func() bool { return cmp.Equal(x.sums, counted(server, selector)) })
		if fell := server.Query(fmt.Sprintf(`resets(authz_checks_total{%s}[1h]) > 0`, selector)); len(fell) != 0 {
			t.Errorf("%s: %d counters fell back", way, len(fell))
		}
	}
}

// Without a state directory the sink says that it recognises nothing.
func stateless(t *testing.T, binary string) {
	p := testplugin.Start(t, binary, map[string]any{"listen": "127.0.0.1:0"})
	sink, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	if c := sink.Info().Capabilities; len(c) != 0 {
		t.Errorf("capabilities %v", c)
	}
	if err := sink.Write(t.Context(), window("o", 1, 1, "a")); err != nil {
		t.Error(err)
	}
}
