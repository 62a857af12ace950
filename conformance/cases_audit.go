package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *named) audit(f storage.AuditFilter) string {
	return strings.Join(ids(rows(s.w, s.ListAudit(s.w.ctx, f)), func(e authz.AuditEntry) string { return e.ID }), " ")
}

func (s *named) append(list ...authz.AuditEntry) {
	for _, e := range list {
		s.do(storage.Commit{ID: commitID(), Audit: []authz.AuditEntry{e}})
	}
}

func cursor(at int64, id string) *authz.AuditCursor { return &authz.AuditCursor{At: at, ID: id} }

func fiveEntries(w *world) {
	w.append(entry("e", 30), entry("b", 20), entry("a", 20), entry("d", 10), entry("c", 20))
}

var needsAuditSubjects = storage.Capabilities{storage.CapAuditSubjects}

var auditCases = []storageCase{
	{ID: "B50", Rule: "entries appended out of time order are listed by (at, id)", run: func(w *world) {
		fiveEntries(w)
		w.same("d a b c e", w.audit(storage.AuditFilter{}))
		w.append(entry("Z", 20), entry("é", 20), entry("early", -5))
		w.same("early d Z a b c é e", w.audit(storage.AuditFilter{}))
	}},
	{ID: "B51", Rule: "without a cursor the last limit entries are listed, ascending", run: func(w *world) {
		fiveEntries(w)
		w.same("c e", w.audit(storage.AuditFilter{Limit: ptr(int64(2))}))
		w.same("d a b c e", w.audit(storage.AuditFilter{Limit: ptr(authz.MaxInstant)}))
	}},
	{ID: "B52", Rule: "a limit of zero or less lists nothing, with and without cursor", run: func(w *world) {
		fiveEntries(w)
		for _, limit := range []int64{0, -1} {
			w.same("", w.audit(storage.AuditFilter{Limit: &limit}))
			w.same("", w.audit(storage.AuditFilter{Limit: &limit, Cursor: cursor(0, "")}))
		}
	}},
	{ID: "B53", Rule: "pages by cursor through ties yield every entry exactly once", run: func(w *world) {
		fiveEntries(w)
		var pages []string
		for c := cursor(0, ""); ; {
			page := rows(w, w.ListAudit(w.ctx, storage.AuditFilter{Cursor: c, Limit: ptr(int64(2))}))
			if len(page) == 0 {
				break
			}
			pages = append(pages, strings.Join(ids(page, func(e authz.AuditEntry) string { return e.ID }), " "))
			c = ptr(page[len(page)-1].Cursor())
		}
		w.same([]string{"d a", "b c", "e"}, pages)
		w.same("b c e", w.audit(storage.AuditFilter{Cursor: cursor(20, "a")}))
	}},
	{ID: "B54", Rule: "target, actor, action, from and to select exactly, combined with each other and a cursor", run: func(w *world) {
		fiveEntries(w)
		other := authz.AuditEntry{ID: "x", At: 20, Actor: "ann", Action: "role.delete", Target: "t2"}
		w.append(other)
		w.same("x", w.audit(storage.AuditFilter{Target: ptr("t2")}))
		w.same("x", w.audit(storage.AuditFilter{Actor: ptr("ann"), Limit: ptr(int64(5))}))
		w.same("x", w.audit(storage.AuditFilter{Action: ptr("role.delete"), Cursor: cursor(20, "c")}))
		w.same("", w.audit(storage.AuditFilter{Target: ptr("t2"), Actor: ptr("root")}))
		w.same("a b c x", w.audit(storage.AuditFilter{From: ptr(int64(20)), To: ptr(int64(30))}))
		w.same("c x", w.audit(storage.AuditFilter{From: ptr(int64(20)), To: ptr(int64(30)), Limit: ptr(int64(2))}))
		w.same("b c", w.audit(storage.AuditFilter{From: ptr(int64(20)), To: ptr(int64(30)), Cursor: cursor(20, "a"), Limit: ptr(int64(2))}))
		w.same("a b", w.audit(storage.AuditFilter{From: ptr(int64(20)), Cursor: cursor(5, ""), Limit: ptr(int64(2))}))
		w.same("b c", w.audit(storage.AuditFilter{Target: ptr("t1"), To: ptr(int64(21)), Limit: ptr(int64(2))}))
		w.same("", w.audit(storage.AuditFilter{To: ptr(int64(20)), From: ptr(int64(20))}))
		w.same("", w.audit(storage.AuditFilter{Target: ptr("")}))
	}},
	{ID: "B55", Rule: "instants out of range in a filter are a validation error", run: func(w *world) {
		beyond := authz.MaxInstant + 1
		for _, f := range []storage.AuditFilter{{From: &beyond}, {To: ptr(-beyond)}, {Cursor: cursor(beyond, "")}, {Cursor: cursor(0, "\x00")}, {Limit: &beyond}} {
			w.code(storage.CodeValidation, listError(w.ListAudit(w.ctx, f)))
		}
	}},
	{ID: "B56", Rule: "hash, prevHash and detail come back untouched, absent ones absent", run: func(w *world) {
		full := entry("full", 1)
		full.Detail, full.PrevHash, full.Hash = json.RawMessage(`{"b":[1,2,{"é":null}],"n":1e2}`), "p", "h"
		isNull := entry("null", 2)
		isNull.Detail = json.RawMessage(`null`)
		bare := entry("z", 3)
		w.append(full, isNull, bare)
		got := rows(w, w.ListAudit(w.ctx, storage.AuditFilter{}))
		w.same([]authz.AuditEntry{full, isNull, bare}, got)
		if got[2].Detail != nil || got[1].Detail == nil {
			w.Fatalf("detail %q and %q", got[1].Detail, got[2].Detail)
		}
	}},
	{ID: "B56b", Rule: "of a detail longer than detailLimit at most the length is told, of any other nothing is left out, and the entries are the same; a commit takes no entry without its detail", run: func(w *world) {
		long := json.RawMessage(`{"ids":["` + strings.Repeat("é", 5000) + `"]}`)
		exact := json.RawMessage(`"` + strings.Repeat("x", 98) + `"`)
		all := []authz.AuditEntry{entry("a", 1), entry("b", 2), entry("c", 3), entry("d", 4), entry("e", 5)}
		all[0].Detail, all[1].Detail, all[2].Detail, all[3].Detail = long, exact, json.RawMessage("null"), long
		w.append(all...)
		limit, two := int64(100), int64(2)
		for _, f := range []storage.AuditFilter{{}, {Limit: &two}, {Cursor: cursor(1, "a")}, {Cursor: cursor(0, ""), Limit: &two}} {
			want := rows(w, w.ListAudit(w.ctx, f))
			f.DetailLimit = &limit
			got := rows(w, w.ListAudit(w.ctx, f))
			for i := range got {
				if got[i].Detail == nil && got[i].DetailBytes > 0 {
					want[min(i, len(want)-1)].Shorten(&limit)
				}
			}
			w.same(want, got)
		}
		w.same(all, rows(w, w.ListAudit(w.ctx, storage.AuditFilter{})))
		short := entry("f", 6)
		short.DetailBytes = 5
		w.refuse(storage.CodeValidation, storage.Commit{ID: "f", Audit: []authz.AuditEntry{short}})
	}},
	{ID: "B56c", Rule: "subject selects exactly the entries that are about it: who acted, whose record is the target, whom target or detail name at any depth; with every other member, and never by the half of a name", Needs: needsAuditSubjects, run: func(w *world) {
		about := func(id string, at int64, action, target, detail string) authz.AuditEntry {
			e := authz.AuditEntry{ID: id, At: at, Actor: "root", Action: action, Target: target}
			if detail != "" {
				e.Detail = json.RawMessage(detail)
			}
			return e
		}
		acted := about("b", 20, "role.create", "r", "")
		acted.Actor = "ann"
		w.do(storage.Commit{ID: "log", Audit: []authz.AuditEntry{
			about("d", 30, "grant.create_bulk", "g", `{"grants":[{"subject":"user:bob"},{"subject":"user:ann","more":{"deep":["group:é"]}}]}`),
			acted,
			about("a", 20, "user.set_groups", "ann", `{"groupIds":["é","staff"]}`),
			about("e", 40, "grant.create", "group:é", `{"subject":"directs:ann","note":"`+strings.Repeat("x", 300)+`"}`),
			about("c", 20, "role.update", "ann", `null`),
			about("f", 50, "user.set_manager", "annie", `{"managerUserId":"ann","user:x":"ANN","note":"user: ann"}`),
		}})
		w.append(about("g", -5, "subject.delete", "everyone", `"everyone"`))
		ann, nobody := ptr("user:ann"), ptr("user:nobody")
		for want, f := range map[string]storage.AuditFilter{
			"a b d e f": {Subject: ann}, "d": {Subject: ptr("user:bob")}, "a d e": {Subject: ptr("group:é")}, "a": {Subject: ptr("group:staff")},
			"e": {Subject: ptr("directs:ann")}, "f": {Subject: ptr("user:annie")}, "g": {Subject: ptr("everyone")},
			"e f": {Subject: ann, Limit: ptr(int64(2))}, "a b": {Subject: ann, Cursor: cursor(0, ""), Limit: ptr(int64(2))},
			"b d": {Subject: ann, Cursor: cursor(20, "a"), Limit: ptr(int64(2))}, "d e f": {Subject: ann, Cursor: cursor(20, "bb")},
			"a b d": {Subject: ann, From: ptr(int64(20)), To: ptr(int64(40))}, "b": {Subject: ann, Actor: ptr("ann")},
			"d e": {Subject: ann, From: ptr(int64(21)), To: ptr(int64(50)), Limit: ptr(int64(5))},
		} {
			w.same(want, w.audit(f))
		}
		w.same("a d e", w.audit(storage.AuditFilter{Subject: ptr("group:é"), DetailLimit: ptr(int64(100)), Actor: ptr("root")}))
		w.same("e", w.audit(storage.AuditFilter{Subject: ann, Action: ptr("grant.create")}))
		w.same("e", w.audit(storage.AuditFilter{Subject: ann, Action: ptr("grant.create"), Limit: ptr(int64(1))}))
		w.same("e", w.audit(storage.AuditFilter{Subject: ptr("group:é"), Target: ptr("group:é")}))
		w.same("f", w.audit(storage.AuditFilter{Subject: ann, Actor: ptr("root"), Limit: ptr(int64(1))}))
		for _, f := range []storage.AuditFilter{{Subject: nobody}, {Subject: nobody, Limit: ptr(int64(3))}, {Subject: ptr("")}, {Subject: ptr("ann")}, {Subject: ptr("user:an")}, {Subject: ptr("user:ANN")},
			{Subject: ptr("group:ann")}, {Subject: ann, Limit: ptr(int64(0))}, {Subject: ann, Target: ptr("t9")}, {Subject: ann, Cursor: cursor(50, "f")}, {Subject: ann, To: ptr(int64(20))}} {
			w.same("", w.audit(f))
		}
		w.code(storage.CodeValidation, listError(w.ListAudit(w.ctx, storage.AuditFilter{Subject: ptr("user:\x00")})))
		w.refuse(storage.CodeConflict, storage.Commit{ID: "taken", Audit: []authz.AuditEntry{about("h", 60, "grant.create", "user:ann", ""), about("b", 61, "grant.create", "user:ann", "")}})
		w.same("a b d e f", w.audit(storage.AuditFilter{Subject: ann}))
	}},
	{ID: "B56d", large: true, Rule: "entries of very many subjects, and more than a chunk about one, are listed whole and by pages", Needs: needsAuditSubjects, run: func(w *world) {
		many := entry("many", 5)
		var subjects []string
		for i := range 12_000 {
			subjects = append(subjects, fmt.Sprintf("user:%05d", i))
		}
		many.Detail = json.RawMessage(`["` + strings.Join(subjects, `","`) + `"]`)
		w.append(many)
		var batch []authz.AuditEntry
		for i := range 2300 {
			e := entry(fmt.Sprintf("%04d", i), int64(10+i/7))
			e.Target = "user:ann"
			batch = append(batch, e)
		}
		w.do(storage.Commit{ID: "c", Audit: batch})
		for _, s := range []string{subjects[0], subjects[4321], subjects[11_999]} {
			w.same("many", w.audit(storage.AuditFilter{Subject: &s}))
		}
		want := ids(batch, func(e authz.AuditEntry) string { return e.ID })
		ann := ptr("user:ann")
		w.same(strings.Join(want, " "), w.audit(storage.AuditFilter{Subject: ann}))
		w.same(strings.Join(want[300:], " "), w.audit(storage.AuditFilter{Subject: ann, Limit: ptr(int64(2000))}))
		w.same(strings.Join(want[700:1900], " "), w.audit(storage.AuditFilter{Subject: ann, Cursor: cursor(10+699/7, want[699]), Limit: ptr(int64(1200))}))
	}},
	{ID: "B57", large: true, Rule: "the newest entry is exact after concurrent appends", run: func(w *world) {
		w.Each(4, func(i int) {
			for n := range 50 {
				if _, err := w.Commit(w.ctx, storage.Commit{ID: commitID(), Audit: []authz.AuditEntry{entry(fmt.Sprintf("%d-%02d", i, n), int64(n/2))}}); err != nil {
					w.Errorf("append: %v", err)
				}
			}
		})
		w.same("3-49", w.audit(storage.AuditFilter{Limit: ptr(int64(1))}))
		w.same(200, len(rows(w, w.ListAudit(w.ctx, storage.AuditFilter{}))))
	}},
	{ID: "B14b", Rule: "a long log is listed in order beyond one chunk while it grows", run: func(w *world) {
		var batch []authz.AuditEntry
		for i := range 2300 {
			batch = append(batch, entry(fmt.Sprintf("%04d", i), int64(i/7)))
		}
		w.do(storage.Commit{ID: "c", Audit: batch})
		var grow sync.Once
		var got []string
		for e, err := range w.ListAudit(w.ctx, storage.AuditFilter{Cursor: cursor(0, "")}) {
			if err != nil {
				w.Fatalf("%v", err)
			}
			grow.Do(func() { w.append(entry("early", 0), entry("late", 1000)) })
			got = append(got, e.ID)
		}
		want := ids(batch, func(e authz.AuditEntry) string { return e.ID })
		if len(got) == len(want)+1 { // it may have come in time, or not
			want = append(want, "late")
		}
		w.same(want, got)
	}},
}
