package eventlog_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func channel(hints <-chan int64) func(context.Context) iter.Seq2[int64, error] {
	return func(ctx context.Context) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			for {
				select {
				case h := <-hints:
					if !yield(h, nil) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// target hears what is ingested.
type target struct {
	mu        sync.Mutex
	events    []authz.Event
	delivered authz.Position
}

func (g *target) OnInvalidate(func(authz.Event)) func() { return func() {} }
func (g *target) EventLog() provider.EventLog           { return nil }

func (g *target) IngestEvents(events []authz.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, events...)
}

func (g *target) Delivered(_ string, after authz.Position) authz.Position {
	g.mu.Lock()
	defer g.mu.Unlock()
	if after.Covers(g.delivered) {
		return after
	}
	return g.delivered
}

func (g *target) take() []authz.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.events
	g.events = nil
	return taken
}

const tick = 5 * time.Second

// polled is a world whose parts can change, with a poller over it, in a bubble of
// synthetic time.
type polled struct {
	*world
	*target
	*eventlog.Poller
	t      *testing.T
	mu     sync.Mutex
	now    []eventlog.Part
	fail   error
	errors []error
}

func poll(t *testing.T, run func(*polled)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := &polled{world: w, target: new(target), t: t, now: w.parts()}
		var err error
		p.Poller, err = eventlog.StartPoller(t.Context(), p.target, p.read, eventlog.PollerOptions{OnError: func(err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errors = append(p.errors, err)
		}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		run(p)
		p.Stop()
		<-p.Done()
	})
}

func (p *polled) read(context.Context) ([]eventlog.Part, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.now), p.fail
}

func (p *polled) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// heard lets an interval pass and compares what was heard in any order of the logs.
func (p *polled) heard(when string, want ...authz.Event) {
	p.t.Helper()
	time.Sleep(tick + time.Millisecond)
	synctest.Wait()
	got := p.take()
	order := func(a, b authz.Event) int { return strings.Compare(string(a.Type)+a.UserID, string(b.Type)+b.UserID) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: heard %v, want %v", when, got, want)
	}
}

func (p *polled) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.errors)
	p.errors = nil
	return n
}

func TestThePollerFollowsEachLogFromItsHead(t *testing.T) {
	poll(t, func(p *polled) {
		p.heard("at first")
		p.own.append(user("g"))
		p.billing.append(user("h"), authz.RoleEvent("r"))
		p.tools.append(authz.RoleEvent("r"))
		p.heard("after writes", user("g"), user("h"), authz.RoleEvent("r"), all, authz.RoleEvent("r"))
		p.heard("again")
		p.own.append(user("mine"))
		p.target.mu.Lock()
		p.delivered = p.own.head()
		p.target.mu.Unlock()
		p.heard("own writes that were delivered")
		if s := p.Status(); len(s) != 4 || s["docs"].Cursor != 4 || s["tools"].Cursor != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAGapOrLossOfOneLogIsEverythingAndItsOwnerIsTold(t *testing.T) {
	poll(t, func(p *polled) {
		p.hq.lose(1)
		p.hq.append(user("x"))
		p.own.append(user("g"))
		p.heard("another event of the number", all, user("g"))
		if len(p.hq.lost) != 1 || len(p.own.lost)+len(p.billing.lost) > 0 {
			t.Errorf("told: %v", p.hq.lost)
		}
		p.tools.append(user("y"), user("z"))
		p.tools.prune(2)
		p.heard("pruned", all)
		p.billing.replace("b2")
		p.heard("another life", all)
		p.heard("again")
	})
}

func TestALogThatFailsHoldsUpNoOther(t *testing.T) {
	poll(t, func(p *polled) {
		down := func(l *memLog, down bool) { l.set(func() { l.down = down }) }
		down(p.tools, true)
		p.own.append(user("g"))
		p.tools.append(user("later"))
		p.heard("a peer is down", user("g"))
		if n := p.failures(); n != 1 {
			t.Errorf("%d errors", n)
		}
		down(p.tools, false)
		p.heard("it is back", user("later"))
		down(p.billing, true)
		p.heard("one whose rows are merged is down", all)
		p.heard("an interval later", all)
		p.billing.append(user("h"))
		down(p.billing, false)
		p.heard("it is back", user("h"))
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.errors) != 2 || !errors.Is(p.errors[0], errDown) || !strings.Contains(p.errors[0].Error(), `"billing"`) {
			t.Errorf("errors: %v", p.errors)
		}
	})
}

func TestAHangingLogHoldsUpNoOther(t *testing.T) {
	poll(t, func(p *polled) {
		release := make(chan struct{})
		p.tools.set(func() { p.tools.before = func() { <-release } })
		p.tools.append(user("later"))
		p.own.append(user("g"))
		p.heard("a peer hangs", user("g"))
		close(release)
		p.heard("it is back", user("later"))
	})
}

func TestLogsComeAndGo(t *testing.T) {
	poll(t, func(p *polled) {
		added := newMemLog("n1", user("of before"))
		p.set(func() { p.now = append(p.now, eventlog.Part{Kind: eventlog.Peer, Partition: "new", Log: added}) })
		p.heard("one more", all)
		added.append(user("n"))
		p.heard("its events", user("n"))

		p.set(func() {
			p.now = slices.DeleteFunc(p.now, func(part eventlog.Part) bool { return part.Partition == "tools" })
		})
		p.heard("one less", all)
		p.tools.append(user("t"))
		p.heard("its events")

		p.set(func() { p.now[len(p.now)-1].Kind = eventlog.Owner })
		p.heard("its rows are merged from now on", all)
		added.append(authz.RoleEvent("r"))
		p.heard("a role of it", authz.RoleEvent("r"), all)

		other := newMemLog("h1", user("c"))
		other.events = slices.Clone(p.hq.events)
		p.set(func() { p.now[1].Log = other }) // the store was opened again
		p.heard("another handle of one log")
		other.append(user("through it"))
		p.heard("its events", user("through it"))

		p.set(func() { p.fail = errDown })
		p.own.append(user("o"))
		p.heard("nobody knows the parts", user("o"))
		if n := p.failures(); n != 1 {
			t.Errorf("%d errors", n)
		}
	})
}

// What was missed before a log could be read for the first time is made up for.
func TestALogThatIsDownAtFirstCostsEverythingWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.tools.down = true
		p := &polled{world: w, target: new(target), t: t}
		var err error
		p.Poller, err = eventlog.StartPoller(t.Context(), p.target, eventlog.Fixed(w.parts()...), eventlog.PollerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.heard("down")
		w.tools.append(user("missed"))
		w.tools.set(func() { w.tools.down = false })
		p.heard("up", all)
		p.heard("again")
		p.Stop()
		<-p.Done()
	})
}

func TestAfterStopNothingIsIngested(t *testing.T) {
	poll(t, func(p *polled) {
		p.own.append(user("g"))
		p.Stop()
		p.Stop()
		p.heard("stopped")
	})
}

func TestWhatAPollerCannotFollowIsRefused(t *testing.T) {
	w := newWorld()
	own := eventlog.Part{Kind: eventlog.Own, Partition: "docs", Log: w.own}
	for name, c := range map[string]struct {
		parts    eventlog.Parts
		interval time.Duration
		ok       bool
	}{
		"a peer without a log":      {parts: eventlog.Fixed(own, eventlog.Part{Kind: eventlog.Peer, Partition: "x"}), ok: true},
		"an owner without a log":    {parts: eventlog.Fixed(own, eventlog.Part{Kind: eventlog.Owner, Partition: "x"})},
		"an own log that is none":   {parts: eventlog.Fixed(eventlog.Part{Kind: eventlog.Own, Partition: "docs"})},
		"a partition named twice":   {parts: eventlog.Fixed(own, own)},
		"parts that nobody can say": {parts: func(context.Context) ([]eventlog.Part, error) { return nil, errDown }},
		"a negative interval":       {parts: eventlog.Fixed(own), interval: -1},
	} {
		p, err := eventlog.StartPoller(t.Context(), new(target), c.parts, eventlog.PollerOptions{Interval: c.interval})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			p.Stop()
			<-p.Done()
		}
	}
}
