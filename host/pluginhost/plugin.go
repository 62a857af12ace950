package pluginhost

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
)

// State is where a plugin stands.
type State string

// The states of a plugin.
const (
	StateRunning      State = "running"
	StateUnresponsive State = "unresponsive" // its process is there and does not answer
	StateRestarting   State = "restarting"
	StateStopped      State = "stopped"
)

// Failure says what a process failed at, in a word that holds nothing of the machine
// or of the settings; "" is nothing.
type Failure string

// The failures of a process.
const (
	FailureEnded      Failure = "ended"            // it ended, and nobody had asked it to
	FailureHung       Failure = "hung"             // it gave no sign of life and was killed
	FailureSettings   Failure = "settings_refused" // it refused its settings
	FailureNotStarted Failure = "not_started"      // it could not be started, for another reason
)

// Status is what operators are shown of a plugin. Path is the binary's, of an
// embedded plugin the host's own; PID is 0 unless a process is there; Since is
// when the state began, in epoch milliseconds. LastError is the text of the last
// failure, which may hold anything that the plugin wrote; LastFailure is its word,
// and FailedAt its time.
type Status struct {
	Name      string   `json:"name"`
	Plugin    string   `json:"plugin"`
	Path      string   `json:"path"`
	Embedded  bool     `json:"embedded,omitempty"`
	Version   string   `json:"version"`
	Kinds     []string `json:"kinds"`
	PID       int      `json:"pid,omitempty"`
	State     State    `json:"state"`
	Restarts  int      `json:"restarts"`
	Since     int64    `json:"since"`
	LastError string   `json:"lastError,omitempty"`

	LastFailure Failure `json:"lastFailure,omitempty"`
	FailedAt    int64   `json:"failedAt,omitempty"`
}

// Plugin is one supervised plugin. One goroutine, run, owns its processes;
// everybody else sees what it published.
type Plugin struct {
	host *Host
	spec Spec
	prog program

	requests chan restartRequest
	ctx      context.Context // ends when the plugin is to stop
	cancel   context.CancelFunc
	finished chan struct{}

	mu          sync.Mutex
	patience    context.Context // of the stop
	current     *process        // nil unless running
	description plugin.Description
	state       State
	restarts    int
	since       time.Time
	lastError   string
	lastFailure Failure
	failedAt    time.Time
	onRestart   []func()
	changed     chan struct{} // closed, and another made, when the state changes
}

type restartRequest struct {
	ctx  context.Context
	done chan error // buffered
}

func newPlugin(h *Host, spec Spec) *Plugin {
	p := &Plugin{host: h, spec: spec, requests: make(chan restartRequest), finished: make(chan struct{}), changed: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// start runs the first process; its failure is final.
func (p *Plugin) start(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	proc, err := p.launch(ctx)
	if err != nil {
		return err
	}
	p.running(proc)
	go p.run(proc)
	return nil
}

// prepare finds the program and judges what it is to run with.
func (p *Plugin) prepare() error {
	prog, err := find(p.spec.Plugin, p.host.opts.Dirs, p.host.opts.Embedded, func(dir string) error {
		return p.host.exposed(p.spec.Name, files.Judge(dir, files.Trusted))
	})
	if err != nil {
		return p.startError(err.Error(), nil, err)
	}
	p.prog = prog
	if err := errors.Join(checkEnv(p.spec.Env), checkDir(p.spec.Dir)); err != nil {
		return p.startError(err.Error(), nil, err)
	}
	return nil
}

// Name is the instance's name in the configuration.
func (p *Plugin) Name() string { return p.spec.Name }

// Description is what the current process, or the last one, said of itself.
func (p *Plugin) Description() plugin.Description {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.description
}

// Status reports where the plugin stands.
func (p *Plugin) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		Name: p.spec.Name, Plugin: p.description.Name, Path: p.prog.path, Embedded: p.prog.embedded, Version: p.description.Version, Kinds: []string{},
		State: p.state, Restarts: p.restarts, Since: p.since.UnixMilli(), LastError: p.lastError,
	}
	for _, k := range p.description.Kinds {
		s.Kinds = append(s.Kinds, k.Name)
	}
	if p.lastFailure != "" {
		s.LastFailure, s.FailedAt = p.lastFailure, p.failedAt.UnixMilli()
	}
	if p.current != nil {
		s.PID = p.current.child.pid()
	}
	return s
}

// OnRestart calls fn each time that another process runs in the place of an
// earlier one, configured and ready. Calls come one at a time and hold up the
// supervision: fn must return soon and must not call Restart.
func (p *Plugin) OnRestart(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onRestart = append(p.onRestart, fn)
}

// Restart replaces the process now, also in the middle of a backoff. An error
// says why the new process did not come up; the host goes on trying.
func (p *Plugin) Restart(ctx context.Context) error {
	r := restartRequest{ctx: ctx, done: make(chan error, 1)}
	select {
	case p.requests <- r:
	case <-p.finished:
		return p.startError(errClosed.Error(), nil, errClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AwaitRunning returns when the plugin runs and answers. It asks the process: that
// one has ended shows in its state only a moment after its last call broke off. Its
// error is an *authz.UnavailableError, when ctx ends first or the plugin is stopped
// for good.
func (p *Plugin) AwaitRunning(ctx context.Context) error {
	for {
		p.mu.Lock()
		state, proc, changed := p.state, p.current, p.changed
		p.mu.Unlock()
		switch state {
		case StateStopped:
			return p.unavailableFor(authz.OutcomeNotApplied, nil)
		case StateRunning:
			if _, err := proc.rpc.Describe(ctx); err == nil {
				return nil
			}
		}
		again := time.NewTimer(askAgain)
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return p.unavailableFor(authz.OutcomeNotApplied, ctx.Err())
		}
		again.Stop()
	}
}

// askAgain is how soon a process that gave no answer is asked again, unless its
// state changes before.
const askAgain = 50 * time.Millisecond

func (p *Plugin) running(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.description = proc, proc.description
	p.turn(StateRunning)
}

// turn sets the state; p.mu is held.
func (p *Plugin) turn(state State) {
	p.state, p.since = state, time.Now()
	close(p.changed)
	p.changed = make(chan struct{})
}

// answering notes whether the current process answers.
func (p *Plugin) answering(proc *process, answers bool) {
	state := StateUnresponsive
	if answers {
		state = StateRunning
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == proc && p.state != state {
		p.turn(state)
	}
}

func (p *Plugin) notRunning(state State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = nil
	p.turn(state)
}

// failed is notRunning after a failure, while the host tries again.
func (p *Plugin) failed(failure Failure, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = nil
	p.turn(StateRestarting)
	p.lastError, p.lastFailure, p.failedAt = reason, failure, p.since
}

func (p *Plugin) restarted() {
	p.mu.Lock()
	p.restarts++
	calls := slices.Clone(p.onRestart)
	p.mu.Unlock()
	for _, fn := range calls {
		fn()
	}
}

func (p *Plugin) stop(ctx context.Context) {
	p.mu.Lock()
	p.patience = ctx
	p.mu.Unlock()
	p.cancel()
	<-p.finished
}
