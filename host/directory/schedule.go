package directory

import (
	"math/rand/v2"
	"time"
)

// keepSchedule runs what is due until the directory is closed. Instants that pass
// during a run, or while no host is up, are not made up for.
func (d *Directory) keepSchedule() {
	last := time.Time{}
	for {
		now := d.o.Clock()
		from := now
		if last.After(from) { // the clock was set back
			from = last
		}
		due := d.o.Schedule.Next(from)
		if due.IsZero() {
			return
		}
		at := due
		if d.o.Jitter > 0 {
			at = at.Add(rand.N(d.o.Jitter))
		}
		d.mu.Lock()
		d.next = at
		d.mu.Unlock()
		wait := time.NewTimer(at.Sub(now))
		select {
		case <-wait.C:
		case <-d.life.Done():
			wait.Stop()
			return
		}
		last = due
		_, _ = d.run(d.life, Request{}, due) // told by the run itself
	}
}
