package pluginhost

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// Sink returns a sink that always speaks to the current process. While there is
// none it answers at once, not applied: waiting is the caller's (AwaitRunning).
// Closing it ends the process's sink, for everybody; the process belongs to the
// Host.
func (p *Plugin) Sink() (metrics.Sink, error) {
	now, err := p.servesNow(authz.OutcomeNotApplied)
	if err != nil {
		return nil, err
	}
	if now.Sink == nil {
		return nil, p.servesNo(p.Description(), plugin.KindSink)
	}
	return &sink{plugin: p, info: now.Sink.Info()}, nil
}

// servesNow is what the current process serves. Its kinds are those of every
// process of the plugin, but for one that was replaced by another binary.
func (p *Plugin) servesNow(outcome authz.Outcome) (plugin.Configured, error) {
	p.mu.Lock()
	current := p.current
	p.mu.Unlock()
	if current == nil {
		return plugin.Configured{}, p.unavailableFor(outcome, nil)
	}
	return current.serves, nil
}

// unavailableFor is a plugin that does not run, and of which nothing was asked.
func (p *Plugin) unavailableFor(outcome authz.Outcome, cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &authz.UnavailableError{
		Message: fmt.Sprintf("plugin %q is %s", p.spec.Name, p.state), Outcome: outcome, Cause: cause}
}

type sink struct {
	plugin *Plugin

	mu     sync.Mutex
	info   metrics.SinkInfo // last seen
	closed bool
}

// now is the current process's sink.
func (s *sink) now() (metrics.Sink, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, &authz.UnavailableError{Message: "the sink is closed", Outcome: authz.OutcomeNotApplied}
	}
	now, err := s.plugin.servesNow(authz.OutcomeNotApplied)
	if err == nil && now.Sink == nil {
		err = &authz.UnavailableError{Message: s.plugin.servesNo(s.plugin.Description(), plugin.KindSink).Error(), Outcome: authz.OutcomeNotApplied}
	}
	return now.Sink, err
}

func (s *sink) Info() metrics.SinkInfo {
	now, err := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.info = now.Info()
	}
	return metrics.SinkInfo{Name: s.info.Name, Capabilities: slices.Clone(s.info.Capabilities)}
}

func (s *sink) Write(ctx context.Context, w metrics.Window) error {
	now, err := s.now()
	if err != nil {
		return err
	}
	return now.Write(ctx, w)
}

func (s *sink) Close(ctx context.Context) error {
	now, err := s.now()
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already || err != nil { // no process: nothing is left to close
		return nil
	}
	return now.Close(ctx)
}
