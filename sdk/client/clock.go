package client

import (
	"sync/atomic"
	"time"
)

// wallClock answers epoch milliseconds at the price of a monotonic reading. It
// looks at the wall clock again every rebaseAfter, so that it follows a clock
// that was set.
type wallClock struct{ base atomic.Pointer[baseInstant] }

type baseInstant struct {
	at     time.Time
	millis int64
}

const rebaseAfter = time.Second

func newWallClock() *wallClock {
	c := new(wallClock)
	c.rebase()
	return c
}

func (c *wallClock) now() int64 {
	b := c.base.Load()
	if since := time.Since(b.at); since < rebaseAfter {
		return b.millis + since.Milliseconds()
	}
	return c.rebase()
}

func (c *wallClock) rebase() int64 {
	now := time.Now()
	b := &baseInstant{at: now, millis: now.UnixMilli()}
	c.base.Store(b)
	return b.millis
}
