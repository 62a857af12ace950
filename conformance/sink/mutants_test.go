package sink_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/internal/mutants"
	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// altered is a sink some of whose methods are replaced.
type altered struct {
	metrics.Sink
	info  func() metrics.SinkInfo
	write func(context.Context, metrics.Window) error
	close func(context.Context) error
}

func (a *altered) Info() metrics.SinkInfo {
	if a.info != nil {
		return a.info()
	}
	return a.Sink.Info()
}

func (a *altered) Write(ctx context.Context, w metrics.Window) error {
	if a.write != nil {
		return a.write(ctx, w)
	}
	return a.Sink.Write(ctx, w)
}

func (a *altered) Close(ctx context.Context) error {
	if a.close != nil {
		return a.close(ctx)
	}
	return a.Sink.Close(ctx)
}

func informing(info metrics.SinkInfo) func(*memorySink) metrics.Sink {
	return func(s *memorySink) metrics.Sink {
		own := metrics.SinkInfo{Name: info.Name, Capabilities: slices.Clone(info.Capabilities)}
		return &altered{Sink: s, info: func() metrics.SinkInfo { return own }}
	}
}

// writing replaces Write.
func writing(write func(*memorySink, context.Context, metrics.Window) error) func(*memorySink) metrics.Sink {
	return func(s *memorySink) metrics.Sink {
		return &altered{Sink: s, write: func(ctx context.Context, w metrics.Window) error { return write(s, ctx, w) }}
	}
}

// changing alters windows on their way.
func changing(change func(*metrics.Window)) func(*memorySink) metrics.Sink {
	return writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		change(&w)
		return s.Write(ctx, w)
	})
}

// refusing refuses windows for a reason of its own.
func refusing(reason func(metrics.Window) bool) func(*memorySink) metrics.Sink {
	return writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if reason(w) {
			return authz.Validation("refused")
		}
		return s.Write(ctx, w)
	})
}

// letting takes a window that Validate refuses for what mend mends.
func letting(mend func(*metrics.Window)) func(*memorySink) metrics.Sink {
	return changing(func(w *metrics.Window) {
		w.Checks, w.Grants, w.Roles = slices.Clone(w.Checks), slices.Clone(w.Grants), slices.Clone(w.Roles)
		mend(w)
	})
}

// straight counts without asking whether the window was counted before.
func straight(s *memorySink, ctx context.Context, w metrics.Window, count func()) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := s.process.Pass(ctx); err != nil {
		return unavailable(authz.OutcomeUnknown, err, "the process did not answer")
	}
	count()
	if err := s.process.Pass(ctx); err != nil {
		return unavailable(authz.OutcomeUnknown, err, "the process did not answer")
	}
	return nil
}

func (s *system) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// buffering takes windows into its memory and passes them on at Close or at the
// nth; drop says whether Close loses them.
func buffering(n int, drop bool) func(*memorySink) metrics.Sink {
	return func(s *memorySink) metrics.Sink {
		var (
			mu   sync.Mutex
			held []metrics.Window
		)
		pass := func() {
			for _, w := range held {
				s.b.system.add(w)
			}
			held = nil
		}
		return &altered{Sink: s, write: func(ctx context.Context, w metrics.Window) error {
			return straight(s, ctx, w, func() {
				mu.Lock()
				defer mu.Unlock()
				if held = append(held, w); len(held) >= n {
					pass()
				}
			})
		}, close: func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if !drop {
				pass()
			}
			return s.Close(ctx)
		}}
	}
}

type mutant struct {
	name   string
	cases  string // separated by blanks
	broken func(*memorySink) metrics.Sink
	judge  func(map[string]any) error
}

var all = []mutant{
	{"it has no name", "W01", informing(metrics.SinkInfo{}), nil},
	{"it declares a capability of its own making", "W01", informing(metrics.SinkInfo{Name: "x", Capabilities: []metrics.SinkCapability{"fast"}}), nil},
	{"its capabilities are shared with callers", "W02", informing(metrics.SinkInfo{Name: "x", Capabilities: []metrics.SinkCapability{metrics.SinkRecognises}}), nil},
	{"a window without counters is refused", "W03", refusing(func(w metrics.Window) bool { return w.Empty() }), nil},
	{"more than a thousand counters are refused", "W04", refusing(func(w metrics.Window) bool { return len(w.Checks) > 1000 }), nil},
	{"a gap in the sequence is refused", "W05", func(s *memorySink) metrics.Sink {
		last := uint64(0)
		return refusing(func(w metrics.Window) bool { last++; return w.Sequence != last })(s)
	}, nil},
	{"two windows at once are refused", "W06", func(s *memorySink) metrics.Sink {
		var one sync.Mutex
		return writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
			if !one.TryLock() {
				return unavailable(authz.OutcomeNotApplied, errBusy, "busy")
			}
			defer one.Unlock()
			time.Sleep(time.Millisecond)
			return s.Write(ctx, w)
		})(s)
	}, nil},
	{"only the first counter of a window counts", "W07", changing(func(w *metrics.Window) { w.Checks = w.Checks[:min(1, len(w.Checks))] }), nil},
	{"denied checks count as allowed", "W07", changing(func(w *metrics.Window) {
		w.Checks = slices.Clone(w.Checks)
		for i := range w.Checks {
			w.Checks[i].Decision = metrics.Allow
		}
	}), nil},
	{"two origins at once lose an update", "W08", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		return straight(s, ctx, w, func() {
			var before map[sink.Key]float64
			s.b.system.locked(func() { before = maps.Clone(s.b.system.counts) })
			time.Sleep(2 * time.Millisecond)
			s.b.system.locked(func() {
				s.b.system.counts = before
				s.b.system.count(w, w.Application)
			})
		})
	}), nil},
	{"applications are not told apart", "W09", changing(func(w *metrics.Window) { w.Application = strings.TrimSuffix(w.Application, "-other") }), nil},
	{"it does not recognise what it declares to", "W10 W12 W14", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		return straight(s, ctx, w, func() { s.b.system.locked(func() { s.b.system.count(w, w.Application) }) })
	}), nil},
	{"it recognises a window by its sequence alone", "W11", changing(func(w *metrics.Window) { w.Origin = "one" }), nil},
	{"it recognises only what its own process has taken", "W12 W14", func(s *memorySink) metrics.Sink {
		var mu sync.Mutex
		newest := map[string]uint64{}
		return writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
			return straight(s, ctx, w, func() {
				mu.Lock()
				defer mu.Unlock()
				if w.Sequence > newest[w.Origin] {
					newest[w.Origin] = w.Sequence
					s.b.system.locked(func() { s.b.system.count(w, w.Application) })
				}
			})
		})(s)
	}, nil},
	{"it recognises before it has counted", "W14", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		return straight(s, ctx, w, func() {
			known := false
			s.b.system.locked(func() {
				known = w.Sequence <= s.b.system.newest[w.Origin]
				s.b.system.newest[w.Origin] = max(w.Sequence, s.b.system.newest[w.Origin])
			})
			time.Sleep(80 * time.Millisecond) // long enough to be killed in
			if !known && s.process.Pass(ctx) == nil {
				s.b.system.locked(func() { s.b.system.count(w, w.Application) })
			}
		})
	}), nil},
	{"what it has taken is in its memory only", "W13", buffering(2, false), nil},
	{"a refusal for want of an answer counts all the same later", "W15", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		err := s.Write(ctx, w)
		if ctx.Err() != nil {
			late := s.b
			go func() {
				_ = late.system.Ask(context.WithoutCancel(ctx))
				late.system.locked(func() { late.system.count(w, w.Application) })
			}()
		}
		return err
	}), nil},
	{"Close drops what was taken", "W16", buffering(5, true), nil},
	{"a NaN is taken for nothing", "W17 W19", letting(func(w *metrics.Window) {
		for i := range w.Checks {
			if math.IsNaN(w.Checks[i].Estimated) {
				w.Checks[i].Estimated = 0
			}
		}
	}), nil},
	{"a negative count is taken for nothing", "W17 W19", letting(func(w *metrics.Window) {
		for i := range w.Checks {
			w.Checks[i].Observed, w.Checks[i].Estimated = max(0, w.Checks[i].Observed), max(0, w.Checks[i].Estimated)
		}
	}), nil},
	{"a malformed count is an outage", "W17", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if w.Validate() != nil {
			return unavailable(authz.OutcomeNotApplied, nil, "it did not work")
		}
		return s.Write(ctx, w)
	}), nil},
	{"a window without an origin is taken", "W18", letting(func(w *metrics.Window) { w.Origin = "o" }), nil},
	{"a window of sequence 0 is taken", "W18", letting(func(w *metrics.Window) { w.Sequence = max(1, w.Sequence) }), nil},
	{"the counters before a malformed one count", "W19", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if w.Validate() != nil {
			s.b.system.locked(func() {
				for _, c := range w.Checks {
					if c.Observed >= 0 && c.Estimated >= 0 {
						s.b.system.counts[sink.Key{Application: w.Application, Permission: c.Permission, Decision: c.Decision}] += c.Estimated
					}
				}
			})
		}
		return s.Write(ctx, w)
	}), nil},
	{"an ended context ends nothing", "W20", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if ctx.Err() != nil {
			time.Sleep(4 * time.Second)
		}
		return s.Write(ctx, w)
	}), nil},
	{"Write waits for its system without its context", "W21", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		long, done := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
		defer done()
		return s.Write(long, w)
	}), nil},
	{"what the system does not take is queued without a bound", "W22", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		return straight(s, ctx, w, func() { s.b.held.Add(int64(len(w.Checks)+3*len(w.Grants)) * 400) })
	}), nil},
	{"Close waits for its system without its context", "W23", func(s *memorySink) metrics.Sink {
		return &altered{Sink: s, close: func(ctx context.Context) error {
			long, done := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
			defer done()
			return s.b.system.Ask(long)
		}}
	}, nil},
	{"a closed sink takes windows", "W24", func(s *memorySink) metrics.Sink {
		return &altered{Sink: s, close: func(context.Context) error { return nil }}
	}, nil},
	{"a dead process is a refusal", "W25 W26", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		err := s.Write(ctx, w)
		time.Sleep(80 * time.Millisecond) // long enough to be killed in
		if s.process.Pass(ctx) != nil {
			return authz.Validation("it is dead")
		}
		return err
	}), nil},
	{"Write to a dead process waits", "W26", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if s.process.Pass(ctx) != nil {
			time.Sleep(4 * time.Second)
		}
		return s.Write(ctx, w)
	}), nil},
	{"Write to a stopped process waits without its context", "W27", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		long, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		return s.Write(long, w)
	}), nil},
	{"Write to a stopped process was not applied", "W27", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if err := s.Write(ctx, w); err != nil {
			return unavailable(authz.OutcomeNotApplied, err, "no answer")
		}
		return nil
	}), nil},
	{"Close of a stopped process waits without its context", "W28", func(s *memorySink) metrics.Sink {
		return &altered{Sink: s, close: func(ctx context.Context) error {
			long, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer done()
			return s.Close(long)
		}}
	}, nil},
	{"unknown settings are passed over", "W29", nil, processes.Tolerating("unknown")},
	{"an unknown setting is refused without a suggestion", "W29", nil, func(config map[string]any) error {
		err := processes.Check(config)
		if refused, ok := err.(*plugin.ConfigError); ok {
			refused.Suggestion = ""
		}
		return err
	}},
	{"a wrong type is passed over", "W30", nil, processes.Tolerating("has the wrong type")},
	{"a refusal repeats the value", "W30", nil, func(config map[string]any) error {
		err := processes.Check(config)
		if refused, ok := err.(*plugin.ConfigError); ok {
			if value, ok := config[refused.Field].(string); ok {
				refused.Message += ": " + value
			}
		}
		return err
	}},
	{"a required setting may be missing", "W31", nil, processes.Tolerating("is required")},
	{"the token is logged", "W32", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		s.b.Say("authorization: Bearer %s", s.token)
		return s.Write(ctx, w)
	}), nil},
	{"the token stands in an error", "W32 W33", writing(func(s *memorySink, ctx context.Context, w metrics.Window) error {
		if err := s.Write(ctx, w); err != nil {
			return unavailable(authz.OutcomeNotApplied, err, "POST / with "+s.token+": "+err.Error())
		}
		return nil
	}), nil},
}

func TestMutantsAreCaught(t *testing.T) {
	var tried []mutants.Mutant
	for _, m := range all {
		tried = append(tried, mutants.Mutant{Name: m.name, Cases: m.cases, Plan: over(m.broken, m.judge).Plan()})
	}
	mutants.Caught(t, sink.Cases(), tried)
}
