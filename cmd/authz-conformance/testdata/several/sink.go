package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

type sink struct {
	far
	file   string
	defect string
	server *http.Server

	turn   chan struct{} // held while a window is written
	mu     sync.Mutex
	closed bool
	state  state
}

type state struct {
	Newest map[string]uint64
	Totals map[string]map[string]map[metrics.Decision]float64 // by application and permission
}

func openSink(config map[string]any) (metrics.Sink, error) {
	s := &sink{far: farOf(config), file: text(config, "state"), defect: text(config, "defect"), turn: make(chan struct{}, 1),
		state: state{map[string]uint64{}, map[string]map[string]map[metrics.Decision]float64{}}}
	b, err := os.ReadFile(s.file)
	if err == nil {
		err = json.Unmarshal(b, &s.state)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("the state cannot be read")
	}
	if at := text(config, "listen"); at != "" {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return nil, errors.New("the address cannot be listened at")
		}
		s.server = &http.Server{Handler: http.HandlerFunc(s.tell)}
		go func() { _ = s.server.Serve(l) }()
	}
	return s, nil
}

func (s *sink) tell(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(w, "# TYPE authz_checks_total counter")
	for application, permissions := range s.state.Totals {
		for permission, decisions := range permissions {
			for decision, n := range decisions {
				fmt.Fprintf(w, "authz_checks_total{application=%q,permission=%q,decision=%q} %v\n", application, permission, decision, n)
			}
		}
	}
}

func (*sink) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: "several", Capabilities: metrics.SinkCapabilities()}
}

func (s *sink) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return unavailable(authz.OutcomeNotApplied, ctx.Err(), "another window is being written")
	}
	// The server of lines must be there, and counts nothing.
	lines, end, err := s.ask(ctx, "window")
	if err == nil {
		defer end()
		if !lines.Scan() {
			err = errors.Join(errors.New("no answer"), lines.Err())
		}
	}
	if err != nil {
		return unavailable(authz.OutcomeNotApplied, err, "the server does not answer")
	}
	return s.count(w)
}

func (s *sink) count(w metrics.Window) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return unavailable(authz.OutcomeNotApplied, nil, "the sink is closed")
	}
	if w.Sequence <= s.state.Newest[w.Origin] {
		return nil
	}
	if s.defect != "forgets" {
		s.state.Newest[w.Origin] = w.Sequence
	}
	application := s.state.Totals[w.Application]
	if application == nil {
		application = map[string]map[metrics.Decision]float64{}
		s.state.Totals[w.Application] = application
	}
	for _, c := range w.Checks {
		if application[c.Permission] == nil {
			application[c.Permission] = map[metrics.Decision]float64{}
		}
		application[c.Permission][c.Decision] += c.Estimated
	}
	b, err := json.Marshal(s.state)
	if err == nil {
		if err = os.WriteFile(s.file+".new", b, 0o600); err == nil {
			err = os.Rename(s.file+".new", s.file)
		}
	}
	if err != nil {
		return unavailable(authz.OutcomeUnknown, err, "the state cannot be written")
	}
	return nil
}

func (s *sink) Close(context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.server != nil {
		return s.server.Close()
	}
	return nil
}
