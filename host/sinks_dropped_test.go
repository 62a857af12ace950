package host_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/authzhost/authz/host/api"
)

// A sink that is killed and cannot come up again, until it is let: what finds its
// queue of four full is dropped, is told at /metrics while it happens, falls within
// 5 s of the time that the sink was dead, and comes with what was delivered to the
// checks made. Windows are closed by hand: how many are pending is no matter of speed.
func TestWhatASinkMissesWhileItIsDeadIsToldAndComesToTheChecksMade(t *testing.T) {
	s := openSinking(t, time.Minute, map[string]string{"a": ""}, "")
	app, _ := s.Application("docs")
	const pending, windows, grace = 4, 8, 5 * time.Second // pending: docs/metrics.md
	closeWindow := func(wait bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if !wait {
			cancel()
		}
		if err := app.FlushUsage(ctx); wait && err != nil {
			t.Fatal(err)
		}
	}
	var drops []time.Time
	var delivered, dropped, droppedWindows int64
	look := func() {
		t.Helper()
		samples := s.metrics(t)
		of := func(what string, outcomes ...string) (sum int64) {
			for _, outcome := range outcomes {
				n, ok := samples[fmt.Sprintf(`authz_sink_%s_total{app="docs",outcome=%q,sink="a"}`, what, outcome)]
				if !ok {
					t.Fatalf("/metrics does not tell what was %s", outcome)
				}
				sum += int64(n)
			}
			return sum
		}
		lost := []string{"full", "refused", "unavailable", "unknown", "stopped"}
		if now := of("checks", lost...); now > dropped {
			dropped, drops = now, append(drops, time.Now())
		}
		delivered, droppedWindows = of("checks", api.OutcomeDelivered), of("windows", lost...)
		if samples[`authz_sink_windows_pending{app="docs",sink="a"}`] > pending {
			t.Error("the queue grew")
		}
	}

	s.check(t, 100)
	closeWindow(true)
	if look(); delivered != 100 || dropped != 0 {
		t.Fatalf("%d delivered, %d dropped before the kill", delivered, dropped)
	}
	// The process writes on into its file, whatever its name; no other can be
	// configured with what has taken the name.
	away := s.path("a") + ".away"
	if err := os.Rename(s.path("a"), away); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("a"), "no ledger\n")
	dead := time.Now()
	s.killSink(t, "a")
	eventually(t, "the sink is down", func() bool { return s.plugin(t, "a").State != "running" })
	for n := range windows {
		s.check(t, 10+2*n)
		closeWindow(false)
		look()
	}
	if delivered != 100 || droppedWindows < windows-pending {
		t.Errorf("while it is dead: %d checks delivered, %d of %d windows dropped", delivered, droppedWindows, windows)
	}

	if err := os.Rename(away, s.path("a")); err != nil {
		t.Fatal(err)
	}
	if err := localCaller(s.Host).Call(t.Context(), "_host/plugin.restart", object{"name": "a"}, nil); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	closeWindow(true) // what waited
	look()
	missed := dropped
	for range pending + 1 {
		s.check(t, 10)
		closeWindow(true)
		look()
	}
	if dropped != missed {
		t.Errorf("%d checks were dropped with the sink well again", dropped-missed)
	}
	for _, at := range drops {
		if at.Before(dead) || at.Sub(back) > grace {
			t.Errorf("checks were dropped at %v, the sink was dead from %v to %v", at, dead, back)
		}
	}
	if len(drops) == 0 || dropped == 0 || delivered+dropped != sum(s.made) {
		t.Errorf("%d made, %d delivered, %d dropped", sum(s.made), delivered, dropped)
	}
	if c := s.plugin(t, "a").Counts; len(c) != 1 || int64(c[0].Dropped()) != dropped {
		t.Errorf("/metrics tells %d dropped, the administration socket %+v", dropped, c)
	}
	closeHost(t, s.Host)
	if got := sum(told(t, s.path("a"))); got != delivered {
		t.Errorf("the sink was told %d checks, %d count as delivered", got, delivered)
	}
	if logged := s.dropped(t, "a"); logged != dropped {
		t.Errorf("/metrics told %d dropped, the log at the stop %d", dropped, logged)
	}
	t.Logf("%d checks: %d delivered, %d dropped, dead for %v", sum(s.made), delivered, dropped, back.Sub(dead).Round(time.Millisecond))
}
