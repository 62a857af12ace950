package retention_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestIngestCopiesALogOnceAndWhole(t *testing.T) {
	w := newWorld(t)
	docs := w.serve("docs")
	w.write(docs, 1203)
	var log []authz.AuditEntry
	for e, err := range docs.App.ListAuditEvents(t.Context(), provider.AuditQuery{}) {
		w.Must(err)
		log = append(log, e)
	}
	newest := log[len(log)-1].Cursor()
	ignoreDuplicates := cmpopts.IgnoreFields(retention.Result{}, "Duplicates")
	if diff := cmp.Diff(retention.Result{Ingested: int64(len(log)), UpTo: &newest, Integrity: retention.Intact}, w.ingest("docs")); diff != "" {
		t.Error(diff)
	}
	again := w.ingest("docs")
	if diff := cmp.Diff(retention.Result{UpTo: &newest, Integrity: retention.Intact}, again, ignoreDuplicates); diff != "" || again.Duplicates != int64(len(log)) {
		t.Error(diff, again.Duplicates)
	}
	w.Clock.Add(time.Hour.Milliseconds())
	w.write(docs, 2)
	if more := w.ingest("docs"); more.Ingested != 2 || more.Integrity != retention.Intact {
		t.Errorf("%+v", more)
	}
	kept := w.retained(retention.Filter{})
	for i, e := range log {
		if diff := cmp.Diff(e, kept[i].AuditEntry, cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })); diff != "" {
			t.Fatal(diff)
		}
	}
	if len(kept) != len(log)+2 || kept[0].Application != "docs" || kept[0].IngestedAt == 0 {
		t.Errorf("%d events are retained, the first as %+v", len(kept), kept[0])
	}
	if d, _ := w.Meters.Read(t.Context(), "acme", billing.RetainedAuditEvents); d.Value != int64(len(kept)) {
		t.Errorf("%d events were metered", d.Value)
	}
	runs := 0
	for row, err := range account.Log.All(t.Context(), w.Store, "acme") {
		w.Must(err)
		if row.Value.Action == "retention.ingest" && row.Value.Target == "docs" && row.Value.Actor == "u_1" {
			runs++
		}
	}
	if runs != 3 {
		t.Errorf("the log has %d runs", runs)
	}
}

func TestIngestNeedsALinkAndBothOptIns(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.serve("docs")
	refused := func(id, code string) {
		t.Helper()
		if _, err := w.Ingest(ctx, "u_1", "acme", id); codeOf(err) != code {
			t.Errorf("%s: %v instead of %s", id, err, code)
		}
	}
	refused("nope", "application_not_found")
	_, err := w.Entries.SetAuditOptIn(ctx, "u_1", "acme", "docs", false)
	w.Must(err)
	refused("docs", "retention_off")
	_, err = w.Entries.SetAuditOptIn(ctx, "u_1", "acme", "docs", true)
	w.Must(err)
	w.ingest("docs")
	_, err = w.Entries.Unlink(ctx, "u_1", "acme", "docs")
	w.Must(err)
	refused("docs", "not_linked")
	if kept := w.retained(retention.Filter{}); len(kept) != 0 {
		t.Errorf("%d events of an empty log", len(kept))
	}
}

func TestAnApplicationThatDoesNotStreamIsNotAsked(t *testing.T) {
	w := newWorld(t)
	docs := w.serve("docs")
	l := &liar{}
	docs.Instead(l.serve)
	l.set(authz.AuditEntry{ID: "a", At: 5})
	if r := w.ingest("docs"); r.Ingested != 1 {
		t.Errorf("%+v", r)
	}
	docs.Instead(off)
	if _, err := w.Ingest(t.Context(), "u_1", "acme", "docs"); codeOf(err) != "audit_stream_off" {
		t.Errorf("%v", err)
	}
	if kept := w.retained(retention.Filter{}); len(kept) != 1 {
		t.Errorf("what was retained is gone: %d", len(kept))
	}
}

func TestAtTheCapIngestPausesAndLosesNothing(t *testing.T) {
	w := newWorld(t)
	docs := w.serve("docs")
	w.write(docs, 10)
	limit := func(n *int64) {
		t.Helper()
		_, err := w.Meters.SetCap(t.Context(), "u_1", "acme", billing.RetainedAuditEvents, n)
		w.Must(err)
	}
	limit(to(int64(4)))
	first := w.ingest("docs")
	kept := w.retained(retention.Filter{})
	if first.Ingested != 4 || first.Paused == nil || *first.Paused != "cap_reached" || len(kept) != 4 || *first.UpTo != kept[3].Cursor() {
		t.Errorf("%+v with %d retained", first, len(kept))
	}
	if second := w.ingest("docs"); second.Ingested != 0 || second.Paused == nil || *second.UpTo != *first.UpTo {
		t.Errorf("%+v", second)
	}
	limit(nil)
	if third := w.ingest("docs"); third.Ingested != 6 || third.Duplicates != 4 || third.Paused != nil || third.Integrity != retention.Intact {
		t.Errorf("%+v", third)
	}
}

func chain(t *testing.T, entries ...authz.AuditEntry) []authz.AuditEntry {
	t.Helper()
	linked, err := authz.LinkHashChain(nil, entries)
	if err != nil {
		t.Fatal(err)
	}
	return linked
}

func TestALogThatIsNotWhatItWasShows(t *testing.T) {
	now := time.Now().UnixMilli()
	log := func() []authz.AuditEntry {
		var list []authz.AuditEntry
		for i := range int64(6) {
			list = append(list, authz.AuditEntry{ID: fmt.Sprintf("e%d", i), At: now + i, Actor: "root", Action: "grant.create", Target: "g"})
		}
		return chain(t, list...)
	}
	edited := func(edit func([]authz.AuditEntry) []authz.AuditEntry) []authz.AuditEntry { return edit(log()) }
	for name, c := range map[string]struct {
		before, after []authz.AuditEntry
		integrity     retention.Integrity
		ingested      int64
	}{
		"as it was": {log()[:3], log(), retention.Intact, 3},
		"an entry that differs": {log()[:3], edited(func(l []authz.AuditEntry) []authz.AuditEntry {
			l[1].Actor = "nobody"
			return l
		}), retention.Mismatch, 3},
		"the same id at another instant": {[]authz.AuditEntry{{ID: "x", At: now}}, []authz.AuditEntry{{ID: "x", At: now + 5}}, retention.Mismatch, 0},
		"a link that is broken": {log()[:3], edited(func(l []authz.AuditEntry) []authz.AuditEntry {
			return slices.Delete(l, 4, 5)
		}), retention.Mismatch, 2},
		"a hash that is wrong": {nil, edited(func(l []authz.AuditEntry) []authz.AuditEntry {
			l[5].Target = "h"
			return l
		}), retention.Mismatch, 6},
		"the newest entry is gone": {log(), log()[:4], retention.Mismatch, 0},
		"everything is gone":       {log(), nil, retention.Mismatch, 0},
		"an entry filed late behind the cursor": {[]authz.AuditEntry{{ID: "b", At: now}},
			[]authz.AuditEntry{{ID: "a", At: now - 60_000}, {ID: "b", At: now}}, retention.Intact, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			docs, l := w.serve("docs"), &liar{}
			docs.Instead(l.serve)
			l.set(c.before...)
			if r := w.ingest("docs"); r.Ingested != int64(len(c.before)) || r.Integrity != retention.Intact {
				t.Errorf("before: %+v", r)
			}
			kept := w.retained(retention.Filter{})
			l.set(c.after...)
			if r := w.ingest("docs"); r.Ingested != c.ingested || r.Integrity != c.integrity {
				t.Errorf("after: %+v", r)
			}
			after := w.retained(retention.Filter{})
			for _, e := range kept {
				if !slices.ContainsFunc(after, func(o retention.Event) bool { return cmp.Equal(e, o) }) {
					t.Errorf("the retained event %s was changed", e.ID)
				}
			}
		})
	}
}

// hurried is a world whose runs end after a page, and an application with a chained log
// of so many entries, a millisecond apart, that began so long ago.
func hurried(t *testing.T, n int, ago time.Duration) (*world, *liar, []authz.AuditEntry) {
	w := newWorldOf(t, time.Nanosecond)
	docs, l := w.serve("docs"), &liar{}
	docs.Instead(l.serve)
	log := make([]authz.AuditEntry, n)
	begin := w.Clock.Load() - ago.Milliseconds()
	for i := range log {
		log[i] = authz.AuditEntry{ID: fmt.Sprintf("e%05d", i), At: begin + int64(i), Actor: "root", Action: "grant.create", Target: "g"}
	}
	log = chain(t, log...)
	l.set(log...)
	return w, l, log
}

// What a run reads again may take longer than a run may.
func TestARunGoesOnWhereTheLastOneEnded(t *testing.T) {
	w, l, log := hurried(t, 2501, time.Hour)
	l.set(log[:2500]...)
	var sum retention.Result
	toTheEnd := func() {
		t.Helper()
		sum = retention.Result{More: true}
		for runs := 0; sum.More; runs++ {
			if runs == 10 {
				t.Fatalf("no end after %d runs: %+v", runs, sum)
			}
			r := w.ingest("docs")
			if r.Integrity != retention.Intact || *r.UpTo != w.newest() {
				t.Errorf("%+v", r)
			}
			sum = retention.Result{Ingested: sum.Ingested + r.Ingested, Duplicates: sum.Duplicates + r.Duplicates, More: r.More}
		}
	}
	toTheEnd()
	if sum.Ingested != 2500 || sum.Duplicates != 0 {
		t.Errorf("%+v", sum)
	}
	l.set(log...)
	toTheEnd()
	if sum.Ingested != 1 || sum.Duplicates != 2500 {
		t.Errorf("what was read is read again, once: %+v", sum)
	}
}

// Runs that all end before the log does miss nothing that is filed late at its end.
func TestNearTheEndOfALogWhatIsFiledLateIsRead(t *testing.T) {
	w, l, log := hurried(t, 2500, 0)
	l.set(log[1:]...)
	w.ingest("docs")
	l.set(log...)
	for runs := 0; w.ingest("docs").More; runs++ {
		if runs == 20 {
			t.Fatalf("no end after %d runs", runs)
		}
	}
	if kept := w.retained(retention.Filter{}); len(kept) != len(log) {
		t.Errorf("%d events are retained", len(kept))
	}
}

func TestWhatIsGoneWhereARunEndedShows(t *testing.T) {
	w, l, log := hurried(t, 1500, time.Hour)
	if r := w.ingest("docs"); r.Ingested != 1000 || !r.More || r.Integrity != retention.Intact {
		t.Errorf("%+v", r)
	}
	l.set(slices.Delete(slices.Clone(log), 1000, 1001)...)
	if r := w.ingest("docs"); r.Ingested != 499 || r.Integrity != retention.Mismatch {
		t.Errorf("%+v", r)
	}
}

func TestALongLogIsReadOnAtTheNextLookUntilARest(t *testing.T) {
	w, l, log := hurried(t, 2500, time.Hour)
	l.set(log[1:]...)
	for want := range 3 {
		w.Must(w.IngestDue(t.Context(), "acme"))
		if kept := w.retained(retention.Filter{}); len(kept) != min((want+1)*1000, 2499) {
			t.Errorf("%d events are retained after %d looks", len(kept), want+1)
		}
	}
	l.set(log...) // one was filed late
	w.Clock.Add(5 * time.Minute.Milliseconds())
	w.Must(w.IngestDue(t.Context(), "acme"))
	if kept := w.retained(retention.Filter{}); len(kept) != 2500 {
		t.Errorf("%d events are retained after a rest", len(kept))
	}
}

func TestWhatKeepsNotToTheContractIsAnErrorOfTheApplication(t *testing.T) {
	for name, entries := range map[string][]authz.AuditEntry{
		"no id":              {{At: 5}},
		"an id too long":     {{ID: strings.Repeat("x", 257), At: 5}},
		"a negative instant": {{ID: "a", At: -5}},
		"a huge instant":     {{ID: "a", At: 1 << 60}},
		"out of order":       {{ID: "b", At: 5}, {ID: "a", At: 5}},
		"twice":              {{ID: "a", At: 5}, {ID: "a", At: 5}},
		"NUL":                {{ID: "a", At: 5, Actor: "a\x00b"}},
	} {
		w := newWorld(t)
		docs, l := w.serve("docs"), &liar{blunt: true}
		docs.Instead(l.serve)
		l.set(entries...)
		if _, err := w.Ingest(t.Context(), "u_1", "acme", "docs"); codeOf(err) != "application_protocol_error" {
			t.Errorf("%s: %v", name, err)
		}
		if kept := w.retained(retention.Filter{}); len(kept) != 0 {
			t.Errorf("%s: %d events are retained", name, len(kept))
		}
	}
}

// What a run took in before it failed is metered, and so it is in the account log.
func TestAnIngestThatFailsHalfWayIsRecorded(t *testing.T) {
	w := newWorld(t)
	docs, l := w.serve("docs"), &liar{}
	var asked atomic.Int32
	docs.Instead(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/listAuditEvents") {
			if asked.Add(1) > 1 {
				http.Error(rw, "no", http.StatusInternalServerError)
				return
			}
		}
		l.serve(rw, r)
	})
	l.set(authz.AuditEntry{ID: "a", At: 5, Actor: "u", Action: "grant.create", Target: "g"})
	if _, err := w.Ingest(t.Context(), "u_1", "acme", "docs"); codeOf(err) != "application_protocol_error" {
		t.Fatal(err)
	}
	var logged []string
	for row, err := range account.Log.All(t.Context(), w.Store, "acme") {
		w.Must(err)
		if row.Value.Action == "retention.ingest" {
			logged = append(logged, row.Value.Actor+" "+row.Value.Target)
		}
	}
	if len(w.retained(retention.Filter{})) != 1 || !slices.Equal(logged, []string{"u_1 docs"}) {
		t.Errorf("%v", logged)
	}
}

func TestALongDetailComesBackWhole(t *testing.T) {
	w := newWorld(t)
	docs, l := w.serve("docs"), &liar{}
	docs.Instead(l.serve)
	detail := json.RawMessage(`{"b":"` + strings.Repeat("x", 3<<20) + `","a":1}`)
	l.set(authz.AuditEntry{ID: "a", At: 5, Detail: detail}, authz.AuditEntry{ID: "b", At: 6})
	if r := w.ingest("docs"); r.Ingested != 2 || r.Integrity != retention.Intact {
		t.Errorf("%+v", r)
	}
	if kept := w.retained(retention.Filter{}); len(kept) != 2 || string(kept[0].Detail) != string(detail) {
		t.Errorf("%d events", len(kept))
	}
	if r := w.ingest("docs"); r.Duplicates != 2 || r.Integrity != retention.Intact {
		t.Errorf("%+v", r)
	}
}

func TestDueIngestsHappenEveryFiveMinutes(t *testing.T) {
	w := newWorld(t)
	docs, mail := w.serve("docs"), w.serve("mail")
	w.write(docs, 2)
	w.write(mail, 3)
	_, err := w.Entries.SetAuditOptIn(t.Context(), "u_1", "acme", "mail", false)
	w.Must(err)
	due := func(want int) {
		t.Helper()
		w.Must(w.IngestDue(t.Context(), "acme"))
		if kept := w.retained(retention.Filter{}); len(kept) != want {
			t.Errorf("%d events are retained instead of %d", len(kept), want)
		}
	}
	due(2)
	w.write(docs, 1)
	due(2)
	w.Clock.Add(5 * time.Minute.Milliseconds())
	due(3)
}

func TestADueIngestThatFailsIsNotTriedAtEveryLook(t *testing.T) {
	w := newWorld(t)
	var asked atomic.Int32
	w.serve("docs").Instead(func(rw http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"api":1,"application":"docs","orgRoot":true,"hasEpoch":false,"auditOptIn":false}`))
	})
	for _, wait := range []time.Duration{0, 15 * time.Second, 4 * time.Minute} {
		w.Clock.Add(wait.Milliseconds())
		w.Must(w.IngestDue(t.Context(), "acme"))
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	w.Clock.Add(time.Minute.Milliseconds())
	w.Must(w.IngestDue(t.Context(), "acme"))
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}
