package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// PollerOptions configures a Poller.
type PollerOptions struct {
	// Interval between two looks at a log, and at which logs there are; zero means 5 s.
	Interval time.Duration

	// OnError hears of every look that failed; the next one retries. Several logs may
	// fail at once. Nil ignores them.
	OnError func(error)
}

// Poller feeds the events of several logs into a provider of this process, each log
// from a place of its own: one that cannot be read, or hangs, holds up no other. It
// moves invalidation from the time of the check to the time of the poll; nothing
// depends on it for correctness.
type Poller struct {
	target   provider.Ingesting
	parts    Parts
	interval time.Duration
	onError  func(error)

	end  context.CancelFunc
	done chan struct{}

	hand    sync.Mutex // held while events are handed over
	stopped bool

	mu        sync.Mutex
	followers map[string]*follower // by partition
}

// StartPoller follows the logs until Stop. Of each the first look only takes the head as
// cursor: what was logged before is not replayed. A log that comes later, or goes,
// costs one `all`. It fails when the parts cannot be told, when one of them persists no
// events (CodeUnsupported; that of a Peer is passed over), or is named twice.
func StartPoller(ctx context.Context, target provider.Ingesting, parts Parts, o PollerOptions) (*Poller, error) {
	if o.Interval < 0 {
		return nil, authz.Validation("StartPoller: the interval must not be negative: %v", o.Interval)
	}
	if o.Interval == 0 {
		o.Interval = 5 * time.Second
	}
	p := &Poller{target: target, parts: parts, interval: o.Interval, onError: o.OnError,
		done: make(chan struct{}), followers: map[string]*follower{}}
	if err := p.follow(ctx, false); err != nil {
		p.stopAll(nil)
		return nil, err
	}
	ctx, p.end = context.WithCancel(context.Background())
	go p.run(ctx)
	return p, nil
}

// Stop ends the poller; once it returns nothing more is ingested, also not what a look
// under way is still reading. Stopping twice is fine. It must not be called by a
// listener of the target, whose turn it would wait for.
func (p *Poller) Stop() {
	p.end()
	p.hand.Lock() // an ingestion under way ends first
	defer p.hand.Unlock()
	p.stopped = true
}

// Done is closed when the last look has ended.
func (p *Poller) Done() <-chan struct{} { return p.done }

// Status tells of each log by its partition.
func (p *Poller) Status() map[string]provider.PollerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := make(map[string]provider.PollerStatus, len(p.followers))
	for partition, f := range p.followers {
		status[partition] = f.poller.Status()
	}
	return status
}

// partsTimeout ends a question for the parts that is never answered.
const partsTimeout = 30 * time.Second

func (p *Poller) run(ctx context.Context) {
	defer close(p.done)
	ticks := time.NewTicker(p.interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			for _, f := range p.stopAll(nil) {
				<-f.poller.Done()
			}
			return
		}
		asking, cancel := context.WithTimeout(ctx, partsTimeout)
		err := p.follow(asking, true)
		cancel()
		if err != nil && ctx.Err() == nil && p.onError != nil {
			p.onError(err)
		}
	}
}

// follow has one follower for each log that there is now. When it fails those that
// there were go on.
func (p *Poller) follow(ctx context.Context, later bool) error {
	parts, err := p.parts.read(ctx)
	if err != nil {
		return err
	}
	now := map[string]bool{}
	for _, part := range parts {
		if part.Log == nil && part.Kind == Peer {
			continue
		}
		if err := part.logged(); err != nil {
			return err
		}
		now[part.Partition] = true
	}
	if gone := p.stopAll(func(f *follower) bool { return now[f.part().Partition] }); len(gone) > 0 {
		p.ingest(authz.Event{Type: authz.EventAll})
	}
	for _, part := range parts {
		if !now[part.Partition] {
			continue
		}
		p.mu.Lock()
		f := p.followers[part.Partition]
		p.mu.Unlock()
		if f != nil && f.part().Kind == part.Kind {
			f.now.Store(&part)
			continue
		}
		if f != nil {
			f.poller.Stop()
		}
		if err := p.start(part, later); err != nil {
			return err
		}
	}
	return nil
}

func (p *Poller) start(part Part, later bool) error {
	f, err := newFollower(p, part, later)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followers[part.Partition] = f
	return nil
}

// stopAll ends the followers but those to be kept, nil keeping none, and answers them.
func (p *Poller) stopAll(keep func(*follower) bool) (ending []*follower) {
	p.mu.Lock()
	for partition, f := range p.followers {
		if keep == nil || !keep(f) {
			ending = append(ending, f)
			delete(p.followers, partition)
		}
	}
	p.mu.Unlock()
	for _, f := range ending {
		f.poller.Stop()
	}
	return ending
}

// ingest hands events over unless the poller was stopped.
func (p *Poller) ingest(events ...authz.Event) {
	p.hand.Lock()
	defer p.hand.Unlock()
	if !p.stopped && len(events) > 0 {
		p.target.IngestEvents(events)
	}
}
