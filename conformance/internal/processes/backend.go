package processes

import (
	"fmt"
	"strings"
	"sync"
)

// Said is what the plugins of a backend have written.
type Said struct {
	mu   sync.Mutex
	text strings.Builder
}

// Say writes a line.
func (s *Said) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, format+"\n", args...)
}

// Output is all that was written.
func (s *Said) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Started are the plugins that a backend has started: what each serves, and the
// process behind it.
type Started[I comparable, P interface {
	Kill()
	Stop()
	Continue()
}] struct {
	mu     sync.Mutex
	behind map[I]P
}

// Add remembers a plugin.
func (s *Started[I, P]) Add(served I, process P) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind == nil {
		s.behind = map[I]P{}
	}
	s.behind[served] = process
}

// Of is the process behind what a plugin serves.
func (s *Started[I, P]) Of(served I) P {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind[served]
}

// Kill ends a plugin's process.
func (s *Started[I, P]) Kill(served I) error { s.Of(served).Kill(); return nil }

// Stop halts a plugin's process.
func (s *Started[I, P]) Stop(served I) error { s.Of(served).Stop(); return nil }

// Continue lets a plugin's process run on.
func (s *Started[I, P]) Continue(served I) error { s.Of(served).Continue(); return nil }
