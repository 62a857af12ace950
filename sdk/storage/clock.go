package storage

import (
	"context"
	"sync"
	"time"
)

const (
	// measureEvery is how often a database's clock is compared with this machine's.
	measureEvery = 10 * time.Second

	// slowAnswer is an answer that took too long to say what the clock was.
	slowAnswer = time.Second
)

// ClockOffset is by how much the clock of a database is ahead of this machine's. A
// driver measures it aside, when it is due, and tells it with its Health. The zero value
// is ready to use.
type ClockOffset struct {
	// Now is this machine's clock; nil is time.Now.
	Now func() time.Time

	mu    sync.Mutex
	due   time.Time
	ahead *time.Duration
}

// Due reports that it is time to measure, to one caller alone.
func (c *ClockOffset) Due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.due) {
		return false
	}
	c.due = time.Now().Add(measureEvery)
	return true
}

// Measure asks for the database's clock in epoch milliseconds. An answer that fails or
// comes late changes nothing.
func (c *ClockOffset) Measure(ctx context.Context, ask func(context.Context) (ms int64, err error)) {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	began, before := time.Now(), now().UnixMilli()
	ms, err := ask(ctx)
	took := time.Since(began)
	if err != nil || took > slowAnswer {
		return
	}
	ahead := time.Duration(ms-before)*time.Millisecond - took/2
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = &ahead
}

// Ahead is what was measured last, nil before the first time.
func (c *ClockOffset) Ahead() *time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}
