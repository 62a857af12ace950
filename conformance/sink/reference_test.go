package sink_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// system is a target system: it adds up what it is given and remembers the newest
// sequence of each origin. It can stop answering.
type system struct {
	mu      sync.Mutex
	counts  map[sink.Key]float64
	newest  map[string]uint64
	stalled chan struct{} // closed when it answers
}

func newSystem() *system {
	s := &system{counts: map[sink.Key]float64{}, newest: map[string]uint64{}, stalled: make(chan struct{})}
	close(s.stalled)
	return s
}

// answers waits until the system answers.
func (s *system) answers(ctx context.Context) error {
	s.mu.Lock()
	stalled := s.stalled
	s.mu.Unlock()
	select {
	case <-stalled:
		return nil
	default:
	}
	select {
	case <-stalled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
	if s.token != rightToken {
		return unavailable(authz.OutcomeNotApplied, nil, "the system refuses the token")
	}
	if err := s.b.system.answers(ctx); err != nil {
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
	system *system
	broken func(*memorySink) metrics.Sink // nil is sound
	strict func(map[string]any) error     // nil is sound
	said   strings.Builder
	held   atomic.Int64 // bytes

	mu    sync.Mutex
	sinks map[metrics.Sink]*processes.Process
}

const rightToken = "s3cret-token"

var schema = []plugin.Setting{
	{Name: "endpoint", Type: plugin.TypeString, Required: true},
	{Name: "token", Type: plugin.TypeString, Secret: true},
	{Name: "batch", Type: plugin.TypeInteger},
	{Name: "labels", Type: plugin.TypeStrings},
}

func (*surroundings) Settings() []plugin.Setting { return schema }

func (*surroundings) Config() map[string]any {
	return map[string]any{"endpoint": "memory", "token": rightToken}
}

func (b *surroundings) Output() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said.String()
}

func (b *surroundings) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(&b.said, format+"\n", args...)
}

func (b *surroundings) Configure(_ context.Context, config map[string]any) (metrics.Sink, error) {
	strict := b.strict
	if strict == nil {
		strict = func(config map[string]any) error { return processes.Check(schema, config) }
	}
	if err := strict(config); err != nil {
		return nil, err
	}
	token, _ := config["token"].(string)
	s := &memorySink{b: b, process: processes.New(), token: token}
	var made metrics.Sink = s
	if b.broken != nil {
		made = b.broken(s)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sinks[made] = s.process
	return made, nil
}

func (b *surroundings) Connect(ctx context.Context) (metrics.Sink, error) {
	return b.Configure(ctx, b.Config())
}

func (*surroundings) Close() error { return nil }

func (b *surroundings) of(s metrics.Sink) *processes.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sinks[s]
}

func (b *surroundings) Kill(s metrics.Sink) error     { b.of(s).Kill(); return nil }
func (b *surroundings) Stop(s metrics.Sink) error     { b.of(s).Stop(); return nil }
func (b *surroundings) Continue(s metrics.Sink) error { b.of(s).Continue(); return nil }

func (b *surroundings) Weigh(metrics.Sink) (int64, error) { return b.held.Load(), nil }

func (b *surroundings) Counts(context.Context) (map[sink.Key]float64, error) {
	b.system.mu.Lock()
	defer b.system.mu.Unlock()
	return maps.Clone(b.system.counts), nil
}

func (b *surroundings) Stall() error {
	b.system.mu.Lock()
	defer b.system.mu.Unlock()
	b.system.stalled = make(chan struct{})
	return nil
}

func (b *surroundings) Resume() error {
	b.system.mu.Lock()
	defer b.system.mu.Unlock()
	select {
	case <-b.system.stalled:
	default:
		close(b.system.stalled)
	}
	return nil
}

var errBusy = errors.New("busy")

// over is a target of the memory sink with its defects.
func over(broken func(*memorySink) metrics.Sink, strict func(map[string]any) error) sink.Target {
	return sink.Target{Name: "memory", Patience: 2 * time.Second, Timeout: 30 * time.Second,
		New: func(context.Context) (sink.Backend, error) {
			return &surroundings{system: newSystem(), broken: broken, strict: strict, sinks: map[metrics.Sink]*processes.Process{}}, nil
		}}
}
