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

// Limiter admits the work of one application. It is safe for concurrent use.
type Limiter struct {
	bounds   [classes]int64
	inFlight atomic.Int64 // admitted or waiting, of every class

	checks, refusedChecks atomic.Uint64
	classes               [classes]*classLimiter // none of Check
}

// New returns a limiter that lets at most inFlight pieces of work in, 0 being
// DefaultInFlight: checks up to all of it, reads up to three quarters, writes up to
// half, lists up to a quarter.
func New(inFlight int) *Limiter {
	if inFlight == 0 {
		inFlight = DefaultInFlight
	}
	n := int64(inFlight)
	l := &Limiter{bounds: [classes]int64{Check: n, Read: n - n/4, Write: n - n/2, List: n / 4}}
	for _, c := range []Class{Read, Write, List} {
		l.classes[c] = newClassLimiter(max(1, inFlight/4))
	}
	return l
}

// ErrRefused is all that a refusal says. Nothing was done.
var ErrRefused = errors.New("there is more work than can be done")

// RetryAfter is when a refused caller may come again.
const RetryAfter = time.Second

// Reserve is how many more than others callers may run who must not be shut out.
const Reserve = 16

// Ticket is work that was admitted. The zero Ticket is of nothing.
type Ticket struct {
	limiter *Limiter
	class   *classLimiter
	slot    *slot
}

// Check admits a check. Its only cost is atomic counters.
func (l *Limiter) Check() (Ticket, error) { return l.check(0) }

func (l *Limiter) check(reserve int) (Ticket, error) {
	if l.inFlight.Add(1) > l.bounds[Check]+int64(reserve) {
		l.inFlight.Add(-1)
		l.refusedChecks.Add(1)
		return Ticket{}, ErrRefused
	}
	l.checks.Add(1)
	return Ticket{limiter: l}, nil
}

// Expect refuses what Acquire would refuse now without a wait. It admits nothing: it
// is for callers who must prepare the work, such as read its body.
func (l *Limiter) Expect(c Class) error {
	switch {
	case c == Check:
		if l.inFlight.Load() >= l.bounds[c] {
			l.refusedChecks.Add(1)
			return ErrRefused
		}
	case l.inFlight.Load() >= l.bounds[c]:
		l.classes[c].refuse()
		return ErrRefused
	case l.classes[c].hopeless():
		return ErrRefused
	}
	return nil
}

// Acquire admits work of a class, which may wait for 40 ms less what it has waited
// already. reserve is 0, or Reserve. The context ends the wait.
func (l *Limiter) Acquire(ctx context.Context, c Class, waited time.Duration, reserve int) (Ticket, error) {
	if c == Check {
		return l.check(reserve)
	}
	own := l.classes[c]
	if l.inFlight.Add(1) > l.bounds[c]+int64(reserve) {
		l.inFlight.Add(-1)
		own.refuse()
		return Ticket{}, ErrRefused
	}
	s := own.acquire(ctx, maxWait-waited, reserve)
	if s == nil {
		l.inFlight.Add(-1)
		return Ticket{}, ErrRefused
	}
	return Ticket{l, own, s}, nil
}

// Answered says that the work was carried out so far that its caller has, or begins to
// get, the answer: the time up to here tells how busy the storage driver is. Work
// that did not reach it ends without.
func (t Ticket) Answered() {
	if t.slot != nil {
		t.class.answered(t.slot)
	}
}

// Release ends the work, once.
func (t Ticket) Release() {
	if t.limiter == nil {
		return
	}
	t.limiter.inFlight.Add(-1)
	if t.slot != nil {
		t.class.release(t.slot)
	}
}

// Facts are what a limiter knows of a class. Of checks, Running is everything in flight.
type Facts struct {
	Class                  Class
	Limit                  int
	Running, Long, Waiting int
	Admitted, Refused      uint64
}

// Facts tells of every class.
func (l *Limiter) Facts() []Facts {
	all := []Facts{{Class: Check, Limit: int(l.bounds[Check]), Running: int(l.inFlight.Load()),
		Admitted: l.checks.Load(), Refused: l.refusedChecks.Load()}}
	for _, c := range Classes[1:] {
		all = append(all, l.classes[c].facts(c))
	}
	return all
}

func (l *classLimiter) facts(c Class) Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Facts{Class: c, Limit: int(l.limit.value), Running: l.running.Len(), Long: l.long, Waiting: l.waiting.Len(),
		Admitted: l.admitted, Refused: l.refused}
}

func (l *classLimiter) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
}
