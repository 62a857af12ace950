package admission

import "time"

// limit says how much may run at once. It aims at a time in which work is done,
// goal: long enough to keep every storage driver busy, short enough that what was
// admitted is done soon after the load has ended.
//
// By Little's law the mean time of a window is its summed running time divided by
// what was done in it. That counts work that is still running, so that a rising
// load shows before the first slow answer. It is pure: it has no clock.
type limit struct {
	most  float64
	value float64
	quiet time.Duration // mean time of work that ran nearly alone; 0 until known

	running int // when it was last heard of
	window
}

// window is what happened since the last adaption.
type window struct {
	busy  time.Duration // while anything ran
	work  time.Duration // summed over what ran
	done  int
	took  time.Duration // summed over what was done
	peak  int
	begun int  // what ran at its beginning: all of that is done before its end
	full  bool // somebody found no room
}

const (
	least   = 2  // at least so much runs at once
	first   = 32 // until quiet is known
	patient = 32 // what a calm application admits at least: a script with a few dozen writers is no flood

	minGoal    = 500 * time.Millisecond
	quietShare = 3 // of goal, where work takes long by itself

	// A window has at least this much in it.
	minBusy = 100 * time.Millisecond
	minDone = 8
)

func newLimit(most int) limit {
	return limit{most: float64(most), value: min(first, float64(most))}
}

// goal is how long work may take.
func (l *limit) goal() time.Duration { return max(minGoal, quietShare*l.quiet) }

func (l *limit) room(running int) bool { return running < int(l.value) }

// passed adds a span in which running was constant.
func (l *limit) passed(d time.Duration, running int) {
	l.running = running
	if running > 0 {
		l.busy += d
		l.work += d * time.Duration(running)
		l.peak = max(l.peak, running)
	}
}

// finished adds work that took so long; alone says that never more than least ran
// meanwhile.
func (l *limit) finished(took time.Duration, alone bool) {
	l.done++
	l.took += took
	if alone {
		l.learn(max(took, 1))
	}
	if l.done >= max(minDone, l.begun) && l.busy >= minBusy {
		l.adapt()
	}
}

// learn takes a time of work that ran nearly alone. One that is far above the others
// may have met a hang, and counts for three times their mean at most.
func (l *limit) learn(took time.Duration) {
	if l.quiet == 0 {
		l.quiet = took
		l.value = l.calm()
		return
	}
	l.quiet += (min(took, 3*l.quiet) - l.quiet) / 4
	l.quiet = max(l.quiet, 1)
}

// calm is the limit before anything is known of how much can run at once: if nothing
// can, all of it is done within goal.
func (l *limit) calm() float64 {
	return min(l.most, max(patient, float64(l.goal()/l.quiet)))
}

func (l *limit) adapt() {
	mean := float64(l.work) / float64(l.done)
	if l.quiet > 0 { // beside others it took less: the first ever may have been cold
		l.quiet = max(1, min(l.quiet, l.took/time.Duration(l.done)))
	}
	goal := float64(l.goal())
	switch near := 0.9 * goal; {
	case mean > goal:
		// What runs may still be more than an earlier step allowed: so much is done within
		// goal, whatever runs.
		enough := goal * float64(l.done) / float64(l.busy)
		l.value = max(least, min(l.value, max(enough, 0.5*float64(l.peak))))
	case l.full && mean < near:
		l.value = min(l.most, l.value*max(1.05, min(1.5, 0.8*near/mean)))
	case !l.full:
		want := min(l.most, float64(2*l.peak))
		if l.quiet > 0 {
			want = max(want, l.calm())
		}
		l.value += (want - l.value) / 10
	}
	l.window = window{begun: l.running}
}
