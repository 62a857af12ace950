package retention_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/sdk/authz"
)

// off is an application that does not stream its audit log.
func off(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"api":1,"application":"docs","orgRoot":true,"hasEpoch":false,"auditOptIn":false}`))
}

// filled retains events of two applications at instants from minutes to years
// before now, some of them at once.
func filled(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	now := w.Clock.Load()
	for _, id := range []string{"docs", "mail"} {
		r, l := w.serve(id), &liar{}
		r.Instead(func(rw http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/v1/ping" {
				_, _ = fmt.Fprintf(rw, `{"api":1,"application":%q,"orgRoot":true,"hasEpoch":false,"auditOptIn":true}`, id)
				return
			}
			l.serve(rw, q)
		})
		var entries []authz.AuditEntry
		for i := range 40 {
			entries = append(entries, authz.AuditEntry{ID: fmt.Sprintf("e%02d", i), At: now - int64(1)<<(39-i), Actor: fmt.Sprintf("u_%d", i%3),
				Action: []string{"grant.create", "grant.delete"}[i%2], Target: "g"})
		}
		l.set(entries...)
		if r := w.ingest(id); r.Ingested != 40 {
			t.Fatalf("%+v", r)
		}
	}
	return w
}

func ids(events []retention.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.ID+e.Application[:1])
	}
	return strings.Join(all, " ")
}

func TestEventsAreOrderedByInstantIDAndApplication(t *testing.T) {
	w := filled(t)
	all := w.retained(retention.Filter{})
	if len(all) != 80 || !strings.HasPrefix(ids(all), "e00d e00m e01d e01m ") {
		t.Errorf("%d: %s", len(all), ids(all))
	}
	var paged []retention.Event
	for after := ""; ; {
		page, next, err := w.Page(t.Context(), "acme", retention.Filter{}, after, 7)
		w.Must(err)
		paged = append(paged, page...)
		if after = next; after == "" {
			break
		}
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Error(diff)
	}
	if page, _, err := w.Page(t.Context(), "other", retention.Filter{}, "", 7); err != nil || len(page) != 0 {
		t.Errorf("another org reads %d events, %v", len(page), err)
	}
}

// Every filter gives the same by pages and, with room for all, as the newest.
func TestFiltersSelectTheSameInBothModes(t *testing.T) {
	w := filled(t)
	all := w.retained(retention.Filter{})
	from, end := all[20].At, all[60].At
	for name, f := range map[string]retention.Filter{
		"none":        {},
		"application": {Application: to("mail")},
		"actor":       {Actor: to("u_1")},
		"action":      {Action: to("grant.delete")},
		"nobody":      {Actor: to("")},
		"from":        {From: &from},
		"to":          {To: &end},
		"all at once": {Application: to("docs"), Actor: to("u_2"), Action: to("grant.create"), Target: to("g"), From: &from, To: &end},
		"nothing":     {From: &end, To: &from},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(e retention.Event) bool {
			not := func(w *string, have string) bool { return w != nil && *w != have }
			return not(f.Application, e.Application) || not(f.Actor, e.Actor) || not(f.Action, e.Action) || not(f.Target, e.Target) ||
				f.From != nil && e.At < *f.From || f.To != nil && e.At >= *f.To
		})
		if got := w.retained(f); ids(got) != ids(want) {
			t.Errorf("%s by pages: %s instead of %s", name, ids(got), ids(want))
		}
		for _, limit := range []int{1, 2, 5, 17, 1000} {
			newest, err := w.Recent(t.Context(), "acme", f, limit)
			w.Must(err)
			if part := want[max(len(want)-limit, 0):]; ids(newest) != ids(part) {
				t.Errorf("%s, the newest %d: %s instead of %s", name, limit, ids(newest), ids(part))
			}
		}
	}
}

func TestAnExportIsRecordedAndWhole(t *testing.T) {
	w := filled(t)
	f := retention.Filter{Application: to("docs")}
	events, err := w.Export(t.Context(), "u_1", "acme", f)
	w.Must(err)
	var got []retention.Event
	for e, err := range events {
		w.Must(err)
		got = append(got, e)
	}
	if diff := cmp.Diff(w.retained(f), got); diff != "" || len(got) != 40 {
		t.Errorf("%d events: %s", len(got), diff)
	}
	var entry authz.AuditEntry
	for row, err := range account.Log.All(t.Context(), w.Store, "acme") {
		w.Must(err)
		if row.Value.Action == "retention.export" {
			entry = row.Value
		}
	}
	if entry.Actor != "u_1" || entry.Target != "docs" || string(entry.Detail) != `{"application":"docs"}` {
		t.Errorf("the log has %+v", entry)
	}
}
