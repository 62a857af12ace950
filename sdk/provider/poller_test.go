package provider_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/google/go-cmp/cmp"
)

var root = authz.AdminProvenance("root")

// polled is an application whose log can fail, block, or be another one, and
// which notes what was ingested.
type polled struct {
	*application.Application
	mu       sync.Mutex
	fail     error
	replaced *provider.EventLogHead // answered instead of the head
	heads    int
	pages    int
	block    chan struct{} // a read of events waits for it, whatever its context
	reading  chan struct{}
	ingested []authz.Event
}

func (p *polled) IngestEvents(events []authz.Event) {
	p.mu.Lock()
	p.ingested = append(p.ingested, events...)
	p.mu.Unlock()
	p.Application.IngestEvents(events)
}

func (p *polled) heard() []authz.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ingested)
}

func (p *polled) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// looks waits until n more looks have begun and the one before the last has ended.
func (p *polled) looks(t *testing.T, n int) {
	t.Helper()
	p.mu.Lock()
	from := p.heads
	p.mu.Unlock()
	for range 5000 {
		p.mu.Lock()
		reached := p.heads >= from+n
		p.mu.Unlock()
		if reached {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the poller does not look")
}

func (p *polled) EventLog() provider.EventLog {
	if p.Application.EventLog() == nil {
		return nil
	}
	return polledLog{p}
}

type polledLog struct{ *polled }

func (e polledLog) Head(ctx context.Context) (provider.EventLogHead, error) {
	e.mu.Lock()
	e.heads++
	fail, replaced := e.fail, e.replaced
	e.mu.Unlock()
	if fail != nil {
		return provider.EventLogHead{}, fail
	}
	if replaced != nil {
		return *replaced, nil
	}
	return e.Application.EventLog().Head(ctx)
}

func (e polledLog) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	e.mu.Lock()
	e.pages++
	block, reading := e.block, e.reading
	e.mu.Unlock()
	page, err := e.Application.EventLog().Since(ctx, after, min(limit, 2)) // several pages
	if block != nil {
		reading <- struct{}{}
		<-block
	}
	return page, err
}

type polledWorld struct {
	*polled
	store  storage.Store
	remote *application.Application
	poller *provider.Poller
	errors chan error
}

const interval = 5 * time.Millisecond

func newPolled(t *testing.T, persist bool) *polledWorld {
	ctx := context.Background()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *application.Application {
		app, err := application.New(ctx, application.Options{Catalog: cat, Store: store, PersistEvents: &persist})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close() })
		return app
	}
	return &polledWorld{polled: &polled{Application: open()}, store: store, remote: open(), errors: make(chan error, 1000)}
}

// start begins to poll and waits until the cursor is pinned.
func (w *polledWorld) start(t *testing.T) {
	t.Helper()
	var err error
	w.poller, err = provider.StartEventPoller(w, provider.PollerOptions{Interval: interval, OnError: func(err error) { w.errors <- err }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.poller.Stop()
		<-w.poller.Done()
	})
	w.looks(t, 2)
}

func (w *polledWorld) write(t *testing.T, users ...string) (events []authz.Event) {
	t.Helper()
	for _, u := range users {
		if err := w.remote.SetUserActive(context.Background(), u, true, root); err != nil {
			t.Fatal(err)
		}
		events = append(events, authz.UserEvent(u))
	}
	return events
}

// expect waits for the events and a few looks more, in case others follow.
func (w *polledWorld) expect(t *testing.T, want []authz.Event) {
	t.Helper()
	for range 5000 {
		if len(w.heard()) >= len(want) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	w.looks(t, 3)
	if diff := cmp.Diff(want, w.heard()); diff != "" {
		t.Errorf("ingested (-want +got)\n%s", diff)
	}
}

var everything = authz.Event{Type: authz.EventAll}

func TestAPollerIsRefusedWithoutAnEventLog(t *testing.T) {
	_, err := provider.StartEventPoller(newPolled(t, false), provider.PollerOptions{})
	var refused *authz.WriteRejectedError
	if !errors.As(err, &refused) || refused.Code != authz.CodeUnsupported ||
		refused.Message != "StartEventPoller requires event persistence (events.persist)" {
		t.Fatalf("%v", err)
	}
	if _, err := provider.StartEventPoller(newPolled(t, true), provider.PollerOptions{Interval: -1}); err == nil {
		t.Fatal("a negative interval is accepted")
	}
}

func TestAPollerIngestsWhatComesAfterItsFirstLookInOrder(t *testing.T) {
	w := newPolled(t, true)
	w.write(t, "before")
	w.start(t)
	want := w.write(t, "a", "b", "c", "d", "e")
	w.expect(t, want)
	w.expect(t, append(want, w.write(t, "f")...))
}

func TestAHintIsFollowedAtOnceAlsoOfAStreamThatBroke(t *testing.T) {
	w := newPolled(t, true)
	streams, again := 0, make(chan struct{})
	hints := func(ctx context.Context) iter.Seq2[int64, error] {
		switch streams++; streams {
		case 1:
			return func(yield func(int64, error) bool) { yield(0, errors.New("broken")) }
		case 2:
			close(again)
		}
		return w.store.Watch(ctx)
	}
	var err error
	w.poller, err = provider.StartEventPoller(w, provider.PollerOptions{Interval: time.Hour, Hints: hints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.poller.Stop()
		<-w.poller.Done()
	})
	<-again // the first look was long ago
	want := w.write(t, "a", "b")
	for range 10_000 {
		if len(w.heard()) >= len(want) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if diff := cmp.Diff(want, w.heard()); diff != "" {
		t.Errorf("ingested (-want +got)\n%s", diff)
	}
}

func TestAGapIsEverythingAndPollingGoesOnFromTheHead(t *testing.T) {
	w := newPolled(t, true)
	w.start(t)
	w.set(func() { w.fail = errors.New("away") })
	w.looks(t, 2)
	w.write(t, "a", "b", "c")
	if _, err := w.store.PruneEvents(context.Background(), storage.PruneEvents{KeepRows: new(int64(1))}); err != nil {
		t.Fatal(err)
	}
	w.set(func() { w.fail = nil })
	w.expect(t, []authz.Event{everything})
	w.expect(t, append([]authz.Event{everything}, w.write(t, "d")...))
}

func TestALogThatFellOrWasReplacedIsAGap(t *testing.T) {
	for name, head := range map[string]provider.EventLogHead{
		"the head fell":            {},
		"another log":              {Position: authz.Position{Seq: 2}, Log: "another"},
		"another, further":         {Position: authz.Position{Seq: 9}, Log: "another"},
		"another event, same head": {Position: authz.Position{Seq: 2, Identity: "another"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPolled(t, true)
			w.write(t, "a", "b")
			w.start(t)
			w.set(func() { w.replaced = &head })
			for range 5000 {
				if len(w.heard()) > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			w.poller.Stop()
			if got := w.heard(); len(got) == 0 || got[0] != everything {
				t.Errorf("ingested %v", got)
			}
		})
	}
}

func TestAnErrorIsToldAndTheNextLookRetriesFromTheSameCursor(t *testing.T) {
	w := newPolled(t, true)
	w.start(t)
	away := errors.New("away")
	w.set(func() { w.fail = away })
	want := w.write(t, "a", "b")
	select {
	case err := <-w.errors:
		if !errors.Is(err, away) {
			t.Errorf("told %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was told")
	}
	w.set(func() { w.fail = nil })
	w.expect(t, want)
}

func TestAFirstLookThatFailsPinsNothing(t *testing.T) {
	w := newPolled(t, true)
	w.set(func() { w.fail = errors.New("away") })
	w.write(t, "a")
	w.start(t)
	w.set(func() { w.fail = nil })
	w.looks(t, 2)
	w.expect(t, w.write(t, "b"))
}

func TestAfterStopNothingIsIngestedNotEvenFromAReadInFlight(t *testing.T) {
	w := newPolled(t, true)
	w.start(t)
	block, reading := make(chan struct{}), make(chan struct{}, 10)
	w.set(func() { w.block, w.reading = block, reading })
	w.write(t, "a")
	<-reading
	w.poller.Stop()
	w.poller.Stop()
	close(block)
	select {
	case <-w.poller.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the poller goes on")
	}
	if got := w.heard(); len(got) != 0 {
		t.Errorf("ingested %v", got)
	}
}

func TestLooksNeverOverlap(t *testing.T) {
	w := newPolled(t, true)
	w.start(t)
	block, reading := make(chan struct{}), make(chan struct{}, 10)
	w.set(func() { w.block, w.reading = block, reading })
	want := w.write(t, "a")
	<-reading
	w.mu.Lock()
	before := w.heads
	w.mu.Unlock()
	time.Sleep(10 * interval)
	w.mu.Lock()
	after := w.heads
	w.block = nil
	w.mu.Unlock()
	close(block)
	if after != before {
		t.Errorf("%d looks began during one", after-before)
	}
	w.expect(t, append(want, w.write(t, "b")...))
}

func TestALookCostsNoCallInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hint := newPolled(t, true), make(chan int64)
		hints := func(ctx context.Context) iter.Seq2[int64, error] {
			return func(yield func(int64, error) bool) {
				for {
					select {
					case head := <-hint:
						if !yield(head, nil) {
							return
						}
					case <-ctx.Done():
						return
					}
				}
			}
		}
		poller, err := provider.StartEventPoller(w, provider.PollerOptions{Interval: time.Hour, Hints: hints})
		if err != nil {
			t.Fatal(err)
		}
		defer poller.Stop()
		heads, pages := 0, 0
		cost := func(what string, wantHeads, wantPages int) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			heads, pages = w.heads-heads, w.pages-pages
			if heads != wantHeads || pages != wantPages {
				t.Errorf("%s: %d heads and %d pages were read, want %d and %d", what, heads, pages, wantHeads, wantPages)
			}
			heads, pages = w.heads, w.pages
		}
		cost("the first look", 1, 0)
		time.Sleep(time.Second)
		w.write(t, "a")
		hint <- 1
		cost("a hint after some rest, at once", 0, 1)
		hint <- 1
		time.Sleep(time.Second)
		cost("a hint at what is known", 0, 0)
		w.write(t, "b")
		hint <- 2
		cost("the next hint, at once", 0, 1)
		w.write(t, "c", "d")
		hint <- 3
		hint <- 4
		cost("hints right after a look", 0, 0)
		time.Sleep(5 * time.Millisecond)
		cost("all of them, a moment later", 0, 1)
		own := func(user string) {
			t.Helper()
			if err := w.SetUserActive(t.Context(), user, true, root); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		own("e")
		hint <- 5
		cost("a hint at what this process wrote", 0, 0)
		time.Sleep(time.Second)
		w.write(t, "f")
		own("g")
		hint <- 7
		cost("a hint at what it wrote after another", 0, 1)
		time.Sleep(time.Hour)
		cost("an idle tick", 1, 0)
	})
}

func TestAPollerMayBeStoppedByItsErrorListener(t *testing.T) {
	w := newPolled(t, true)
	w.fail = errors.New("away")
	var poller *provider.Poller
	ready, told := make(chan struct{}), make(chan struct{}, 100)
	poller, err := provider.StartEventPoller(w, provider.PollerOptions{Interval: interval, OnError: func(error) {
		<-ready
		poller.Stop()
		told <- struct{}{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	<-poller.Done()
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}
