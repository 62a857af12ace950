package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// position is what the client has accounted for: the newest event of a log, and how
// often that has moved. Entries fetched at an older gen are not renewed.
type position struct {
	at  authz.Position
	log string // the log's incarnation
	gen uint64
}

// logState is what the client knows of the provider's event log. looked and
// attempted are read by every check, pos by fetches; the rest belongs to the one
// validation under way.
type logState struct {
	attempted atomic.Bool
	looked    atomic.Int64 // instant of the last look, also of a failed one
	window    atomic.Int64 // how long that look vouches

	mu      sync.Mutex
	running *validation // the one under way

	pos    atomic.Pointer[position] // nil before the first contact
	older  atomic.Bool              // entries from before the first contact may be left: no sequence vouches for them
	hole   bool                     // a missing number stopped the last replay
	holeAt int64                    // since when

	// shared is the position that entries of the shared tier must be of. It is
	// nil, and the tier is not read, from a live event or the failure of a look
	// until the next look: this process may know of writes that pos does not
	// account for.
	shared  atomic.Pointer[position]
	heardMu sync.Mutex
	heard   uint64       // live events; guarded, as writing shared is, by heardMu
	heardAt atomic.Int64 // instant of the last one
}

func newLogState() *logState {
	e := new(logState)
	e.heardAt.Store(-1 << 62)
	return e
}

// hear notes a live event.
func (e *logState) hear(now int64) {
	e.heardMu.Lock()
	defer e.heardMu.Unlock()
	e.heard++
	e.heardAt.Store(now)
	e.shared.Store(nil)
}

func (e *logState) heardSoFar() uint64 {
	e.heardMu.Lock()
	defer e.heardMu.Unlock()
	return e.heard
}

// cool keeps the shared tier from being read.
func (e *logState) cool() {
	e.heardMu.Lock()
	defer e.heardMu.Unlock()
	e.shared.Store(nil)
}

// vouch opens the shared tier at a position, unless an event was heard since:
// the head may have been read before it.
func (e *logState) vouch(heard uint64, p *position) {
	e.heardMu.Lock()
	defer e.heardMu.Unlock()
	if e.heard == heard {
		e.shared.Store(p)
	}
}

// holeRetry is how soon a replay that met a hole is tried again.
const holeRetry = 1000

// validation is one look at the log. It may outlast those who wait for it.
type validation struct {
	ended    chan struct{}
	released chan struct{} // closed at its end, and when checks wait no longer
	release  func()        // closes released
}

// validate looks at the head of the log when the window is over; all callers share one
// look, and wait for it no longer than RevalidateTimeout. A log that cannot be read
// fails no check: entries then live for their own TTL. The error is the caller's
// context.
func (c *Client) validate(ctx context.Context, now int64) error {
	if !c.revalidate || !c.log.due(now) {
		return nil
	}
	v := c.look(ctx, now, false)
	if v == nil {
		return nil
	}
	return wait(ctx, v.released)
}

func wait(ctx context.Context, end <-chan struct{}) error {
	select {
	case <-end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// due reports that the window is over, or the clock ran backwards.
func (e *logState) due(now int64) bool {
	elapsed := now - e.looked.Load()
	return !e.attempted.Load() || elapsed < 0 || elapsed > e.window.Load()
}

// look joins the look under way, or starts one; unless forced, only when it is still
// due, nil otherwise.
func (c *Client) look(ctx context.Context, now int64, force bool) *validation {
	e := c.log
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != nil {
		return e.running
	}
	if !force && !e.due(now) {
		return nil
	}
	v := &validation{ended: make(chan struct{}), released: make(chan struct{})}
	v.release = sync.OnceFunc(func() { close(v.released) })
	e.running = v
	late := time.AfterFunc(c.revalidateTimeout, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.running == v {
			e.cool()
			e.note(now, c.revalidateAfter)
			v.release()
		}
	})
	go func() {
		window := c.revalidateAfter
		if contained(func() error { window = c.replay(context.WithoutCancel(ctx), now); return nil }) != nil {
			e.cool()
		}
		late.Stop()
		e.mu.Lock()
		e.note(now, window)
		e.running = nil
		e.mu.Unlock()
		v.release()
		close(v.ended)
	}()
	return v
}

// note tells when the log was looked at last, and how long that vouches.
func (e *logState) note(now, window int64) {
	e.looked.Store(now)
	e.window.Store(window)
	e.attempted.Store(true)
}

// replay brings the caches up to the head of the log and answers how long that
// vouches for them.
func (c *Client) replay(ctx context.Context, now int64) (window int64) {
	e := c.log
	heard := e.heardSoFar()
	log := bounded{c.source.EventLog()}
	head, err := log.Head(ctx)
	if err != nil {
		e.cool()
		return c.revalidateAfter
	}
	next, window := e.pos.Load(), c.revalidateAfter
	switch {
	case next == nil:
		next = &position{at: head.Position, log: head.Log}
		// No sequence vouches for what was cached before the first contact.
		if !c.subjects.idle() || !c.chains.idle() {
			next.gen++
			e.older.Store(true)
		}
	case head.Log != "" && head.Log != next.log:
		e.cool()
		c.bustAll()
		next = next.moved(head)
	case head.Seq < next.at.Seq, head.Seq == next.at.Seq && !head.Is(next.at):
		e.cool()
		c.bustAll()
		c.reset(ctx, next.log, next.at)
		next = next.moved(head)
	case head.Seq > next.at.Seq:
		e.cool() // what the events bust must not come back from the shared tier
		drained, done, err := c.drain(ctx, log, next, head)
		if err != nil {
			return c.revalidateAfter
		}
		if next = drained; !done {
			if window, done = c.hole(now); done {
				c.bustAll()
				next = next.moved(head)
			}
			e.pos.Store(next)
			e.vouch(heard, next)
			return window
		}
	}
	e.hole = false
	e.pos.Store(next)
	c.subjects.renew(next.gen, now)
	c.chains.renew(next.gen, now)
	e.vouch(heard, next)
	return window
}

// moved is the position at another head. A head without a log leaves it as it
// was.
func (p *position) moved(head provider.EventLogHead) *position {
	next := &position{at: head.Position, log: head.Log, gen: p.gen + 1}
	if next.log == "" {
		next.log = p.log
	}
	return next
}

// drain replays the log up to the head that was read; not done when a missing
// number stopped it.
func (c *Client) drain(ctx context.Context, log provider.EventLog, from *position, head provider.EventLogHead) (reached *position, done bool, err error) {
	cursor := from.at
	for !cursor.Covers(head.Position) {
		page, err := log.Since(ctx, cursor, provider.MaxEventLimit)
		if err != nil {
			return nil, false, err
		}
		if page.Reset {
			c.bustAll()
			c.reset(ctx, from.log, cursor)
		}
		if page.Gap || page.Reset {
			head, err = log.Head(ctx)
			if err != nil {
				return nil, false, err
			}
			c.bustAll()
			return from.moved(head), true, nil
		}
		for _, event := range page.Events {
			c.invalidate(event)
		}
		if len(page.Events) == 0 || page.UpTo.Seq <= cursor.Seq {
			return from.moved(provider.EventLogHead{Position: cursor, Log: head.Log}), false, nil
		}
		cursor = page.UpTo
	}
	return from.moved(provider.EventLogHead{Position: cursor, Log: head.Log}), true, nil
}

// reset tells the source that its log no longer has a position.
func (c *Client) reset(ctx context.Context, log string, at authz.Position) {
	if l, ok := c.source.(provider.Losing); ok {
		l.LostPosition(ctx, log, at)
	}
}

// logTimeout ends a read of the log that hangs, for whom no check waits so long.
const logTimeout = 10 * time.Second

// bounded is a log whose reads end.
type bounded struct{ log provider.EventLog }

func (b bounded) Head(ctx context.Context) (provider.EventLogHead, error) {
	ctx, done := context.WithTimeout(ctx, logTimeout)
	defer done()
	return b.log.Head(ctx)
}

func (b bounded) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	ctx, done := context.WithTimeout(ctx, logTimeout)
	defer done()
	return b.log.Since(ctx, after, limit)
}

// hole handles a replay that a missing number stopped: nothing is renewed, and
// one that outlives the subject TTL counts as a gap.
func (c *Client) hole(now int64) (window int64, outlived bool) {
	e := c.log
	if !e.hole {
		e.hole, e.holeAt = true, now
	}
	if now-e.holeAt >= c.subjectTTL {
		e.hole = false
		return c.revalidateAfter, true
	}
	return min(holeRetry, c.revalidateAfter), false
}

func (c *Client) bustAll() {
	c.subjects.bustAll()
	c.chains.bustAll()
}

// awaitRetry is how soon AwaitPosition looks again.
const awaitRetry = 20 * time.Millisecond

// AwaitPosition waits until checks answer from state at least as new as an event of
// the provider's log, refreshing when behind. When the context ends first, or the log
// has another event with that number, it is an *authz.UnavailableError. Without a log
// it is refused as unsupported. Over several logs, a number without its identity says
// nothing and is refused as a mistake.
func (c *Client) AwaitPosition(ctx context.Context, at authz.Position) error {
	if !c.revalidate {
		return authz.Rejected(authz.CodeUnsupported, "waiting for an event needs a provider whose events are persisted")
	}
	for {
		if p := c.reached(at); p != nil {
			return c.holds(ctx, p, at)
		}
		_ = wait(ctx, c.look(ctx, c.clock(), true).ended) // it fails when ctx ends, which is asked below
		if p := c.reached(at); p != nil {
			return c.holds(ctx, p, at)
		}
		if p := c.log.pos.Load(); p != nil && p.at.IsComposite() && at.Identity == "" {
			return authz.Validation("position %d needs its identity: this provider's log is made of several, whose numbers alone cannot be compared", at.Seq)
		}
		select {
		case <-ctx.Done():
			return &authz.UnavailableError{Message: "the state of the event that was asked for was not reached in time", Cause: ctx.Err()}
		case <-time.After(awaitRetry):
		}
	}
}

// reached is the position of the caches when everything in them is at least as new as
// an event, else nil.
func (c *Client) reached(at authz.Position) *position {
	e := c.log
	p := e.pos.Load()
	if p == nil || !p.at.Covers(at) {
		return nil
	}
	if e.older.Load() {
		e.mu.Lock() // no other caller goes on before they are gone
		defer e.mu.Unlock()
		if e.older.Load() {
			c.bustAll()
			e.older.Store(false)
		}
	}
	return p
}

// holds says whether the log that the caches have reached has an event. One that was
// pruned cannot be told apart and counts as there.
func (c *Client) holds(ctx context.Context, p *position, at authz.Position) error {
	lost := p.at.Seq == at.Seq && !p.at.Is(at)
	if at.Identity != "" && p.at.Seq > at.Seq {
		page, err := bounded{c.source.EventLog()}.Since(ctx, at, 1)
		if err != nil {
			return &authz.UnavailableError{Message: "the event that was asked for cannot be looked up", Cause: err}
		}
		lost = page.Reset
	}
	if lost {
		return &authz.UnavailableError{Message: fmt.Sprintf("the log has another event %d than the one that was asked for: that one was lost", at.Seq)}
	}
	return nil
}
