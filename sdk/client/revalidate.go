package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// epochState is what the client knows of the provider's event log. gen is read
// by fetches; looked and attempted by every check; the rest belongs to the one
// validation under way.
type epochState struct {
	attempted atomic.Bool
	looked    atomic.Int64 // instant of the last look, also of a failed one
	window    atomic.Int64 // how long that look vouches
	gen       atomic.Uint64

	mu      sync.Mutex
	running chan struct{} // closed when the validation under way ends

	known  atomic.Int64 // newest sequence accounted for
	pinned atomic.Bool  // known holds a sequence
	log    string       // the log's incarnation
	hole   bool         // a missing number stopped the last replay
	holeAt int64        // since when
}

// holeRetry is how soon a replay that met a hole is tried again.
const holeRetry = 1000

// validate looks at the head of the log when the window is over; all callers
// share one look. A log that cannot be read fails no check: entries then live for
// their own TTL. The error is the caller's context.
func (c *Client) validate(ctx context.Context, now int64) error {
	if !c.revalidate || !c.epoch.due(now) {
		return nil
	}
	return c.look(ctx, now, false)
}

// due reports that the window is over, or the clock ran backwards.
func (e *epochState) due(now int64) bool {
	elapsed := now - e.looked.Load()
	return !e.attempted.Load() || elapsed < 0 || elapsed > e.window.Load()
}

// look joins the look under way, or starts one; unless forced, only when it is
// still due.
func (c *Client) look(ctx context.Context, now int64, force bool) error {
	e := c.epoch
	e.mu.Lock()
	running := e.running
	if running == nil && !force && !e.due(now) {
		e.mu.Unlock()
		return nil
	}
	if running == nil {
		running = make(chan struct{})
		e.running = running
		go func() {
			window := c.replay(context.WithoutCancel(ctx), now)
			e.looked.Store(now)
			e.window.Store(window)
			e.attempted.Store(true)
			e.mu.Lock()
			e.running = nil
			e.mu.Unlock()
			close(running)
		}()
	}
	e.mu.Unlock()
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replay brings the caches up to the head of the log and answers how long that
// vouches for them.
func (c *Client) replay(ctx context.Context, now int64) (window int64) {
	e := c.epoch
	epoch := c.source.Epoch()
	head, err := epoch.Head(ctx)
	if err != nil {
		return c.revalidateAfter
	}
	sameLog := head.Log == "" || head.Log == e.log
	switch {
	case !e.pinned.Load():
		// No sequence vouches for what was cached before the first contact.
		if !c.subjects.idle() || !c.chains.idle() {
			e.gen.Add(1)
		}
		e.known.Store(head.Seq)
		e.pinned.Store(true)
	case head.Seq < e.known.Load() || !sameLog:
		c.bustAll()
		e.known.Store(head.Seq)
		e.gen.Add(1)
	case head.Seq > e.known.Load():
		if done, err := c.drain(ctx, epoch, head.Seq); err != nil {
			return c.revalidateAfter
		} else if !done {
			return c.hole(now, head.Seq)
		}
	}
	e.hole = false
	if head.Log != "" {
		e.log = head.Log
	}
	gen := e.gen.Load()
	c.subjects.renew(gen, now)
	c.chains.renew(gen, now)
	return c.revalidateAfter
}

// drain replays the log up to the head that was read; false when a missing
// number stopped it.
func (c *Client) drain(ctx context.Context, epoch provider.Epoch, head int64) (done bool, err error) {
	e := c.epoch
	cursor := e.known.Load()
	for cursor < head {
		page, err := epoch.Since(ctx, cursor, provider.MaxEventLimit)
		if err != nil {
			return false, err
		}
		if page.Gap {
			h, err := epoch.Head(ctx)
			if err != nil {
				return false, err
			}
			c.bustAll()
			cursor = h.Seq
			break
		}
		for _, event := range page.Events {
			c.invalidate(event)
		}
		if len(page.Events) == 0 || page.UpTo <= cursor {
			e.known.Store(cursor)
			e.gen.Add(1)
			return false, nil
		}
		cursor = page.UpTo
	}
	e.known.Store(cursor)
	e.gen.Add(1)
	return true, nil
}

// hole handles a replay that a missing number stopped: nothing is renewed, and
// one that outlives the subject TTL counts as a gap.
func (c *Client) hole(now, head int64) (window int64) {
	e := c.epoch
	if !e.hole {
		e.hole, e.holeAt = true, now
	}
	if now-e.holeAt >= c.subjectTTL {
		c.bustAll()
		e.known.Store(head)
		e.hole = false
		e.gen.Add(1)
		return c.revalidateAfter
	}
	return min(holeRetry, c.revalidateAfter)
}

func (c *Client) bustAll() {
	c.subjects.bustAll()
	c.chains.bustAll()
}

// awaitRetry is how soon AwaitSeq looks again.
const awaitRetry = 20 * time.Millisecond

// AwaitSeq waits until checks answer from state at least as new as event seq of
// the provider's log, refreshing when behind. When the context ends first it is
// an *authz.UnavailableError. Without a log it is refused as unsupported.
func (c *Client) AwaitSeq(ctx context.Context, seq int64) error {
	e := c.epoch
	if !c.revalidate {
		return authz.Rejected(authz.CodeUnsupported, "waiting for an event needs a provider whose events are persisted")
	}
	for {
		if e.pinned.Load() && e.known.Load() >= seq {
			return nil
		}
		first := !e.pinned.Load()
		if err := c.look(ctx, c.clock(), true); err == nil && first && e.pinned.Load() {
			c.bustAll() // what was cached before the first contact may be older
		}
		if e.pinned.Load() && e.known.Load() >= seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return &authz.UnavailableError{Message: "the state of the event that was asked for was not reached in time", Cause: ctx.Err()}
		case <-time.After(awaitRetry):
		}
	}
}
