package provider

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// Ingesting is a provider that hands events of other processes to the listeners
// of this one. They are not persisted again.
type Ingesting interface {
	Invalidation
	IngestEvents([]authz.Event)
}

// Delivering is an Ingesting that can tell how far its listeners have heard a log
// already, from this process's own writes.
type Delivering interface {
	// Delivered answers the last position up to which every event of the log after
	// the given one was delivered; the given one when that is unknown.
	Delivered(log string, after authz.Position) authz.Position
}

// PollerOptions configures a poller.
type PollerOptions struct {
	// Interval between two looks at the log; zero means 5 s.
	Interval time.Duration

	// Hints yields a head whenever the log may have moved; a storage driver's watch
	// is one. The poller looks at once, not at all when it has been there, and a
	// few milliseconds later when it has just looked. Nothing depends on it: while
	// a stream that ended or failed is not back there is the interval. Over several
	// logs each hint is followed, of whichever log it is. Nil has none.
	Hints func(context.Context) iter.Seq2[int64, error]

	// OnError hears of every look that failed; the next one retries. Nil
	// ignores them.
	OnError func(error)
}

// Poller feeds the events of a log into a provider of this process. It moves
// invalidation from the time of the check to the time of the poll; nothing
// depends on it for correctness.
type Poller struct {
	source  Ingesting
	events  EventLog
	onError func(error)

	ctx  context.Context
	end  context.CancelFunc
	done chan struct{}

	hinted atomic.Int64 // the head last hinted at
	seen   pollerSeen

	// Of the polling goroutine.
	pinned bool
	cursor authz.Position
	log    string

	mu sync.Mutex // held while events are handed over
}

// pollTimeout ends a look that never comes back, so that the next one is tried.
const pollTimeout = 30 * time.Second

// StartEventPoller polls the source's own log until Stop. The first look begins at
// once and only takes the head as cursor: what was logged before is not
// replayed. It refuses a source without a log with CodeUnsupported.
func StartEventPoller(source Ingesting, o PollerOptions) (*Poller, error) {
	if o.Interval < 0 {
		return nil, authz.Validation("StartEventPoller: the interval must not be negative: %v", o.Interval)
	}
	if o.Interval == 0 {
		o.Interval = 5 * time.Second
	}
	events := source.EventLog()
	if events == nil {
		return nil, authz.Rejected(authz.CodeUnsupported, "StartEventPoller requires event persistence (events.persist)")
	}
	p := &Poller{source: source, events: events, onError: o.OnError, done: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(context.Background())
	hints := make(chan struct{}, 1)
	if o.Hints != nil {
		go p.listen(o.Hints, hints)
	}
	go p.run(o.Interval, hints)
	return p, nil
}

// Stop ends the poller; once it returns nothing more is ingested, also not what
// a look under way is still reading. Stopping twice is fine. It must not be
// called by a listener of the source, whose turn it would wait for.
func (p *Poller) Stop() {
	p.end()
	p.mu.Lock() // an ingestion under way ends first
	defer p.mu.Unlock()
}

// Done is closed when the poller's last look has ended.
func (p *Poller) Done() <-chan struct{} { return p.done }

// hintPause is how long the poller waits before it asks again for hints that
// ended: at least, and up to twice.
const hintPause = time.Second

// hintRest is how long hints wait after a look. Somebody who writes in a row would
// otherwise wait for the looks that each of its writes sets off.
const hintRest = 5 * time.Millisecond

// listen passes hints on: between two looks the last is as good as all.
func (p *Poller) listen(hints func(context.Context) iter.Seq2[int64, error], hint chan<- struct{}) {
	for p.ctx.Err() == nil {
		for head, err := range hints(p.ctx) {
			if err != nil {
				break
			}
			p.hinted.Store(head)
			select {
			case hint <- struct{}{}:
			default:
			}
		}
		pause := time.NewTimer(hintPause + rand.N(hintPause))
		select {
		case <-pause.C:
		case <-p.ctx.Done():
			pause.Stop()
		}
	}
}

func (p *Poller) run(interval time.Duration, hints <-chan struct{}) {
	defer close(p.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	hint := int64(0)
	for {
		err := p.look(hint)
		p.seen.note(p.cursor.Seq, err)
		if err != nil && p.ctx.Err() == nil && p.onError != nil {
			p.onError(err)
		}
		rested := time.After(hintRest)
		for due := false; !due; {
			select {
			case <-ticks.C:
				due, hint = true, 0
			case <-hints:
				if due = !p.reached(p.hinted.Load()); due {
					select {
					case <-rested:
					case <-p.ctx.Done():
					}
					hint = p.hinted.Load()
				}
			case <-p.ctx.Done():
				return
			}
		}
	}
}

// reached reports that the cursor is known to be at a hinted head. A hint tells the
// number of one log, which a composite cursor is not compared with.
func (p *Poller) reached(hint int64) bool {
	return p.pinned && !p.cursor.IsComposite() && p.cursor.Seq >= hint
}

// look drains the log. The cursor moves only past what was heard. A hint above the
// cursor stands in for the head; should it be another log's, the next tick finds
// that out.
func (p *Poller) look(hint int64) error {
	ctx, cancel := context.WithTimeout(p.ctx, pollTimeout)
	defer cancel()
	head := EpochHead{Position: authz.Position{Seq: hint}}
	if !p.pinned || p.cursor.IsComposite() || p.reached(hint) {
		var err error
		if head, err = p.events.Head(ctx); err != nil {
			return fmt.Errorf("poll the event log: %w", err)
		}
	}
	p.seen.head.Store(head.Seq)
	switch {
	case !p.pinned:
		p.moveTo(head)
		p.pinned = true
		return nil
	case head.Log != "" && head.Log != p.log:
		return p.lost(head)
	case head.Seq < p.cursor.Seq || head.Seq == p.cursor.Seq && !head.Is(p.cursor):
		p.reset(ctx)
		return p.lost(head)
	}
	if d, ok := p.source.(Delivering); ok {
		p.cursor = d.Delivered(p.log, p.cursor)
	}
	for !p.cursor.Covers(head.Position) {
		page, err := p.events.Since(ctx, p.cursor, MaxEventLimit)
		if err != nil {
			return fmt.Errorf("poll the event log: %w", err)
		}
		if page.Reset {
			p.reset(ctx)
		}
		if page.Gap || page.Reset {
			if head, err = p.events.Head(ctx); err != nil {
				return fmt.Errorf("poll the event log: %w", err)
			}
			return p.lost(head)
		}
		if len(page.Events) == 0 || page.UpTo.Seq <= p.cursor.Seq {
			return nil
		}
		if !p.ingest(page.Events) {
			return nil
		}
		p.cursor = page.UpTo
	}
	return nil
}

// reset tells the source that its log no longer has the cursor.
func (p *Poller) reset(ctx context.Context) {
	if l, ok := p.source.(Losing); ok {
		l.LostPosition(ctx, p.log, p.cursor)
	}
}

// lost handles events that cannot be had: everything is invalid, and the log
// goes on from its head.
func (p *Poller) lost(head EventLogHead) error {
	if p.ingest([]authz.Event{{Type: authz.EventAll}}) {
		p.moveTo(head)
	}
	return nil
}

// moveTo goes on from a head; one without a log is of the log as it was.
func (p *Poller) moveTo(head EventLogHead) {
	p.cursor = head.Position
	if head.Log != "" {
		p.log = head.Log
	}
}

// ingest hands events over unless the poller was stopped.
func (p *Poller) ingest(events []authz.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.source.IngestEvents(events)
	return true
}
