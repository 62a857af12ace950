package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// two gives a case two partitions of one backend.
func two(run func(w *world, a, b *named)) func(*world) {
	return func(w *world) { run(w, w.open("A"), w.open("B")) }
}

// both gives a case two partitions that hold rows of the same ids.
func both(run func(w *world, a, b *named)) func(*world) {
	return two(func(w *world, a, b *named) {
		a.everything("A")
		b.everything("B")
		run(w, a, b)
	})
}

var isolationCases = []storageCase{
	{ID: "I01", Rule: "a list without a filter shows the rows of its partition only", run: both(func(w *world, a, b *named) {
		w.same([]string{"only-A", "x"}, a.grantIDs(storage.GrantFilter{}))
		w.same([]string{"only-B", "x"}, b.grantIDs(storage.GrantFilter{}))
		w.same([]string{"x"}, a.grantIDs(storage.GrantFilter{Subject: ptr("user:u"), Scope: ptr("docs.doc:A")}))
		w.same([]string{}, a.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:B")}))
		w.same([]string{}, a.grantIDs(storage.GrantFilter{Subjects: []string{"group:B"}}))
	})},
	{ID: "I02", Rule: "revokes, roles, groups, users and requests are listed in their partition only", run: both(func(w *world, a, b *named) {
		a.ownLists("A")
		b.ownLists("B")
	})},
	{ID: "I03", Rule: "counts, with and without filters, are of the partition only", run: both(func(w *world, a, b *named) {
		a.ownCounts("A")
		b.ownCounts("B")
	})},
	{ID: "I04", Rule: "ids of another partition are none", run: two(func(w *world, a, b *named) {
		b.everything("B")
		a.empty()
	})},
	{ID: "I05", Rule: "deleting ids of another partition is no error, returns none and leaves its rows", run: two(func(w *world, a, b *named) {
		b.everything("B")
		deletes := []storage.Change{storage.DeleteGrant{ID: "x"}, storage.DeleteRevoke{ID: "x"}, storage.DeleteRequest{ID: "x"},
			storage.DeleteRole{ID: "r", Unnamed: true}, storage.DeleteGroup{ID: "g"}, storage.DeleteUser{UserID: "u"}}
		deletes = append(deletes, w.ifHas(storage.CapAncestry, storage.DeleteScopeParents{Scope: "docs.doc:1"})...)
		deletes = append(deletes, w.ifHas(storage.CapRecords, storage.DeleteRecord{Collection: "c", ID: "x"})...)
		for _, r := range a.write(deletes...) {
			w.same(storage.ChangeResult{}, r)
		}
		a.refuse(storage.CodeNotFound, changes(storage.DeleteGrant{ID: "x", MustExist: true}))
		b.only("B")
	})},
	{ID: "I06", Rule: "the same id in two partitions is two rows", run: both(func(w *world, a, b *named) {
		a.only("A")
		b.only("B")
		a.refuse(storage.CodeConflict, changes(storage.InsertGrant{Grant: grant("x", "user:u")}))
		a.write(storage.InsertGrant{Grant: grant("only-B", "user:u")})
		b.only("B")
	})},
	{ID: "I07", Rule: "writing an id leaves the row, edges and memberships of another partition", run: both(func(w *world, a, b *named) {
		a.write(storage.UpsertUser{User: user("u", in("other"))}, storage.UpsertGroup{Group: authz.Group{ID: "g", Name: "changed"}},
			storage.UpsertRole{Role: authz.Role{ID: "r", Name: "changed"}}, storage.PatchUser{UserID: "u-A", Active: ptr(false)},
			storage.UpdateRequest{Request: request("x", 9)})
		a.write(storage.PatchUser{UserID: "u-B", GroupIDs: &[]string{"g"}})
		b.only("B")
	})},
	{ID: "I08", Rule: "direct members, and the deletion of a user and a group, are of the partition only", run: both(func(w *world, a, b *named) {
		w.same([]string{"u", "u-A"}, a.members("g"))
		w.same([]string{"u", "u-B"}, b.members("g"))
		a.write(storage.DeleteUser{UserID: "u"}, storage.DeleteGroup{ID: "g"}, storage.DeleteGrant{ID: "x"}, storage.DeleteRole{ID: "r"})
		w.same([]string{"u-A"}, a.members("g"))
		b.only("B")
	})},
	{ID: "I09", Rule: "readAccess with equal subjects, with and without expand, answers its partition's rows, edges and roles", run: both(func(w *world, a, b *named) {
		a.ownAccess("A")
		b.ownAccess("B")
	})},
	{ID: "I10", Rule: "each partition has its own catalog head and version count", run: two(func(w *world, a, b *named) {
		a.write(putCatalog(1, 1, `"A1"`, ptr(int64(0))))
		none[storage.CatalogHead](w)(b.GetCatalog(w.ctx))
		b.write(putCatalog(1, 1, `"B1"`, ptr(int64(0))))
		a.write(putCatalog(2, 2, `"A2"`, ptr(int64(1))))
		w.same(storage.CatalogHead{Version: 2, Document: json.RawMessage(`"A2"`)}, a.catalog())
		w.same(storage.CatalogHead{Version: 1, Document: json.RawMessage(`"B1"`)}, b.catalog())
	})},
	{ID: "I11", Rule: "each partition has its own catalog history and imports", run: both(func(w *world, a, b *named) {
		if w.has(storage.CapHistory) {
			a.write(putCatalog(2, 5, `"A2"`, nil))
			w.same(2, len(rows(w, a.ListCatalogVersions(w.ctx))))
			w.same([]storage.CatalogVersion{{Version: 1, PublishedAt: 1}}, rows(w, b.ListCatalogVersions(w.ctx)))
			none[storage.CatalogVersion](w)(b.GetCatalogVersion(w.ctx, 2))
		}
		if w.has(storage.CapImports) {
			w.same(json.RawMessage(`"A"`), one[storage.ImportsHead](w)(a.GetImports(w.ctx)).Manifest)
			w.same(json.RawMessage(`"B"`), one[storage.ImportsHead](w)(b.GetImports(w.ctx)).Manifest)
		}
	})},
	{ID: "I12", Rule: "events of two partitions are numbered from 1 in each, and heads are independent", Needs: storage.Capabilities{storage.CapEvents}, run: two(func(w *world, a, b *named) {
		w.same(int64(1), a.emit(1, "a1").UpTo.Seq)
		w.same(int64(1), b.emit(1, "b1").UpTo.Seq)
		w.same(int64(3), a.emit(1, "a2", "a3").UpTo.Seq)
		w.same([]int64{3, 1}, []int64{a.head(), b.head()})
	})},
	{ID: "I13", Rule: "a page of events holds those of the partition only", Needs: storage.Capabilities{storage.CapEvents}, run: two(func(w *world, a, b *named) {
		a.emit(1, "a1")
		b.emit(1, "b1")
		a.emit(1, "a2", "a3")
		w.same("a1 a2 a3 →3", a.since(0, 10))
		w.same("b1 →1", b.since(0, 10))
		b.refuse(storage.CodeConflict, storage.Commit{ID: commitID(), Requires: []storage.Requirement{storage.RequireHead{Seq: 3}}})
	})},
	{ID: "I14", Rule: "pruning one partition's events leaves log and mark of the other", Needs: storage.Capabilities{storage.CapEvents}, run: two(func(w *world, a, b *named) {
		a.emit(1, "a1", "a2", "a3")
		b.emit(1, "b1")
		w.same(int64(3), a.prune(storage.PruneEvents{KeepRows: ptr(int64(0)), Before: ptr(int64(5))}))
		w.same("gap", a.since(0, 10))
		w.same("b1 →1", b.since(0, 10))
	})},
	{ID: "I15", Rule: "audit lists, filters and cursor walks show the partition only", run: both(func(w *world, a, b *named) {
		for mark, s := range map[string]*named{"A": a, "B": b} {
			for _, f := range []storage.AuditFilter{{}, {Cursor: cursor(-1, "")}, {Actor: &mark}, {Target: ptr("t")}, {Limit: ptr(int64(9))}} {
				w.same([]authz.AuditEntry{{ID: "x", Actor: mark, Target: "t"}}, rows(w, s.ListAudit(w.ctx, f)))
			}
		}
	})},
	{ID: "I16", Rule: "the newest audit entry is the partition's own, though another's is newer", run: two(func(w *world, a, b *named) {
		a.append(entry("a1", 1), entry("a2", 2))
		b.append(entry("b1", 100))
		w.same("a2", a.audit(storage.AuditFilter{Limit: ptr(int64(1))}))
		w.same("b1", b.audit(storage.AuditFilter{Limit: ptr(int64(1))}))
	})},
	{ID: "I17", Rule: "metrics of equal keys are recorded, read and pruned apart", Needs: storage.Capabilities{storage.CapMetrics}, run: two(func(w *world, a, b *named) {
		a.count(bucket(0, "grant", "g", "matched", 1))
		b.count(bucket(0, "grant", "g", "matched", 2))
		a.count(bucket(0, "grant", "g", "matched", 4))
		a.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 5))
		b.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 2))
		w.same(int64(1), a.pruneMetrics(5))
		a.metrics(storage.MetricFilter{Dimension: "grant"})
		b.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 2))
	})},
	{ID: "I18", Rule: "a section held in one partition is free in another", run: two(func(w *world, a, b *named) {
		inA := a.acquire("groups")
		for range 3 {
			w.release(b.acquire("groups"))
		}
		if err := b.Close(); err != nil {
			w.Fatalf("%v", err)
		}
		w.renew(inA)
		a.busy("groups")
	})},
	{ID: "I19", Rule: "a fence of one partition is worthless in another", run: two(func(w *world, a, b *named) {
		inA := a.acquire("groups")
		b.refuse(storage.CodeStaleFence, fenced(inA, storage.UpsertRole{Role: fullRole("r")}))
		inB := b.acquire("groups")
		if inA.Fence() != inB.Fence() { // the clock may have given both the same number
			b.refuse(storage.CodeStaleFence, fenced(inA, storage.UpsertRole{Role: fullRole("r")}))
		}
		none[authz.Role](w)(b.GetRole(w.ctx, "r"))
		for range 3 { // one's fences move on without the other's
			w.release(inB)
			inB = b.acquire("groups")
		}
		a.do(fenced(inA, storage.UpsertRole{Role: fullRole("r")}))
		b.do(fenced(inB, storage.UpsertRole{Role: fullRole("r")}))
	})},
	{ID: "I20", Rule: "the same commit id is applied in both partitions", run: two(func(w *world, a, b *named) {
		c := storage.Commit{ID: "same", Changes: []storage.Change{storage.UpsertRole{Role: fullRole("r")}}}
		if a.do(c).Replayed || b.do(c).Replayed {
			w.Want("applied in each", "replayed")
		}
		other := storage.Commit{ID: "other", Changes: []storage.Change{storage.UpsertRole{Role: fullRole("r2")}}}
		a.do(other)
		none[storage.CommitResult](w)(b.GetCommit(w.ctx, "other"))
		other.Changes = nil
		b.do(other)
		w.same(fullRole("r"), b.role("r"))
	})},
	{ID: "I21", Rule: "records and scope parents of equal ids are independent", run: both(func(w *world, a, b *named) {
		a.ownDocuments("A")
		b.ownDocuments("B")
		if w.has(storage.CapRecords) {
			a.write(putRecord("x", `"changed"`, 1))
			b.write(storage.DeleteRecord{Collection: "c", ID: "x", Expect: 1})
			w.same(int64(2), one[storage.Record](w)(a.GetRecord(w.ctx, "c", "x")).Version)
		}
	})},
	{ID: "I22", Rule: "a partition name that is none is refused at opening", run: func(w *world) {
		for _, name := range []string{"a b", "a/b", "a.b", "$a", "é", "a\x00", strings.Repeat("a", 64)} {
			if _, err := w.driver.Open(w.ctx, name); storage.CodeOf(err) != storage.CodeValidation {
				w.Want(fmt.Sprintf("partition %q refused with validation", name), "%v", err)
			}
		}
	}},
	{ID: "I22b", Rule: "names of up to 63 letters, digits, _ and -, reserved ones too, are opened", run: func(w *world) {
		long := w.partition(strings.Repeat("z", 40))
		names := []string{w.partition("a"), w.partition("A-9_z"), long + strings.Repeat("z", 63-len(long))}
		if w.target.Unpartitioned {
			names = append(names, "", "__mesh", "__org_1")
		}
		for _, name := range names {
			s, err := w.driver.Open(w.ctx, name)
			if err != nil {
				w.Want(fmt.Sprintf("partition %q opened", name), "%v", err)
			}
			w.same(name, s.Info().Partition)
		}
	}},
	{ID: "I23", Rule: "partitions whose names begin alike, or differ in case only, are never confused", run: func(w *world) {
		for _, names := range [][2]string{{"docs", "docs_eu"}, {"a", "a-b"}, {"a_grants", "a"}, {"__mesh", "mesh"}, {"docs", "Docs"}} {
			w.apart(w.open(names[0]), w.open(names[1]))
			w = w.fresh(Options{})
		}
	}},
	{ID: "I24", Rule: "the unpartitioned rows and those of partitions never mix", Abilities: []Ability{Unnamed}, run: func(w *world) {
		w.apart(w.named, w.open("a"))
		w = w.fresh(Options{})
		w.apart(w.open("a"), w.named)
	}},
	{ID: "I25", Rule: "rows read from a partition show nothing of its name", run: both(func(w *world, a, b *named) {
		a.only("A") // every member as it was written, and none beside
		name := w.partition("A")
		for _, row := range []any{rows(w, a.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{})), rows(w, a.ListUsers(w.ctx, storage.UserFilter{}, storage.Page{})),
			a.role("r"), a.group("g"), rows(w, a.ListAudit(w.ctx, storage.AuditFilter{})), a.catalog()} {
			if len(name) > 1 && strings.Contains(shown(row), name) {
				w.Want("rows without the name "+name, "%s", shown(row))
			}
		}
	})},
	{ID: "I27", Rule: "two processes on one partition see each other, a third on another sees nothing", run: func(w *world) {
		a, again, b := w.open("A"), w.another("A"), w.another("B")
		a.everything("A")
		again.only("A")
		w.same([]string{}, b.grantIDs(storage.GrantFilter{}))
		b.empty()
		again.write(storage.UpsertRole{Role: fullRole("by the other")})
		w.same(fullRole("by the other"), a.role("by the other"))
		none[authz.Role](w)(b.GetRole(w.ctx, "by the other"))
		if a.Info().Incarnation != again.Info().Incarnation || a.Info().Incarnation == b.Info().Incarnation {
			w.Want("one incarnation of a partition, another of another", "%q, %q, %q", a.Info().Incarnation, again.Info().Incarnation, b.Info().Incarnation)
		}
	}},
}

// apart fills two empty partitions and takes them through what could mix them.
func (w *world) apart(a, b *named) {
	a.everything("A")
	b.empty()
	b.everything("B")
	a.only("A")
	b.only("B")
	held := a.acquire("groups")
	w.release(b.acquire("groups"))
	a.write(storage.UpsertUser{User: user("u", in("other"))}, storage.DeleteGroup{ID: "g"}, storage.DeleteGrant{ID: "x"}, storage.DeleteRole{ID: "r"})
	b.only("B")
	if w.has(storage.CapEvents) {
		a.prune(storage.PruneEvents{KeepRows: ptr(int64(0))})
		w.same("B →1", b.since(0, 10))
	}
	if w.has(storage.CapMetrics) {
		a.pruneMetrics(5)
	}
	b.only("B")
	w.renew(held)
}

// everything writes one row of each kind, all named alike and marked.
func (s *named) everything(mark string) {
	w := s.w
	q := request("x", 1)
	q.Scope = "docs.doc:" + mark
	document := json.RawMessage(`"` + mark + `"`)
	s.do(storage.Commit{ID: "same id", At: 1, Audit: []authz.AuditEntry{{ID: "x", Actor: mark, Target: "t"}}, Events: w.events(authz.UserEvent(mark)),
		Changes: slices.Concat([]storage.Change{
			storage.InsertGrant{Grant: grant("x", "user:u", ofRole("r"), at("docs.doc:"+mark))}, storage.InsertGrant{Grant: grant("only-"+mark, "group:"+mark)},
			storage.InsertRevoke{Revoke: revoke("x", "u", "docs.doc:"+mark)}, storage.InsertRequest{Request: q},
			storage.UpsertRole{Role: authz.Role{ID: "r", Name: mark}}, storage.UpsertGroup{Group: authz.Group{ID: "g", Name: mark, Parents: []string{mark}}},
			storage.UpsertUser{User: user("u", in("g"), under("m-"+mark))}, storage.UpsertUser{User: user("u-"+mark, in("g"))},
			putCatalog(1, 1, string(document), ptr(int64(0))),
		},
			w.ifHas(storage.CapImports, storage.PutImports{Version: 1, Manifest: document, Expect: ptr(int64(0))}),
			w.ifHas(storage.CapAncestry, storage.PutScopeParents{Scope: "docs.doc:1", Parents: []string{mark}}),
			w.ifHas(storage.CapRecords, storage.PutRecord{Record: storage.Record{Collection: "c", ID: "x", Data: document, Keys: [4]string{"k"}}}))})
	if w.has(storage.CapMetrics) {
		s.count(bucket(0, "grant", "x", "matched", int64(mark[0])))
	}
}

// only expects exactly what everything wrote under the mark.
func (s *named) only(mark string) {
	w := s.w
	w.same([]string{"only-" + mark, "x"}, s.grantIDs(storage.GrantFilter{}))
	w.same(grant("x", "user:u", ofRole("r"), at("docs.doc:"+mark)), one[authz.Grant](w)(s.GetGrant(w.ctx, "x")))
	s.ownLists(mark)
	s.ownCounts(mark)
	s.ownAccess(mark)
	s.ownDocuments(mark)
	w.same([]string{"u", "u-" + mark}, s.members("g"))
	if w.has(storage.CapEvents) {
		w.same(mark+" →1", s.since(0, 10))
	}
	w.same(mark, rows(w, s.ListAudit(w.ctx, storage.AuditFilter{Limit: ptr(int64(1))}))[0].Actor)
	w.same(1, len(rows(w, s.ListAudit(w.ctx, storage.AuditFilter{Cursor: cursor(-1, "")}))))
	if w.has(storage.CapMetrics) {
		s.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "x", "matched", int64(mark[0])))
	}
}

func (s *named) ownLists(mark string) {
	w, ctx := s.w, s.w.ctx
	w.same([]authz.Revoke{revoke("x", "u", "docs.doc:"+mark)}, rows(w, s.ListRevokes(ctx, storage.RevokeFilter{UserID: ptr("u")}, storage.Page{})))
	w.same(1, len(rows(w, s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}))))
	requests := rows(w, s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}))
	w.same([]string{"docs.doc:" + mark}, ids(requests, func(q authz.Request) string { return q.Scope }))
	w.same([]authz.Role{{ID: "r", Name: mark}}, rows(w, s.ListRoles(ctx, storage.Page{})))
	w.same([]authz.Group{{ID: "g", Name: mark, Parents: []string{mark}}}, rows(w, s.ListGroups(ctx, storage.Page{})))
	users := rows(w, s.ListUsers(ctx, storage.UserFilter{}, storage.Page{}))
	w.same([]string{"u", "u-" + mark}, ids(users, func(u authz.User) string { return u.UserID }))
}

func (s *named) ownCounts(mark string) {
	w := s.w
	for _, c := range []struct {
		f    storage.GrantFilter
		want int64
	}{
		{storage.GrantFilter{}, 2}, {storage.GrantFilter{Subject: ptr("user:u")}, 1}, {storage.GrantFilter{Subject: ptr("group:" + mark)}, 1},
		{storage.GrantFilter{RoleID: ptr("r")}, 1}, {storage.GrantFilter{Scope: ptr("docs.doc:" + mark)}, 1}, {storage.GrantFilter{Scope: ptr("*")}, 1},
	} {
		if n, err := s.CountGrants(w.ctx, c.f); n != c.want || err != nil {
			w.Want(fmt.Sprintf("%d grants by %s", c.want, filter(c.f)), "%d, %v", n, err)
		}
	}
}

func (s *named) ownAccess(mark string) {
	w := s.w
	queries := []storage.AccessQuery{{UserID: "u", Subjects: []string{"user:u", "group:A", "group:B"}}}
	if w.has(storage.CapExpand) {
		queries = append(queries, storage.AccessQuery{UserID: "u", Expand: true})
	}
	for _, q := range queries {
		a := s.access(q)
		w.same([]string{"only-" + mark, "x"}, ids(a.Grants, grantID))
		w.same([]authz.Role{{ID: "r", Name: mark}}, a.Roles)
		w.same([]authz.Revoke{revoke("x", "u", "docs.doc:"+mark)}, a.Revokes)
		w.same(ptr(user("u", in("g"), under("m-"+mark))), a.User)
		w.same(int64(len(w.events(authz.Event{}))), a.Head.Seq)
		if q.Expand {
			w.same("user:u group:g group:"+mark+" directs:m-"+mark+" orgof:m-"+mark+" everyone", strings.Join(a.Closure, " "))
		}
	}
}

func (s *named) ownDocuments(mark string) {
	w, ctx := s.w, s.w.ctx
	document := json.RawMessage(`"` + mark + `"`)
	w.same(document, s.catalog().Document)
	if w.has(storage.CapHistory) {
		w.same(1, len(rows(w, s.ListCatalogVersions(ctx))))
	}
	if w.has(storage.CapImports) {
		w.same(document, one[storage.ImportsHead](w)(s.GetImports(ctx)).Manifest)
	}
	if w.has(storage.CapAncestry) {
		parents, err := s.GetScopeParents(ctx, []string{"docs.doc:1"})
		w.code("", err)
		w.same(map[string][]string{"docs.doc:1": {mark}}, parents)
	}
	if w.has(storage.CapRecords) {
		w.same(document, one[storage.Record](w)(s.GetRecord(ctx, "c", "x")).Data)
		w.same(1, len(rows(w, s.ListRecords(ctx, "c", storage.RecordFilter{Index: 1, Value: "k"}, storage.Page{}))))
		w.same(1, len(rows(w, s.ListRecords(ctx, "c", storage.RecordFilter{}, storage.Page{}))))
	}
}

// empty expects nothing of what everything writes.
func (s *named) empty() {
	w, ctx := s.w, s.w.ctx
	none[authz.Grant](w)(s.GetGrant(ctx, "x"))
	none[authz.Revoke](w)(s.GetRevoke(ctx, "x"))
	none[authz.Request](w)(s.GetRequest(ctx, "x"))
	none[authz.Role](w)(s.GetRole(ctx, "r"))
	none[authz.Group](w)(s.GetGroup(ctx, "g"))
	none[authz.User](w)(s.GetUser(ctx, "u"))
	none[storage.CatalogHead](w)(s.GetCatalog(ctx))
	none[storage.CommitResult](w)(s.GetCommit(ctx, "same id"))
	w.same([]string{}, s.grantIDs(storage.GrantFilter{}))
	w.same([]string{}, s.members("g"))
	w.same("", s.audit(storage.AuditFilter{}))
	if w.has(storage.CapEvents) {
		w.same(int64(0), s.head())
	}
	if w.has(storage.CapImports) {
		none[storage.ImportsHead](w)(s.GetImports(ctx))
	}
	if w.has(storage.CapRecords) {
		none[storage.Record](w)(s.GetRecord(ctx, "c", "x"))
	}
	if w.has(storage.CapBatchRoles) {
		many, err := s.GetRoles(ctx, []string{"r"})
		w.code("", err)
		w.same([]authz.Role{}, many)
	}
}
