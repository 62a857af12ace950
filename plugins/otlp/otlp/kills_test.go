package otlp_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/testplugin"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/otlp/otlptest"
)

const kills = 3 // of each process

// What Write said of a delta is what a receiver has taken that was killed under it
// and started again: each window has a counter of its own.
func TestDeltasAreAsWriteSaidWhenTheReceiverIsKilled(t *testing.T) {
	for _, protocol := range []string{otlp.ProtocolGRPC, otlp.ProtocolHTTP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			receiver := otlptest.StartLasting(t)
			o := ways(receiver)[protocol]
			o.Temporality, o.Timeout = otlp.TemporalityDelta, 30*time.Second
			s := mustOpen(t, o)
			var (
				mu      sync.Mutex
				said    = map[string]string{} // by counter
				taken   atomic.Int64
				stop    = make(chan struct{})
				writing sync.WaitGroup
			)
			for origin := range 4 {
				writing.Go(func() {
					for sequence := uint64(1); ; sequence++ {
						select {
						case <-stop:
							return
						case <-t.Context().Done():
							return
						default:
						}
						name := fmt.Sprintf("w%d-%d", origin, sequence)
						w := window(sequence, 1, name)
						w.Origin = fmt.Sprint("o", origin)
						what := outcome(s.Write(t.Context(), w))
						mu.Lock()
						said[name] = what
						mu.Unlock()
						if what == "taken" {
							taken.Add(1)
						}
					}
				})
			}
			more := func() {
				enough := taken.Load() + 40
				until(t, "more windows are taken", func() bool { return taken.Load() >= enough })
			}
			for range kills {
				more()
				receiver.Kill() // in the middle of exports
				receiver.Again()
			}
			more()
			close(stop)
			writing.Wait()
			got := sums(receiver.Received())
			open := 0
			for name, what := range said {
				n := got[`authz.checks"`+name+`"`]
				switch {
				case what == "taken" && n == 1, what == "not_applied" && n == 0:
				case what == "unknown" && n <= 1:
					open++
				default:
					t.Errorf("window %s was %s and is counted %v times", name, what, n)
				}
			}
			t.Logf("%d windows, %d taken, %d of unknown fate", len(said), taken.Load(), open)
		})
	}
}

// Totals lose nothing that was acknowledged and count nothing twice, whichever of the
// plugin and the receiver is killed, and a receiver never sees one fall.
func TestTotalsOutliveKillsOfPluginAndReceiver(t *testing.T) {
	receiver := otlptest.StartLasting(t)
	p := testplugin.Start(t, testplugin.Build(t, "otlp"), map[string]any{"endpoint": receiver.GRPC, "insecure": true, "interval": "100ms", "state_dir": filepath.Join(t.TempDir(), "state")})
	s, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	sequence, repeated := uint64(0), 0
	deliver := func() {
		sequence++
		w := window(sequence, 1, "a", fmt.Sprint("b", sequence%7))
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := p.AwaitRunning(ctx)
			if err == nil {
				err = s.Write(ctx, w)
			}
			if ctx.Err() != nil {
				t.Fatalf("window %d: %v", sequence, err)
			}
			cancel()
			if err == nil {
				return
			}
			repeated++
		}
	}
	seen := func() float64 { return sums(receiver.Received())[`authz.checks"a"`] }
	for range kills {
		deliver()
		until(t, "the receiver has the last window", func() bool { return seen() == float64(sequence) })
		receiver.Kill()
		deliver()
		receiver.Again()

		killed := time.AfterFunc(10*time.Millisecond, func() {
			if pid := p.Status().PID; pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		for before := p.Status().Restarts; p.Status().Restarts == before; {
			deliver()
		}
		killed.Stop()
	}
	deliver()
	t.Logf("%d windows, %d repetitions", sequence, repeated)
	until(t, "the receiver has the last window", func() bool { return seen() == float64(sequence) })
	all := 0.0
	for _, series := range receiver.Received().Series {
		if series.Fell > 0 {
			t.Errorf("%s %v fell %d times", series.Name, series.Attributes, series.Fell)
		}
		if series.Name == "authz.checks" {
			all += series.Value
		}
	}
	if all != 2*float64(sequence) {
		t.Errorf("%v checks, want %d", all, 2*sequence)
	}
}
