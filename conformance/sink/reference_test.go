package sink_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// system is a target system: it adds up what it is given and remembers the newest
// sequence of each origin. It can stop answering.
type system struct {
	processes.Line

	mu     sync.Mutex
	counts map[sink.Key]float64
	newest map[string]uint64
}

// add takes a window once.
func (s *system) add(w metrics.Window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Sequence <= s.newest[w.Origin] {
		return
	}
	s.newest[w.Origin] = w.Sequence
	s.count(w, w.Application)
}

func (s *system) count(w metrics.Window, application string) {
	for _, c := range w.Checks {
		s.counts[sink.Key{Application: application, Permission: c.Permission, Decision: c.Decision}] += c.Estimated
	}
}

// memorySink writes through to its system.
type memorySink struct {
	b       *surroundings
	process *processes.Process
	token   string
	closed  atomic.Bool
}

var capabilities = []metrics.SinkCapability{metrics.SinkRecognises}

func (s *memorySink) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: "memory", Capabilities: slices.Clone(capabilities)}
}

func unavailable(o authz.Outcome, cause error, why string) error {
	return &authz.UnavailableError{Message: why, Outcome: o, Cause: cause}
}

func (s *memorySink) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if s.closed.Load() {
		return unavailable(authz.OutcomeNotApplied, nil, "the sink is closed")
	}
	if err := s.process.Pass(ctx); err != nil {
		return unavailable(authz.OutcomeUnknown, err, "the process did not answer")
	}
	if s.token != processes.RightToken {
		return unavailable(authz.OutcomeNotApplied, nil, "the system refuses the token")
	}
	if err := s.b.system.Ask(ctx); err != nil {
		return unavailable(authz.OutcomeNotApplied, err, "the system does not answer")
	}
	s.b.system.add(w)
	if err := s.process.Pass(ctx); err != nil {
		return unavailable(authz.OutcomeUnknown, err, "the process did not answer")
	}
	return nil
}

func (s *memorySink) Close(ctx context.Context) error {
	s.closed.Store(true)
	return s.process.Pass(ctx)
}

// surroundings is the backend of a case: one system, and processes that can be
// killed and stopped.
type surroundings struct {
	processes.Configuration
	processes.Said
	processes.Started[metrics.Sink, *processes.Process]
	*system
	broken func(*memorySink) metrics.Sink // nil is sound
	held   atomic.Int64                   // bytes
}

func (b *surroundings) Configure(_ context.Context, config map[string]any) (metrics.Sink, error) {
	token, err := b.Token(config)
	if err != nil {
		return nil, err
	}
	s := &memorySink{b: b, process: processes.New(), token: token}
	var made metrics.Sink = s
	if b.broken != nil {
		made = b.broken(s)
	}
	b.Add(made, s.process)
	return made, nil
}

func (b *surroundings) Connect(ctx context.Context) (metrics.Sink, error) {
	return b.Configure(ctx, b.Config())
}

func (*surroundings) Close() error { return nil }

func (b *surroundings) Weigh(metrics.Sink) (int64, error) { return b.held.Load(), nil }

func (b *surroundings) Counts(context.Context) (counts map[sink.Key]float64, _ error) {
	b.locked(func() { counts = maps.Clone(b.counts) })
	return counts, nil
}

var errBusy = errors.New("busy")

// over is a target of the memory sink with its defects.
func over(broken func(*memorySink) metrics.Sink, judge func(map[string]any) error) sink.Target {
	return sink.Target{Name: "memory", Patience: 2 * time.Second, Timeout: 30 * time.Second,
		New: func(context.Context) (sink.Backend, error) {
			return &surroundings{Configuration: processes.Configuration{Judge: judge}, broken: broken,
				system: &system{counts: map[sink.Key]float64{}, newest: map[string]uint64{}}}, nil
		}}
}
