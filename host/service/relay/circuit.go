package relay

import "sync"

const (
	openAfter = 5      // transport failures in a row
	openFor   = 30_000 // milliseconds
)

// circuit leaves an application alone that could not be reached. Its times are
// epoch milliseconds.
type circuit struct {
	mu      sync.Mutex
	failed  int
	until   int64 // open before it; 0 is closed
	probing bool
}

// enter asks to make a call. When it may not be made, wait is how long to leave
// the application alone. A forced call is let through an open circuit: it is
// what finds out.
func (c *circuit) enter(now int64, forced bool) (probe bool, wait int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.until == 0 || forced:
		return false, 0, true
	case now < c.until && c.until-now <= openFor: // a clock that was set back keeps nothing open
		return false, c.until - now, false
	case c.probing:
		return false, 1000, false
	}
	c.probing = true
	return true, 0, true
}

// leave ends a call that was let in; one that tells nothing about the transport
// does not count.
func (c *circuit) leave(now int64, probe, failed, counts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if probe {
		c.probing = false
	}
	switch {
	case !counts:
	case !failed:
		c.failed, c.until = 0, 0
	default:
		if c.failed++; c.failed >= openAfter {
			c.until = now + openFor
		}
	}
}
