package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Class is a kind of work. What comes later is refused earlier.
type Class int

// The classes.
const (
	Check Class = iota
	Read
	Write
	List
	classes
)

// Classes lists them.
var Classes = []Class{Check, Read, Write, List}

func (c Class) String() string { return [classes]string{"check", "read", "write", "list"}[c] }

// DefaultInFlight is the bound of an application that names none.
const DefaultInFlight = 4096

// Gates admit the work of one application. They are safe for concurrent use.
type Gates struct {
	bounds   [classes]int64
	inFlight atomic.Int64 // admitted or waiting, of every class

	checks, refusedChecks atomic.Uint64
	gates                 [classes]*gate // none of Check
}

// New returns gates that let at most inFlight pieces of work in, 0 being
// DefaultInFlight: checks up to all of it, reads up to three quarters, writes up to
// half, lists up to a quarter.
func New(inFlight int) *Gates {
	if inFlight == 0 {
		inFlight = DefaultInFlight
	}
	n := int64(inFlight)
	g := &Gates{bounds: [classes]int64{Check: n, Read: n - n/4, Write: n - n/2, List: n / 4}}
	for _, c := range []Class{Read, Write, List} {
		g.gates[c] = newGate(max(1, inFlight/4))
	}
	return g
}

// ErrRefused is all that a refusal says. Nothing was done.
var ErrRefused = errors.New("there is more work than can be done")

// RetryAfter is when a refused caller may come again.
const RetryAfter = time.Second

// Reserve is how many more than others callers may run who must not be shut out.
const Reserve = 16

// Ticket is work that was admitted. The zero Ticket is of nothing.
type Ticket struct {
	gates *Gates
	gate  *gate
	slot  *slot
}

// Check admits a check. Its only cost is atomic counters.
func (g *Gates) Check() (Ticket, error) { return g.check(0) }

func (g *Gates) check(reserve int) (Ticket, error) {
	if g.inFlight.Add(1) > g.bounds[Check]+int64(reserve) {
		g.inFlight.Add(-1)
		g.refusedChecks.Add(1)
		return Ticket{}, ErrRefused
	}
	g.checks.Add(1)
	return Ticket{gates: g}, nil
}

// Expect refuses what Acquire would refuse now without a wait. It admits nothing: it
// is for callers who must prepare the work, such as read its body.
func (g *Gates) Expect(c Class) error {
	switch {
	case c == Check:
		if g.inFlight.Load() >= g.bounds[c] {
			g.refusedChecks.Add(1)
			return ErrRefused
		}
	case g.inFlight.Load() >= g.bounds[c]:
		g.gates[c].refuse()
		return ErrRefused
	case g.gates[c].hopeless():
		return ErrRefused
	}
	return nil
}

// Acquire admits work of a class, which may wait for 40 ms less what it has waited
// already. reserve is 0, or Reserve. The context ends the wait.
func (g *Gates) Acquire(ctx context.Context, c Class, waited time.Duration, reserve int) (Ticket, error) {
	if c == Check {
		return g.check(reserve)
	}
	own := g.gates[c]
	if g.inFlight.Add(1) > g.bounds[c]+int64(reserve) {
		g.inFlight.Add(-1)
		own.refuse()
		return Ticket{}, ErrRefused
	}
	s := own.acquire(ctx, maxWait-waited, reserve)
	if s == nil {
		g.inFlight.Add(-1)
		return Ticket{}, ErrRefused
	}
	return Ticket{g, own, s}, nil
}

// Answered says that the work was carried out so far that its caller has, or begins to
// get, the answer: the time up to here tells how busy the storage driver is. Work
// that did not reach it ends without.
func (t Ticket) Answered() {
	if t.slot != nil {
		t.gate.answered(t.slot)
	}
}

// Release ends the work, once.
func (t Ticket) Release() {
	if t.gates == nil {
		return
	}
	t.gates.inFlight.Add(-1)
	if t.slot != nil {
		t.gate.release(t.slot)
	}
}

// Facts are what gates know of a class. Of checks, Running is everything in flight.
type Facts struct {
	Class                  Class
	Limit                  int
	Running, Long, Waiting int
	Admitted, Refused      uint64
}

// Facts tells of every class.
func (g *Gates) Facts() []Facts {
	all := []Facts{{Class: Check, Limit: int(g.bounds[Check]), Running: int(g.inFlight.Load()),
		Admitted: g.checks.Load(), Refused: g.refusedChecks.Load()}}
	for _, c := range Classes[1:] {
		all = append(all, g.gates[c].facts(c))
	}
	return all
}

func (g *gate) facts(c Class) Facts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Facts{Class: c, Limit: int(g.limit.value), Running: g.running.Len(), Long: g.long, Waiting: g.waiting.Len(),
		Admitted: g.admitted, Refused: g.refused}
}

func (g *gate) refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
}
