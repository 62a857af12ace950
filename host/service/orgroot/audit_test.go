package orgroot_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Pages backwards, put together, are the log: of any filter and any size, also where many
// entries are of one instant. So are those of an export.
func TestPagesOfALogAreTheLog(t *testing.T) {
	w := newWorld(t)
	a, root := w.by(t, "olga"), authz.AdminProvenance("root")
	for _, id := range []string{"g", "h"} {
		_, err := w.docs.CreateGroup(ctx, provider.GroupInput{ID: &id, Name: id}, root)
		must(t, err)
	}
	for i := range 700 {
		user := fmt.Sprint("u", i%3)
		switch by := authz.AdminProvenance(fmt.Sprint("u", i%5)); i % 4 {
		case 0:
			must(t, w.docs.SetGroupMembership(ctx, user, []string{[]string{"g", "h"}[i%2]}, by))
		case 1:
			must(t, w.docs.SetUserActive(ctx, user, true, by))
		case 2:
			_, err := w.docs.UpdateGroup(ctx, "g", provider.GroupUpdate{}, by)
			must(t, err)
		case 3:
			_, err := w.docs.CreateGrant(ctx, provider.GrantInput{Subject: "user:" + user, Pattern: "docs.files.read", Scope: "docs.doc:1"}, by)
			must(t, err)
		}
	}
	var many []provider.GrantInput // whose entries, when the group goes, are of one instant
	for i := range 300 {
		many = append(many, provider.GrantInput{Subject: "group:h", Pattern: "docs.files.read", Scope: fmt.Sprintf("docs.doc:%d", i)})
	}
	_, err := w.docs.CreateGrants(ctx, many, root)
	must(t, err)
	must(t, w.docs.DeleteGroup(ctx, "h", root))
	must(t, w.docs.SetUserActive(ctx, "u1", false, root))
	var log []authz.AuditEntry
	instants := map[int64]int{}
	for e, err := range w.docs.ListAuditEvents(ctx, provider.AuditQuery{}) {
		must(t, err)
		log = append(log, e)
		instants[e.At]++
	}
	if most := slices.Max(slices.Collect(maps.Values(instants))); most < len(many) {
		t.Fatalf("at most %d entries are of one instant", most)
	}
	rapid.Check(t, func(t *rapid.T) {
		w.plain.Store(rapid.Bool().Draw(t, "sifts?"))
		some := func(name string, of ...string) *string {
			if v := rapid.SampledFrom(append(of, "")).Draw(t, name); v != "" {
				return &v
			}
			return nil
		}
		f := orgroot.AuditFilter{Actor: some("actor", "u1", "nobody"), Action: some("action", "user.*", "user.set_active", "grant.*"), Export: rapid.Bool().Draw(t, "export?")}
		if subject := some("subject", "user:u2", "group:h", "group:nobody"); subject != nil {
			about, _ := audited.Of(*subject)
			f.About = &about
		}
		if rapid.Bool().Draw(t, "short?") {
			f.DetailLimit = new(int64(40))
		}
		if rapid.Bool().Draw(t, "from?") {
			f.From = new(rapid.SampledFrom(log).Draw(t, "from").At)
		}
		if rapid.Bool().Draw(t, "to?") {
			f.To = new(rapid.SampledFrom(log).Draw(t, "to").At)
		}
		want := []string{}
		for _, e := range log {
			if (f.Actor == nil || *f.Actor == e.Actor) && (f.Action == nil || audited.Action(*f.Action, e.Action)) && (f.About == nil || f.About.Named(e)) &&
				(f.From == nil || e.At >= *f.From) && (f.To == nil || e.At < *f.To) {
				want = append(want, e.ID)
			}
		}
		got, p := []string{}, orgroot.Page{Limit: rapid.SampledFrom([]int{3, 40, 100, 1000}).Draw(t, "limit")}
		for pages := 0; ; pages++ {
			list, err := w.root.Audit(ctx, a, f, p)
			if err != nil {
				t.Fatal(err)
			}
			ids := []string{}
			for _, e := range list.Rows {
				ids = append(ids, e.ID)
			}
			if len(ids) > p.Limit || pages > len(log) {
				t.Fatalf("%d of %d, page %d", len(ids), p.Limit, pages)
			}
			if f.Export {
				got = append(got, ids...)
			} else {
				got = append(ids, got...)
			}
			if p.After = list.Next; p.After == "" {
				break
			}
		}
		if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
			t.Fatalf("entries (-want +got):\n%s", diff)
		}
	})
	for _, e := range []authz.AuditEntry{log[0], log[len(log)/2], log[len(log)-1]} {
		if got, err := w.root.AuditEntry(ctx, a, e.At, e.ID); err != nil || got.ID != e.ID || !slices.Equal(got.Detail, e.Detail) {
			t.Errorf("one entry: %+v, %v; want %+v", got, err, e)
		}
		if _, err := w.root.AuditEntry(ctx, a, e.At+1, e.ID); said(t, err) != "ProviderWriteRejectedError not_found" {
			t.Errorf("at another instant: %v", err)
		}
	}
}

// A page that looks for a few entries looks at a bounded number, and says where to go on.
func TestAPageOfALogLooksAtABoundedNumber(t *testing.T) {
	w := newWorld(t)
	a, root := w.by(t, "olga"), authz.AdminProvenance("root")
	must(t, w.docs.SetUserActive(ctx, "rare", true, root))
	for range 2_100 {
		must(t, w.docs.SetUserActive(ctx, "u", true, root))
	}
	about, _ := audited.Of("user:rare")
	f := orgroot.AuditFilter{About: &about}
	if found, err := w.root.Audit(ctx, a, f, orgroot.Page{Limit: 10}); err != nil || len(found.Rows) != 1 || found.Next != "" {
		t.Fatalf("from an index: %+v, %v", found, err)
	}
	w.plain.Store(true)
	first, err := w.root.Audit(ctx, a, f, orgroot.Page{Limit: 10})
	must(t, err)
	if len(first.Rows) != 0 || first.Next == "" {
		t.Fatalf("%d entries, next %q", len(first.Rows), first.Next)
	}
	second, err := w.root.Audit(ctx, a, f, orgroot.Page{Limit: 10, After: first.Next})
	must(t, err)
	if len(second.Rows) != 1 || second.Next != "" {
		t.Fatalf("%d entries, next %q", len(second.Rows), second.Next)
	}
}

// An application that answers another log than the one asked for is not believed.
func TestALogThatLiesIsRefused(t *testing.T) {
	const protocol = "ProviderTransportError application_protocol_error"
	entry := func(at int, id string) string {
		return fmt.Sprintf(`{"id":%q,"at":%d,"actor":"x","action":"a.b","target":"t"}`, id, at)
	}
	for name, c := range map[string]struct {
		after string
		rows  []string
	}{
		"out of order":         {"", []string{entry(2, "b"), entry(1, "a")}},
		"twice":                {"", []string{entry(1, "a"), entry(1, "a")}},
		"more than asked for":  {"", []string{entry(1, "a"), entry(2, "a"), entry(3, "a"), entry(4, "a")}},
		"after the place":      {"5/b", []string{entry(7, "a")}},
		"of another instant":   {"5/b", []string{entry(4, "a")}},
		"of a place backwards": {"5/b", []string{entry(5, "b"), entry(5, "a")}},
	} {
		w := newWorld(t)
		a := w.by(t, "olga")
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, `{"events":[`+strings.Join(c.rows, ",")+`]}`)
		})
		if _, err := w.root.Audit(ctx, a, orgroot.AuditFilter{}, orgroot.Page{Limit: 2, After: c.after}); said(t, err) != protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := newWorld(t)
	a, about := w.by(t, "olga"), audited.About("user:u")
	w.answer(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"events":[`+entry(1, "a")+`]}`)
	})
	if _, err := w.root.Audit(ctx, a, orgroot.AuditFilter{About: &about}, orgroot.Page{Limit: 2}); said(t, err) != "ProviderTransportError application_protocol_error" {
		t.Errorf("about somebody else: %v", err)
	}
}

// Long details are left out by the application, or here when it is of an older version.
func TestLongDetailsOfALogAreLeftOut(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	in := make([]provider.GrantInput, 100)
	for i := range in {
		in[i] = provider.GrantInput{Subject: fmt.Sprintf("user:u%d", i), Pattern: "billing.files.read", Scope: "billing.doc:1"}
	}
	_, err := w.billing.CreateGrants(ctx, in, authz.AdminProvenance("root"))
	must(t, err)
	limit := int64(100)
	listed := func(f orgroot.AuditFilter) authz.AuditEntry {
		t.Helper()
		f.Action = new("grant.create_bulk")
		l, err := w.root.AppAudit(ctx, a, "billing", f, orgroot.Page{Limit: 10})
		must(t, err)
		if len(l.Rows) != 1 {
			t.Fatalf("%v", l)
		}
		return l.Rows[0]
	}
	whole := listed(orgroot.AuditFilter{})
	if whole.DetailBytes != 0 || len(whole.Detail) < 1000 {
		t.Fatalf("%+v", whole)
	}
	want := whole
	want.Shorten(&limit)
	about, _ := audited.Of("user:u7")
	for _, older := range []bool{false, true} {
		w.older.Store(older)
		for name, f := range map[string]orgroot.AuditFilter{"newest": {}, "export": {Export: true}, "about somebody": {About: &about}} {
			f.DetailLimit = &limit
			if got := listed(f); !cmp.Equal(got, want) {
				t.Errorf("%s, older %t: %+v, not %+v", name, older, got, want)
			}
		}
	}
}
