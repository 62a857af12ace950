package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
)

const (
	backoffBase = 100 * time.Millisecond
	backoffCap  = 30 * time.Second

	// quiet is how long a process must run for its crash to count as the first.
	quiet = time.Minute
)

// backoff is the wait before attempt n, counted from 1: doubled each time, and
// of that a random part between half and all.
func backoff(n int, random func(time.Duration) time.Duration) time.Duration {
	wait := backoffCap
	if n < 10 {
		wait = min(backoffBase<<(n-1), backoffCap)
	}
	return wait/2 + random(wait/2+1)
}

// nextAttempt counts a crash of a process that ran for a while.
func nextAttempt(attempt int, ran time.Duration) int {
	if ran >= quiet {
		return 1
	}
	return attempt + 1
}

// run supervises until the plugin is to stop.
func (p *Plugin) run(proc *process) {
	defer close(p.finished)
	attempt := 0
	for {
		began := time.Now()
		go p.ask(proc)
		var asked *restartRequest
		select {
		case <-p.ctx.Done():
			p.finish(proc)
			return
		case r := <-p.requests:
			p.notRunning(StateRestarting)
			proc.stop(r.ctx)
			asked, attempt = &r, 0
		case <-proc.gone:
			p.crashed(proc)
			attempt = nextAttempt(attempt, time.Since(began))
		}
		if proc, attempt = p.relaunch(asked, attempt); proc == nil {
			p.notRunning(StateStopped)
			return
		}
	}
}

// crashed reports the end of a process that nobody asked to end.
func (p *Plugin) crashed(proc *process) {
	failure, reason := FailureEnded, fmt.Sprintf("the process ended (%s)", proc.child.state())
	if proc.hung.Load() {
		failure, reason = FailureHung, fmt.Sprintf("the process gave no sign of life for %s and was killed", p.spec.HangTimeout)
	}
	p.failed(failure, reason)
	proc.destroy()
	p.host.log.Error("plugin crashed", "plugin", p.spec.Name, "path", p.prog.path, "reason", reason,
		"last_output", proc.output.last())
}

// relaunch tries until a process runs or the plugin is to stop, which is nil.
// attempt 0 is made at once: it was asked for.
func (p *Plugin) relaunch(asked *restartRequest, attempt int) (*process, int) {
	answer := func(err error) {
		if asked != nil {
			asked.done <- err
			asked = nil
		}
	}
	for {
		if attempt > 0 {
			wait := time.NewTimer(backoff(attempt, rand.N[time.Duration]))
			select {
			case <-wait.C:
			case r := <-p.requests:
				asked = &r
			case <-p.ctx.Done():
			}
			wait.Stop()
		}
		proc, err := p.launch(p.ctx)
		if p.ctx.Err() != nil {
			if err == nil {
				proc.stop(p.stopPatience())
			}
			answer(p.startError(errClosed.Error(), nil, errClosed))
			return nil, 0
		}
		if err == nil {
			p.running(proc)
			p.host.log.Info("plugin restarted", "plugin", p.spec.Name, "pid", proc.child.pid())
			p.restarted()
			answer(nil)
			return proc, attempt
		}
		attempt++
		p.failed(startFailure(err), err.Error())
		p.host.log.Error("plugin could not be restarted", "plugin", p.spec.Name, "attempt", attempt, "error", err)
		answer(err)
	}
}

func startFailure(err error) Failure {
	if errors.As(err, new(*plugin.ConfigError)) {
		return FailureSettings
	}
	return FailureNotStarted
}

func (p *Plugin) finish(proc *process) {
	p.notRunning(StateStopped)
	proc.stop(p.stopPatience())
}

func (p *Plugin) stopPatience() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.patience
}
