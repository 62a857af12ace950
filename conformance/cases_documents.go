package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func fullRequest(id string) authz.Request {
	q := request(id, 5)
	q.RoleID, q.Pattern = "", "docs.read"
	q.Scope, q.ProposedExpiresAt = "docs.doc:1", authz.ExpiresAt(77)
	q.Justification = map[string]string{"why": "because", "née": "日本"}
	q.Stages = []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: "r"}, {Kind: authz.StageManagement, Layers: ptr(int64(3))}}
	q.Decisions = []authz.Decision{{StageIndex: 0, DecidedBy: "boss", Decision: "approve", At: 6, Note: "ok"}}
	q.State, q.StageIndex, q.DecidedAt = authz.RequestApproved, 1, ptr(int64(6))
	return q
}

func (s *named) requestIDs(f storage.RequestFilter, p storage.RequestPage) string {
	return strings.Join(ids(rows(s.w, s.ListRequests(s.w.ctx, f, p)), func(q authz.Request) string { return q.ID }), " ")
}

func (s *named) catalog() storage.CatalogHead {
	return one[storage.CatalogHead](s.w)(s.GetCatalog(s.w.ctx))
}

func putCatalog(version, publishedAt int64, document string, expect *int64) storage.PutCatalog {
	return storage.PutCatalog{Version: version, Document: json.RawMessage(document), PublishedAt: publishedAt, Expect: expect}
}

var documentCases = []storageCase{
	{ID: "B40", Rule: "a request round-trips with all fields, is replaced and deleted", run: func(w *world) {
		w.write(storage.InsertRequest{Request: fullRequest("q")})
		w.same(fullRequest("q"), one[authz.Request](w)(w.GetRequest(w.ctx, "q")))
		w.write(storage.UpdateRequest{Request: request("q", 9)})
		w.same(request("q", 9), one[authz.Request](w)(w.GetRequest(w.ctx, "q")))
		w.same("q", w.requestIDs(storage.RequestFilter{}, storage.RequestPage{}))
		w.same(ptr(request("q", 9)), w.write(storage.DeleteRequest{ID: "q"})[0].Request)
		none[authz.Request](w)(w.GetRequest(w.ctx, "q"))
		w.same("", w.requestIDs(storage.RequestFilter{}, storage.RequestPage{}))
	}},
	{ID: "B41", Rule: "requests are listed by state, requester, role and scope in order of (createdAt, id)", run: func(w *world) {
		set := func(id string, at int64, f func(*authz.Request)) {
			q := request(id, at)
			f(&q)
			w.write(storage.InsertRequest{Request: q})
		}
		set("c", 2, func(q *authz.Request) { q.Scope = "docs.doc:1" })
		set("b", 2, func(q *authz.Request) { q.State = authz.RequestDenied })
		set("a", 3, func(q *authz.Request) { q.RequesterUserID = "u2" })
		set("d", -1, func(q *authz.Request) { q.RoleID, q.Pattern = "", "docs.read" })
		w.same("d b c a", w.requestIDs(storage.RequestFilter{}, storage.RequestPage{}))
		w.same("b", w.requestIDs(storage.RequestFilter{State: ptr(authz.RequestDenied)}, storage.RequestPage{}))
		w.same("a", w.requestIDs(storage.RequestFilter{RequesterUserID: ptr("u2")}, storage.RequestPage{}))
		w.same("b c a", w.requestIDs(storage.RequestFilter{RoleID: ptr("r1")}, storage.RequestPage{}))
		w.same("", w.requestIDs(storage.RequestFilter{RoleID: ptr("")}, storage.RequestPage{}))
		w.same("c", w.requestIDs(storage.RequestFilter{Scope: ptr("docs.doc:1")}, storage.RequestPage{}))
		w.same("d b", w.requestIDs(storage.RequestFilter{}, storage.RequestPage{Limit: 2}))
		w.same("c a", w.requestIDs(storage.RequestFilter{}, storage.RequestPage{AfterCreatedAt: 2, AfterID: "b", Limit: 2}))
	}},
	{ID: "B42", Rule: "updating an absent request is not_found and writes nothing", run: func(w *world) {
		w.refuse(storage.CodeNotFound, changes(storage.UpsertRole{Role: fullRole("r")}, storage.UpdateRequest{Request: request("q", 1)}))
		none[authz.Request](w)(w.GetRequest(w.ctx, "q"))
		none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	}},
	{ID: "B43", Rule: "the catalog is none, then the head last put", run: func(w *world) {
		none[storage.CatalogHead](w)(w.GetCatalog(w.ctx))
		w.write(putCatalog(1, 100, `{"a":1}`, ptr(int64(0))))
		w.same(storage.CatalogHead{Version: 1, Document: json.RawMessage(`{"a":1}`)}, w.catalog())
		w.write(putCatalog(2, 200, `{"a":2}`, ptr(int64(1))))
		w.same(storage.CatalogHead{Version: 2, Document: json.RawMessage(`{"a":2}`)}, w.catalog())
	}},
	{ID: "B44", Rule: "putCatalog with a wrong expect is a conflict and leaves the head; of two that expect one head one wins", run: func(w *world) {
		w.refuse(storage.CodeConflict, changes(putCatalog(2, 1, `{}`, ptr(int64(1)))))
		w.write(putCatalog(1, 1, `{}`, nil))
		if refusal := w.refuse(storage.CodeConflict, changes(putCatalog(2, 1, `{}`, ptr(int64(0))))); refusal.Version != 1 {
			w.Fatalf("current version %d", refusal.Version)
		}
		w.same(int64(1), w.catalog().Version)
		if w.has(storage.CapHistory) {
			none[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, 2))
		}
		stores := []*named{w.named, w.another("")}
		for head := int64(1); head <= 10; head++ {
			_, errs := w.race(stores, changes(putCatalog(head+1, 1, `"a"`, &head)), changes(putCatalog(head+1, 1, `"b"`, &head)))
			w.oneWins(errs)
		}
	}},
	{ID: "B45", large: true, Rule: "a 6 MiB document with Unicode and nested members is equal by value", run: func(w *world) {
		document := fmt.Sprintf(`{"z":[1.5e300,9007199254740993,{"née":"%s"}],"a":{"b":{"c":[null,true,"\ud83d\ude00\n"]}}}`, strings.Repeat("日本", 1<<20))
		w.write(putCatalog(1, 1, document, nil))
		w.same(json.RawMessage(document), w.catalog().Document)
	}},
	{ID: "B46", Rule: "history keeps both versions with their instants, listed ascending", Needs: storage.Capabilities{storage.CapHistory}, run: func(w *world) {
		w.write(putCatalog(2, 200, `{"v":2}`, nil))
		w.write(putCatalog(1, 100, `{"v":1}`, nil))
		w.same([]storage.CatalogVersion{{Version: 1, PublishedAt: 100}, {Version: 2, PublishedAt: 200}}, rows(w, w.ListCatalogVersions(w.ctx)))
		w.same(storage.CatalogVersion{Version: 1, PublishedAt: 100, Document: json.RawMessage(`{"v":1}`)},
			one[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, 1)))
		none[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, 99))
		w.write(putCatalog(1, 300, `{"v":"again"}`, nil))
		w.same(int64(300), one[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, 1)).PublishedAt)
	}},
	{ID: "B48", Rule: "the import manifest is none, then what was put; of two that expect one head one wins; the catalog is untouched", Needs: storage.Capabilities{storage.CapImports}, run: func(w *world) {
		none[storage.ImportsHead](w)(w.GetImports(w.ctx))
		w.write(storage.PutImports{Version: 3, Manifest: json.RawMessage(`{"m":1}`), Expect: ptr(int64(0))})
		w.same(storage.ImportsHead{Version: 3, Manifest: json.RawMessage(`{"m":1}`)}, one[storage.ImportsHead](w)(w.GetImports(w.ctx)))
		if r := w.refuse(storage.CodeConflict, changes(storage.PutImports{Version: 4, Manifest: json.RawMessage(`{}`), Expect: ptr(int64(2))})); r.Version != 3 {
			w.Fatalf("current version %d", r.Version)
		}
		stores := []*named{w.named, w.another("")}
		for head := int64(3); head < 13; head++ {
			put := func(manifest string) storage.Commit {
				return changes(storage.PutImports{Version: head + 1, Manifest: json.RawMessage(manifest), Expect: &head})
			}
			_, errs := w.race(stores, put(`"a"`), put(`"b"`))
			w.oneWins(errs)
		}
		none[storage.CatalogHead](w)(w.GetCatalog(w.ctx))
	}},
	{ID: "B49", Rule: "scope parents are unknown, a recorded root, replaced, deleted, and answered for 1000 scopes at once", Needs: storage.Capabilities{storage.CapAncestry}, run: func(w *world) {
		parents := func() map[string][]string {
			got, err := w.GetScopeParents(w.ctx, []string{"docs.doc:1", "unknown", "docs.doc:1"})
			if err != nil {
				w.Fatalf("%v", err)
			}
			return got
		}
		w.same(map[string][]string{}, parents())
		w.write(storage.PutScopeParents{Scope: "docs.doc:1"})
		if got, found := parents()["docs.doc:1"]; !found || got == nil || len(got) != 0 {
			w.Fatalf("a recorded root came back as %v, %v", got, found)
		}
		w.write(storage.PutScopeParents{Scope: "docs.doc:1", Parents: []string{"z", "a"}})
		w.same(map[string][]string{"docs.doc:1": {"z", "a"}}, parents())
		w.write(storage.DeleteScopeParents{Scope: "docs.doc:1"})
		w.same(map[string][]string{}, parents())
		many, scopes, want := changes(), make([]string, 1000), map[string][]string{}
		for i := range scopes {
			scopes[i] = fmt.Sprintf("docs.doc:%d", i)
			want[scopes[i]] = []string{fmt.Sprint(i)}
			many.Changes = append(many.Changes, storage.PutScopeParents{Scope: scopes[i], Parents: want[scopes[i]]})
		}
		w.do(many)
		got, err := w.GetScopeParents(w.ctx, scopes)
		w.code("", err)
		w.same(want, got)
		_, err = w.GetScopeParents(w.ctx, make([]string, 1001))
		w.code(storage.CodeTooLarge, err)
	}},
	{ID: "B64", Rule: "putRecord creates at version 1, counts on, and answers a stale expect with the current version; of eight that expect one version one wins", Needs: storage.Capabilities{storage.CapRecords}, run: func(w *world) {
		put := func(expect int64, data string) storage.PutRecord {
			return storage.PutRecord{Expect: expect, Record: storage.Record{Collection: "c", ID: "i", Version: 99, Data: json.RawMessage(data), UpdatedAt: 7}}
		}
		w.same(int64(1), w.write(put(0, `1`))[0].Version)
		w.same(int64(2), w.write(put(1, `2`))[0].Version)
		for _, stale := range []int64{0, 1, 3, -1} {
			if r := w.refuse(storage.CodeConflict, changes(put(stale, `3`))); r.Version != 2 {
				w.Fatalf("current version %d", r.Version)
			}
			if r := w.refuse(storage.CodeConflict, changes(storage.DeleteRecord{Collection: "c", ID: "i", Expect: stale})); r.Version != 2 {
				w.Fatalf("current version %d", r.Version)
			}
		}
		w.same(storage.Record{Collection: "c", ID: "i", Version: 2, Data: json.RawMessage(`2`), UpdatedAt: 7},
			one[storage.Record](w)(w.GetRecord(w.ctx, "c", "i")))
		puts := make([]storage.Commit, 8)
		for i := range puts {
			puts[i] = changes(put(2, fmt.Sprint(i)))
		}
		_, errs := w.race([]*named{w.named, w.another("")}, puts...)
		w.oneWins(errs)
		w.write(storage.DeleteRecord{Collection: "c", ID: "i", Expect: 3})
		none[storage.Record](w)(w.GetRecord(w.ctx, "c", "i"))
		w.write(storage.DeleteRecord{Collection: "c", ID: "i", Expect: 0})
	}},
	{ID: "B65", Rule: "records are listed by index key, paged, exact and by id", Needs: storage.Capabilities{storage.CapRecords}, run: func(w *world) {
		for i := range 25 {
			r := storage.Record{Collection: "c", ID: fmt.Sprintf("%02d", i), Data: json.RawMessage(`{}`)}
			r.Keys = [4]string{1: "even", 3: fmt.Sprint(i)}
			if i%2 == 1 {
				r.Keys[1] = "evenly"
			}
			w.write(storage.PutRecord{Record: r}, storage.PutRecord{Record: storage.Record{Collection: "c2", ID: r.ID, Data: r.Data, Keys: r.Keys}})
		}
		list := func(f storage.RecordFilter, p storage.Page) []string {
			return ids(rows(w, w.ListRecords(w.ctx, "c", f, p)), func(r storage.Record) string { return r.ID })
		}
		w.same(13, len(list(storage.RecordFilter{Index: 2, Value: "even"}, storage.Page{})))
		w.same([]string{"00", "02", "04"}, list(storage.RecordFilter{Index: 2, Value: "even"}, storage.Page{Limit: 3}))
		w.same([]string{"06", "08"}, list(storage.RecordFilter{Index: 2, Value: "even"}, storage.Page{After: "05", Limit: 2}))
		w.same([]string{"07"}, list(storage.RecordFilter{Index: 4, Value: "7"}, storage.Page{}))
		w.same([]string{}, list(storage.RecordFilter{Index: 1, Value: ""}, storage.Page{}))
		w.same(25, len(list(storage.RecordFilter{}, storage.Page{})))
		w.same([]string{"23", "24"}, list(storage.RecordFilter{}, storage.Page{After: "22"}))
		w.code(storage.CodeValidation, listError(w.ListRecords(w.ctx, "c", storage.RecordFilter{Index: 5}, storage.Page{})))
		w.write(storage.PutRecord{Expect: 1, Record: storage.Record{Collection: "c", ID: "00", Data: json.RawMessage(`{}`), Keys: [4]string{"moved"}}})
		w.same([]string{"02"}, list(storage.RecordFilter{Index: 2, Value: "even"}, storage.Page{Limit: 1}))
		w.same([]string{"00"}, list(storage.RecordFilter{Index: 1, Value: "moved"}, storage.Page{}))
	}},
	{ID: "B82", Rule: "of two writers that expect one state of a request, updating or deleting it, one wins and the other is refused", run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		expect := &storage.RequestExpect{State: authz.RequestPending}
		for round := range 30 {
			id := fmt.Sprintf("q%d", round)
			w.write(storage.InsertRequest{Request: request(id, 1)})
			update := storage.UpdateRequest{Request: fullRequest(id), Expect: expect}
			deletion := storage.DeleteRequest{ID: id, Expect: expect}
			if round%2 == 0 {
				_, errs := w.race(stores, changes(update), changes(deletion))
				slices.Reverse(stores)
				if errs[0] != nil {
					w.code(storage.CodeNotFound, errs[0])
					w.code("", errs[1])
					none[authz.Request](w)(w.GetRequest(w.ctx, id))
					continue
				}
				w.code(storage.CodeConflict, errs[1])
			} else {
				_, errs := w.race(stores, changes(update), changes(update))
				w.oneWins(errs)
			}
			w.same(fullRequest(id), one[authz.Request](w)(w.GetRequest(w.ctx, id)))
			w.refuse(storage.CodeConflict, changes(deletion))
			w.refuse(storage.CodeConflict, changes(storage.DeleteRequest{ID: id, Expect: &storage.RequestExpect{State: authz.RequestApproved}}))
			w.write(storage.DeleteRequest{ID: id, Expect: &storage.RequestExpect{State: authz.RequestApproved, StageIndex: 1}})
			w.refuse(storage.CodeNotFound, changes(storage.DeleteRequest{ID: id, MustExist: true}))
			w.write(deletion)
		}
	}},
}
