package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
)

var (
	all  = authz.Event{Type: authz.EventAll}
	user = authz.UserEvent
)

// world is an application's own log, the org partition's and two peers'.
type world struct {
	own, hq, billing, tools *memLog
	composite               *eventlog.Log
}

func newWorld() *world {
	w := &world{own: newMemLog("d1", user("a"), user("b")), hq: newMemLog("h1", user("c")),
		billing: newMemLog("b1", user("d"), user("e"), user("f")), tools: newMemLog("t1")}
	w.composite = eventlog.Compose(eventlog.Fixed(w.parts()...))
	return w
}

func (w *world) parts() []eventlog.Part {
	return []eventlog.Part{
		{Kind: eventlog.Own, Partition: "docs", Log: w.own, Losing: w.own},
		{Kind: eventlog.Org, Partition: "hq", Log: w.hq, Losing: w.hq},
		{Kind: eventlog.Owner, Partition: "billing", Log: w.billing, Losing: w.billing},
		{Kind: eventlog.Peer, Partition: "tools", Log: w.tools, Losing: w.tools},
	}
}

func head(t *testing.T, l provider.EventLog) provider.EventLogHead {
	t.Helper()
	h, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func since(t *testing.T, l provider.EventLog, after authz.Position, limit int) provider.EventLogPage {
	t.Helper()
	page, err := l.Since(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestTheHeadIsTheSumAndNamesEachPlace(t *testing.T) {
	w := newWorld()
	h := head(t, w.composite)
	c, ok := h.Composite()
	if !ok || h.Seq != 6 || h.Log != c.Logs.String() {
		t.Fatalf("head %+v is %+v, %v", h, c, ok)
	}
	want := []authz.Position{w.billing.head(), w.own.head(), w.hq.head(), w.tools.head()} // by partition
	if diff := cmp.Diff(want, c.Terms); diff != "" {
		t.Error(diff)
	}
	parts := w.parts()
	slices.Reverse(parts)
	if other := head(t, eventlog.Compose(eventlog.Fixed(parts...))); other != h {
		t.Errorf("another process, which names the parts in another order, is at %v, not %v", other, h)
	}
}

func TestAnotherSetOfLogsIsAnotherLog(t *testing.T) {
	w := newWorld()
	before := head(t, w.composite)
	for name, change := range map[string]func([]eventlog.Part) []eventlog.Part{
		"one less":     func(p []eventlog.Part) []eventlog.Part { return p[:3] },
		"another kind": func(p []eventlog.Part) []eventlog.Part { p[3].Kind = eventlog.Owner; return p },
		"another name": func(p []eventlog.Part) []eventlog.Part { p[3].Partition = "tool"; return p },
		"another life": func(p []eventlog.Part) []eventlog.Part { p[3].Log = newMemLog("t2"); return p },
		"one more, empty": func(p []eventlog.Part) []eventlog.Part {
			return append(p, eventlog.Part{Kind: eventlog.Peer, Partition: "x", Log: newMemLog("x1")})
		},
	} {
		other := eventlog.Compose(eventlog.Fixed(change(w.parts())...))
		now := head(t, other)
		if now.Seq != before.Seq || now.Log == before.Log || now.Identity == before.Identity {
			t.Errorf("%s: %v after %v", name, now, before)
		}
		if page := since(t, other, before.Position, 0); !page.Gap {
			t.Errorf("%s: a position of before is answered %+v", name, page)
		}
		if terms, err := other.Terms(t.Context(), before.Position); err != nil || len(terms) > 0 {
			t.Errorf("%s: %v, %v", name, terms, err)
		}
	}
}

func TestWhatIsNoPositionOfTheseLogsIsAGap(t *testing.T) {
	w := newWorld()
	h := head(t, w.composite)
	for name, at := range map[string]authz.Position{
		"a number":              {Seq: 6},
		"the beginning":         {},
		"an event of one log":   w.own.head(),
		"another sum":           {Seq: 5, Identity: h.Identity},
		"a stamp that is cut":   {Seq: 6, Identity: h.Identity[:20]},
		"a stamp of the future": {Seq: 6, Identity: "~2" + h.Identity[2:]},
	} {
		if page := since(t, w.composite, at, 0); !page.Gap || page.Reset || page.Events != nil {
			t.Errorf("%s is answered %+v", name, page)
		}
	}
}

func TestPagesDrainEveryLogWhateverTheLimit(t *testing.T) {
	for limit := range 9 {
		w := newWorld()
		at := head(t, w.composite).Position
		w.own.append(user("g"), user("h"))
		w.billing.append(user("i"))
		w.tools.append(user("j"), user("k"), user("l"))
		end := head(t, w.composite)
		var events []authz.Event
		for !at.Covers(end.Position) {
			// Another process goes on from each page.
			other := eventlog.Compose(eventlog.Fixed(w.parts()...))
			page := since(t, other, at, limit)
			if len(page.Events) == 0 || limit > 0 && len(page.Events) > limit {
				t.Fatalf("limit %d: %+v", limit, page)
			}
			at, events = page.UpTo, append(events, page.Events...)
		}
		if want := []authz.Event{user("i"), user("g"), user("h"), user("j"), user("k"), user("l")}; !slices.Equal(events, want) || at != end.Position {
			t.Errorf("limit %d: %v up to %v, want %v up to %v", limit, events, at, want, end)
		}
		w.own.heads, w.own.pages = 0, 0
		if page := since(t, w.composite, at, limit); page.UpTo != at || page.Events != nil || w.own.pages > 0 || w.own.heads != 1 {
			t.Errorf("at the head: %+v after %d pages", page, w.own.pages)
		}
	}
}

// A sum does not tell that a drain is over: one log may have gone on instead of another.
func TestADrainThatComparedSumsWouldPassOverAnEvent(t *testing.T) {
	w := newWorld()
	at := head(t, w.composite).Position
	w.hq.append(user("late"))
	end := head(t, w.composite).Position
	w.billing.append(user("x"))
	page := since(t, w.composite, at, 1)
	if page.UpTo.Seq != end.Seq || page.UpTo.Covers(end) {
		t.Fatalf("%v after a page of another log, on the way to %v", page.UpTo, end)
	}
	if page = since(t, w.composite, page.UpTo, 1); !slices.Equal(page.Events, []authz.Event{user("late")}) || !page.UpTo.Covers(end) {
		t.Errorf("the second page: %+v", page)
	}
}

func TestALossIsFoundWhateverTheSum(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*world)
		reset, gap bool
		lost       string
	}{
		"a term fell":                      {change: func(w *world) { w.hq.lose(1) }, reset: true, lost: "hq"},
		"and another made up for it":       {change: func(w *world) { w.hq.lose(1); w.own.append(user("x"), user("y")) }, reset: true, lost: "hq"},
		"and grew again, to another event": {change: func(w *world) { w.hq.lose(1); w.hq.append(user("x")) }, reset: true, lost: "hq"},
		"and grew further":                 {change: func(w *world) { w.hq.lose(1); w.hq.append(user("x"), user("y")) }, reset: true, lost: "hq"},
		"pruned past the place":            {change: func(w *world) { w.hq.append(user("x"), user("y")); w.hq.prune(2) }, gap: true},
		"pruned up to the place":           {change: func(w *world) { w.hq.append(user("x")); w.hq.prune(1) }},
		"another life":                     {change: func(w *world) { w.hq.replace("h2") }, gap: true},
		"one pruned, another that lost and grew": {change: func(w *world) {
			w.billing.append(user("x"), user("y"))
			w.billing.prune(4)
			w.own.lose(1)
			w.own.append(user("x"), user("y"))
		}, reset: true, lost: "docs"},
		"an earlier one lost, a later one the same": {change: func(w *world) { w.billing.lose(2); w.billing.append(user("x"), user("y")) }, reset: true, lost: "billing"},
	} {
		w := newWorld()
		before := head(t, w.composite)
		c.change(w)
		page := since(t, w.composite, before.Position, 0)
		if page.Reset != c.reset || page.Gap != c.gap {
			t.Errorf("%s: %+v", name, page)
		}
		if now := head(t, w.composite); now.Log == before.Log && now.Is(before.Position) {
			t.Errorf("%s: the head is the same", name)
		}
		w.composite.LostPosition(t.Context(), before.Log, before.Position)
		for partition, log := range map[string]*memLog{"docs": w.own, "hq": w.hq, "billing": w.billing, "tools": w.tools} {
			want := 0
			if partition == c.lost {
				want = 1
			}
			if len(log.lost) != want || want == 1 && log.lost[0].Identity == "of another life" {
				t.Errorf("%s: %s was told of %v", name, partition, log.lost)
			}
		}
	}
}

func TestUnknownIdentitiesCountByNumber(t *testing.T) {
	w := newWorld()
	w.hq.set(func() { w.hq.events[0].Identity = "" })
	before := head(t, w.composite).Position
	w.hq.lose(1)
	w.own.append(user("x"))
	if page := since(t, w.composite, before, 0); !page.Reset {
		t.Errorf("a term without identity fell: %+v", page)
	}
}

func TestAHoleEndsWhatIsReadOfItsLog(t *testing.T) {
	w := newWorld()
	at := head(t, w.composite).Position
	w.billing.append(user("x"))
	w.billing.set(func() { w.billing.hole = 4 })
	w.own.append(user("y"))
	end := head(t, w.composite).Position
	page := since(t, w.composite, at, 0)
	if !slices.Equal(page.Events, []authz.Event{user("y")}) || page.UpTo.Covers(end) {
		t.Fatalf("%+v", page)
	}
	if again := since(t, w.composite, page.UpTo, 0); len(again.Events) > 0 || again.UpTo != page.UpTo {
		t.Errorf("still a hole: %+v", again)
	}
	w.billing.set(func() { w.billing.hole = 0 })
	if page = since(t, w.composite, page.UpTo, 0); !slices.Equal(page.Events, []authz.Event{user("x")}) || page.UpTo != end {
		t.Errorf("filled: %+v", page)
	}
}

func TestWhatThePartsAreMade(t *testing.T) {
	group, role := authz.SubjectEvent("group:g"), authz.RoleEvent("r")
	asIs := []authz.Event{user("u"), authz.SubjectEvent("user:u"), authz.SubjectEvent("service:s"), authz.SubjectEvent("everyone"), authz.ScopeEvent("docs.doc:1")}
	unknown := authz.Event{Type: "of the future"}
	for name, c := range map[string]struct {
		kind      eventlog.Kind
		has, want []authz.Event
	}{
		"own":                       {eventlog.Own, append(asIs, group, role, unknown), append(asIs, group, role, unknown)},
		"org":                       {eventlog.Org, append(asIs, group, role), append(asIs, group, role)},
		"peer":                      {eventlog.Peer, append(asIs, group, role), append(asIs, group, role)},
		"owner, named here":         {eventlog.Owner, asIs, asIs},
		"owner, a group":            {eventlog.Owner, []authz.Event{group, user("u"), group}, []authz.Event{group, user("u"), group, all}},
		"owner, a role":             {eventlog.Owner, []authz.Event{role}, []authz.Event{role, all}},
		"owner, a catalog":          {eventlog.Owner, []authz.Event{{Type: authz.EventCatalog}}, []authz.Event{{Type: authz.EventCatalog}, all}},
		"owner, direct reports":     {eventlog.Owner, []authz.Event{authz.SubjectEvent("directs:u")}, []authz.Event{authz.SubjectEvent("directs:u"), all}},
		"owner, all below somebody": {eventlog.Owner, []authz.Event{authz.SubjectEvent("orgof:u")}, []authz.Event{authz.SubjectEvent("orgof:u"), all}},
		"owner, an org of its own":  {eventlog.Owner, []authz.Event{authz.SubjectEvent("org:acme")}, []authz.Event{authz.SubjectEvent("org:acme"), all}},
		"owner, no subject":         {eventlog.Owner, []authz.Event{authz.SubjectEvent("?")}, []authz.Event{authz.SubjectEvent("?"), all}},
		"owner, unknown":            {eventlog.Owner, []authz.Event{unknown}, []authz.Event{unknown, all}},
		"owner, everything already": {eventlog.Owner, []authz.Event{group, all}, []authz.Event{group, all}},
		"registry":                  {eventlog.Registry, []authz.Event{user("u"), all, all}, []authz.Event{all}},
	} {
		log := newMemLog("x")
		l := eventlog.Compose(eventlog.Fixed(eventlog.Part{Kind: c.kind, Partition: "x", Log: log}))
		at := head(t, l).Position
		log.append(c.has...)
		if diff := cmp.Diff(c.want, since(t, l, at, 0).Events); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestOneUnreadableLogMakesTheWholeUnreadable(t *testing.T) {
	w := newWorld()
	at := head(t, w.composite).Position
	w.hq.set(func() { w.hq.down = true })
	_, err := w.composite.Head(t.Context())
	_, err2 := w.composite.Since(t.Context(), at, 0)
	for _, err := range []error{err, err2} {
		if !errors.Is(err, errDown) || !strings.Contains(err.Error(), `"hq"`) {
			t.Errorf("%v", err)
		}
	}
	w.composite.LostPosition(t.Context(), "", at)
}

type panicking struct{ provider.EventLog }

func (panicking) Head(context.Context) (provider.EventLogHead, error) { panic("a mistake") }

func TestPartsThatCannotBeComposedAreRefused(t *testing.T) {
	w := newWorld()
	part := func(kind eventlog.Kind, partition string, log provider.EventLog) eventlog.Part {
		return eventlog.Part{Kind: kind, Partition: partition, Log: log}
	}
	for name, parts := range map[string]eventlog.Parts{
		"none":              eventlog.Fixed(),
		"no kind":           eventlog.Fixed(part(0, "docs", w.own)),
		"one partition":     eventlog.Fixed(part(eventlog.Own, "docs", w.own), part(eventlog.Org, "docs", w.hq)),
		"no log":            eventlog.Fixed(part(eventlog.Own, "docs", w.own), part(eventlog.Peer, "hq", nil)),
		"composite itself":  eventlog.Fixed(part(eventlog.Own, "docs", w.composite)),
		"a panic":           eventlog.Fixed(part(eventlog.Own, "docs", panicking{})),
		"nobody knows them": func(context.Context) ([]eventlog.Part, error) { return nil, errDown },
	} {
		if h, err := eventlog.Compose(parts).Head(t.Context()); err == nil {
			t.Errorf("%s: %v", name, h)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	for _, n := range []int{1, 3, 10} {
		b.Run(fmt.Sprint("parts=", n), func(b *testing.B) {
			parts := make([]eventlog.Part, n)
			for i := range parts {
				parts[i] = eventlog.Part{Kind: eventlog.Peer, Partition: fmt.Sprint("p", i), Log: newMemLog("5b2e3c8f-6f63-4f0c-9a3e-9d1a4f1f0b5d", user("a"))}
			}
			l := eventlog.Compose(eventlog.Fixed(parts...))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Head(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
