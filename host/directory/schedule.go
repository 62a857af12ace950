package directory

import (
	"context"
	"math/rand/v2"
	"time"
)

// keepSchedule runs what is due until the directory is closed. Instants that pass
// during a run, or while no host is up, are not made up for.
func (d *Directory) keepSchedule() {
	last := time.Time{}
	for {
		from := d.o.Clock()
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
		if !d.await(at) {
			return
		}
		last = due
		_, _ = d.run(context.Background(), Request{}, due) // told by the run itself
	}
}

// clockLook is how long the wait for an instant goes without a look at the clock.
const clockLook = time.Minute

// await waits for an instant of the clock, which may be set meanwhile: a run that began
// before it was due would be made again by another host. It reports false when the
// directory was closed before.
func (d *Directory) await(at time.Time) bool {
	for left := at.Sub(d.o.Clock()); left > 0; left = at.Sub(d.o.Clock()) {
		look := time.NewTimer(min(left, clockLook))
		select {
		case <-look.C:
		case <-d.life.Done():
			look.Stop()
			return false
		}
	}
	return d.life.Err() == nil
}
