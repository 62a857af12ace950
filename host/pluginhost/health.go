package pluginhost

import (
	"context"
	"time"
)

// misses is how many questions in a row a process may leave unanswered. More
// than one, because a question also runs out of time when this host was stopped
// or starved, and then it is the host that was not there.
const misses = 3

// ask finds out whether the process is alive for as long as it is there, and
// kills it when it gave no sign of life for the hang timeout: a stopped process
// keeps its connections, so that nothing else would ever notice. The question is
// Describe, which a plugin answers from memory: a database that does not answer
// is no reason to kill the process that waits for it.
func (p *Plugin) ask(proc *process) {
	patience := p.spec.HangTimeout / misses
	if patience <= 0 {
		return
	}
	pace := time.NewTicker(patience)
	defer pace.Stop()
	for missed := 0; missed < misses; {
		select {
		case <-pace.C:
		case <-proc.gone:
			return
		case <-p.ctx.Done(): // the stop has a patience of its own
			return
		}
		question, done := context.WithTimeout(p.ctx, patience)
		_, err := proc.rpc.Describe(question)
		done()
		if p.ctx.Err() != nil || proc.child.state() != nil {
			return
		}
		if missed++; err == nil {
			missed = 0
		} else {
			p.host.log.Warn("plugin does not answer", "plugin", p.spec.Name, "pid", proc.child.pid(), "missed", missed, "error", err)
		}
		p.answering(proc, err == nil)
	}
	proc.hung.Store(true)
	proc.child.kill()
}
