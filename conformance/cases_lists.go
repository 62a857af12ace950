package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// idList is a way to list rows, by their ids.
type idList struct {
	insert func(id string) storage.Change // nil when another list's rows are listed
	get    func(id string) string         // the id of the row with that id; nil likewise
	list   func(storage.Page) []string
	order  func(a, b string) int
}

// idLists are all lists with pages but those of grants and of audit entries. created
// is when the request of an id was.
func (w *world) idLists(created func(id string) int64) []idList {
	revokeID := func(r authz.Revoke) string { return r.ID }
	recordID := func(r storage.Record) string { return r.ID }
	requests := func(f storage.RequestFilter) func(storage.Page) []string {
		return func(p storage.Page) []string {
			page := storage.RequestPage{Limit: p.Limit}
			if p.After != "" {
				page.AfterCreatedAt, page.AfterID = created(p.After), p.After
			}
			return ids(rows(w, w.ListRequests(w.ctx, f, page)), func(q authz.Request) string { return q.ID })
		}
	}
	byCreation := func(a, b string) int { return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(a, b)) }
	lists := []idList{
		{
			insert: func(id string) storage.Change { return storage.InsertRevoke{Revoke: revoke(id, "u", "*")} },
			get:    func(id string) string { return one[authz.Revoke](w)(w.GetRevoke(w.ctx, id)).ID },
			list: func(p storage.Page) []string {
				return ids(rows(w, w.ListRevokes(w.ctx, storage.RevokeFilter{}, p)), revokeID)
			},
		},
		{list: func(p storage.Page) []string {
			return ids(rows(w, w.ListRevokes(w.ctx, storage.RevokeFilter{UserID: ptr("u")}, p)), revokeID)
		}},
		{
			insert: func(id string) storage.Change { return storage.UpsertRole{Role: authz.Role{ID: id}} },
			get:    func(id string) string { return w.role(id).ID },
			list: func(p storage.Page) []string {
				return ids(rows(w, w.ListRoles(w.ctx, p)), func(r authz.Role) string { return r.ID })
			},
		},
		{
			insert: func(id string) storage.Change { return storage.UpsertGroup{Group: authz.Group{ID: id}} },
			get:    func(id string) string { return w.group(id).ID },
			list: func(p storage.Page) []string {
				return ids(rows(w, w.ListGroups(w.ctx, p)), func(g authz.Group) string { return g.ID })
			},
		},
		{
			insert: func(id string) storage.Change { return storage.UpsertUser{User: user(id, in("all", id))} },
			get:    func(id string) string { return w.user(id).UserID },
			list: func(p storage.Page) []string {
				return ids(rows(w, w.ListUsers(w.ctx, storage.UserFilter{}, p)), func(u authz.User) string { return u.UserID })
			},
		},
		{list: func(p storage.Page) []string { return rows(w, w.ListUsersInGroup(w.ctx, "all", p)) }},
		{
			insert: func(id string) storage.Change { return storage.InsertRequest{Request: request(id, created(id))} },
			get:    func(id string) string { return one[authz.Request](w)(w.GetRequest(w.ctx, id)).ID },
			list:   requests(storage.RequestFilter{}),
			order:  byCreation,
		},
		{list: requests(storage.RequestFilter{RequesterUserID: ptr("u1")}), order: byCreation},
	}
	if w.has(storage.CapRecords) {
		lists = append(lists, idList{
			insert: func(id string) storage.Change {
				return storage.PutRecord{Record: storage.Record{Collection: "c", ID: id, Data: json.RawMessage(`1`), Keys: [4]string{"all", id}}}
			},
			get: func(id string) string { return one[storage.Record](w)(w.GetRecord(w.ctx, "c", id)).ID },
			list: func(p storage.Page) []string {
				return ids(rows(w, w.ListRecords(w.ctx, "c", storage.RecordFilter{}, p)), recordID)
			},
		}, idList{list: func(p storage.Page) []string {
			return ids(rows(w, w.ListRecords(w.ctx, "c", storage.RecordFilter{Index: 1, Value: "all"}, p)), recordID)
		}})
	}
	for i := range lists {
		if lists[i].order == nil {
			lists[i].order = cmp.Compare[string]
		}
	}
	return lists
}

// inserted writes a row of every kind for every id.
func (w *world) inserted(lists []idList, ids []string, more ...storage.Change) {
	for _, l := range lists {
		for _, id := range ids {
			if l.insert != nil {
				more = append(more, l.insert(id))
			}
		}
	}
	w.write(more...)
}

// paged lists by pages of limit.
func (w *world) paged(limit int, list func(storage.Page) []string) []string {
	var all []string
	for after := ""; ; {
		page := list(storage.Page{After: after, Limit: limit})
		if len(page) > limit {
			w.Fatalf("a page of %d rows, limit %d", len(page), limit)
		}
		if all = append(all, page...); len(page) < limit {
			return all
		}
		after = page[len(page)-1]
	}
}

var listCases = []storageCase{
	{ID: "B12b", Rule: "ids of every kind and the keys of sections are told apart, and listed, byte for byte", run: func(w *world) {
		lists := w.idLists(func(string) int64 { return 1 })
		w.inserted(lists, odd)
		sorted := slices.Sorted(slices.Values(odd))
		for _, l := range lists {
			w.same(sorted, l.list(storage.Page{}))
			for i, id := range sorted {
				if l.get != nil {
					w.same(id, l.get(id))
				}
				w.same(sorted[i+1:min(i+3, len(sorted))], l.list(storage.Page{After: id, Limit: 2}))
			}
		}
		var held []storage.Section
		for i, s := range odd {
			w.same([]string{s}, w.members(s))
			if w.has(storage.CapRecords) {
				found := rows(w, w.ListRecords(w.ctx, "c", storage.RecordFilter{Index: 2, Value: s}, storage.Page{}))
				w.same([]string{s}, ids(found, func(r storage.Record) string { return r.ID }))
			}
			w.do(storage.Commit{ID: s, At: int64(i)})
			held = append(held, w.acquire(s))
			w.same(s, held[i].Fence().Key)
		}
		for i, s := range odd {
			one[storage.CommitResult](w)(w.GetCommit(w.ctx, s))
			w.release(held[i])
		}
	}},
	{ID: "B15b", large: true, Rule: "of each kind 1100 rows are listed once, in order, whole and by pages", run: func(w *world) {
		const n = 1100
		lists := w.idLists(func(id string) int64 { // not in the order of ids, and in ties
			i, _ := strconv.Atoi(id)
			return int64((n - i) / 7)
		})
		names := make([]string, n)
		var versions []storage.Change
		var want []storage.CatalogVersion
		for i := range names {
			names[i] = fmt.Sprintf("%04d", i*739%n)
			versions = append(versions, w.ifHas(storage.CapHistory, putCatalog(int64(i*739%n), int64(i), `1`, nil))...)
			want = append(want, storage.CatalogVersion{Version: int64(i)})
		}
		w.inserted(lists, names, versions...)
		for _, l := range lists {
			slices.SortFunc(names, l.order)
			w.same(names, l.list(storage.Page{}))
			w.same(names, w.paged(600, l.list))
		}
		if w.has(storage.CapHistory) {
			got := rows(w, w.ListCatalogVersions(w.ctx))
			for i := range got {
				got[i].PublishedAt = 0
			}
			w.same(want, got)
		}
	}},
}
