// Package processes is for tests of the suites: it lets plugins in memory behave as
// processes, which can be killed and stopped, and be configured as strictly. It is
// part of no suite.
package processes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
)

// ErrDead is what passes through a process that is dead.
var ErrDead = errors.New("the process is dead")

// Process is the state of one process in memory.
type Process struct {
	mu     sync.Mutex
	dead   chan struct{}
	going  chan struct{} // closed while it is not stopped
	killed bool
}

// New is a process that runs.
func New() *Process {
	p := &Process{dead: make(chan struct{}), going: make(chan struct{})}
	close(p.going)
	return p
}

// Pass waits until the process is not stopped, and fails when it is dead or ctx
// ends first.
func (p *Process) Pass(ctx context.Context) error {
	p.mu.Lock()
	going := p.going
	p.mu.Unlock()
	select {
	case <-p.dead:
		return ErrDead
	default:
	}
	select {
	case <-going:
		return nil
	case <-p.dead:
		return ErrDead
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dead is closed when the process is.
func (p *Process) Dead() <-chan struct{} { return p.dead }

// Kill ends the process.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.killed = true
		close(p.dead)
	}
}

// Stop halts the process.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.going = make(chan struct{})
}

// Continue lets the process run on.
func (p *Process) Continue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.going:
	default:
		close(p.going)
	}
}

// Check refuses a configuration that the schema does not allow. Only texts,
// integers and lists are known.
func Check(schema []plugin.Setting, config map[string]any) error {
	var names []string
	for _, s := range schema {
		names = append(names, s.Name)
	}
	for name := range config {
		if !slices.Contains(names, name) {
			return &plugin.ConfigError{Field: name, Message: "unknown", Suggestion: authz.Nearest(name, names)}
		}
	}
	for _, s := range schema {
		value, given := config[s.Name]
		if !given {
			if s.Required {
				return &plugin.ConfigError{Field: s.Name, Message: "is required"}
			}
			continue
		}
		ok := false
		switch value.(type) {
		case string:
			ok = s.Type == plugin.TypeString
		case int:
			ok = s.Type == plugin.TypeInteger
		case []any:
			ok = s.Type == plugin.TypeStrings
		}
		if !ok {
			return &plugin.ConfigError{Field: s.Name, Message: "has the wrong type"}
		}
	}
	return nil
}
