// Package processes is for tests of the suites: it lets plugins in memory behave as
// processes, which can be killed and stopped, and be configured as strictly. It is
// part of no suite.
package processes

import (
	"context"
	"errors"
	"sync"
)

// ErrDead is what passes through a process that is dead.
var ErrDead = errors.New("the process is dead")

// Process is the state of one process in memory.
type Process struct {
	dead  chan struct{}
	kill  func()
	going Line
}

// New is a process that runs.
func New() *Process {
	p := &Process{dead: make(chan struct{})}
	p.kill = sync.OnceFunc(func() { close(p.dead) })
	return p
}

// Pass waits until the process is not stopped, and fails when it is dead or ctx
// ends first.
func (p *Process) Pass(ctx context.Context) error {
	going := p.going.answers()
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
func (p *Process) Kill() { p.kill() }

// Stop halts the process.
func (p *Process) Stop() { _ = p.going.Stall() }

// Continue lets the process run on.
func (p *Process) Continue() { _ = p.going.Resume() }

// Line is what a plugin needs an answer of. A new one answers.
type Line struct {
	mu      sync.Mutex
	stalled chan struct{} // nil while it answers, closed when it answers again
}

// answers is closed as soon as the line answers.
func (l *Line) answers() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled == nil {
		return answering
	}
	return l.stalled
}

var answering = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Ask waits for an answer. One that is there is given to a context that has ended too.
func (l *Line) Ask(ctx context.Context) error {
	answers := l.answers()
	select {
	case <-answers:
		return nil
	default:
	}
	select {
	case <-answers:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stall keeps the line from answering.
func (l *Line) Stall() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled == nil {
		l.stalled = make(chan struct{})
	}
	return nil
}

// Resume lets the line answer, those who wait first.
func (l *Line) Resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled != nil {
		close(l.stalled)
		l.stalled = nil
	}
	return nil
}
