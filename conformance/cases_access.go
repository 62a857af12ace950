package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var accessCases = []storageCase{
	{ID: "B17", Rule: "readAccess answers the record, exactly those grants and revokes, and existing roles only", run: func(w *world) {
		u := user("u", in("a", "b"), under("m"))
		w.do(storage.Commit{ID: "c", Events: w.events(authz.Event{Type: authz.EventAll}), Changes: append(insertGrants(
			grant("4", "user:u", ofRole("r")), grant("2", "group:a", ofRole("dangling")), grant("3", "everyone"), grant("1", "group:other")),
			storage.UpsertUser{User: u}, storage.UpsertUser{User: user("u2")}, storage.UpsertRole{Role: fullRole("r")}, storage.UpsertRole{Role: fullRole("unused")},
			storage.InsertRevoke{Revoke: revoke("v1", "u", "*")}, storage.InsertRevoke{Revoke: revoke("v2", "u2", "*")})})
		head := authz.Position{}
		if w.has(storage.CapEvents) {
			head = w.headAt()
			w.same(int64(1), head.Seq)
		}
		got := w.access(storage.AccessQuery{UserID: "u", Subjects: []string{"user:u", "group:b", "group:a", "everyone", "user:u"}})
		w.same(storage.Access{User: &u, Head: head, Grants: []authz.Grant{grant("2", "group:a", ofRole("dangling")), grant("3", "everyone"), grant("4", "user:u", ofRole("r"))},
			Revokes: []authz.Revoke{revoke("v1", "u", "*")}, Roles: []authz.Role{fullRole("r")}}, got)
		w.same(storage.Access{Head: head, Grants: []authz.Grant{grant("3", "everyone")}}, w.access(storage.AccessQuery{Subjects: []string{"everyone"}}))
		if unknown := w.access(storage.AccessQuery{UserID: "nobody"}); unknown.User != nil {
			w.Fatalf("a record of nobody: %+v", unknown.User)
		}
	}},
	{ID: "B18", large: true, Rule: "readAccess with 5000 subjects, 1200 revokes and 1200 roles is exact, as is getRoles of these; with no subjects it has no grants", run: func(w *world) {
		const many = 1200
		var list []authz.Grant
		var subjects, names []string
		want := storage.Access{}
		all := changes()
		for i := range 5000 {
			g := grant(fmt.Sprintf("%04d", i), fmt.Sprintf("group:%d", i))
			if i < many {
				role, v := authz.Role{ID: "r" + g.ID, Name: "R"}, revoke(g.ID, "u", "*")
				g.RoleID, g.Pattern = role.ID, ""
				all.Changes = append(all.Changes, storage.UpsertRole{Role: role}, storage.InsertRevoke{Revoke: v})
				want.Roles, want.Revokes, names = append(want.Roles, role), append(want.Revokes, v), append(names, role.ID)
			}
			list, subjects = append(list, g), append(subjects, g.Subject)
		}
		all.Changes = append(all.Changes, insertGrants(append(list, grant("x", "group:5000"))...)...)
		w.do(all)
		want.Grants = list
		got := w.access(storage.AccessQuery{UserID: "u", Subjects: subjects})
		slices.SortFunc(got.Revokes, func(a, b authz.Revoke) int { return strings.Compare(a.ID, b.ID) })
		slices.SortFunc(got.Roles, byRoleID)
		w.same(want, got)
		if w.has(storage.CapBatchRoles) {
			roles, err := w.GetRoles(w.ctx, names)
			w.code("", err)
			slices.SortFunc(roles, byRoleID)
			w.same(want.Roles, roles)
		}
		w.same([]authz.Grant{}, w.access(storage.AccessQuery{}).Grants)
		w.same([]authz.Grant{}, w.access(storage.AccessQuery{Subjects: []string{}}).Grants)
	}},
	{ID: "B19", large: true, Rule: "readAccess racing a move from a grant to a revoke sees the state before or after", run: func(w *world) {
		w.write(storage.InsertGrant{Grant: grant("g", "user:u")})
		reader := w.another("")
		w.against(func() bool {
			a, err := reader.ReadAccess(w.ctx, storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}})
			if err != nil || len(a.Grants)+len(a.Revokes) != 1 {
				w.Errorf("%d grants and %d revokes, %v", len(a.Grants), len(a.Revokes), err)
				return false
			}
			return true
		}, 200, func(int) {
			w.write(storage.DeleteGrant{ID: "g"}, storage.InsertRevoke{Revoke: revoke("v", "u", "*")})
			w.write(storage.DeleteRevoke{ID: "v"}, storage.InsertGrant{Grant: grant("g", "user:u")})
		})
	}},
	{ID: "B20", Rule: "readAccess with expand answers the closure of a diamond, of cycles, of a manager loop", Needs: storage.Capabilities{storage.CapExpand}, run: func(w *world) {
		for id, parents := range map[string][]string{"a": {"c", "top"}, "b": {"c"}, "c": {"top", "a"}, "top": {"ghost", "top"}} {
			w.write(storage.UpsertGroup{Group: authz.Group{ID: id, Parents: parents}})
		}
		u := user("u", in("b", "a"), under("m1"))
		u.OrgIDs = []string{"o2", "o1", "o2"}
		m3 := authz.User{UserID: "m3", ManagerUserID: "m1"}
		w.write(storage.UpsertUser{User: u}, storage.UpsertUser{User: user("m1", under("m2"))}, storage.UpsertUser{User: authz.User{UserID: "m2", ManagerUserID: "m3"}},
			storage.UpsertUser{User: m3})
		w.write(insertGrants(grant("1", "orgof:m3"), grant("2", "group:ghost"), grant("3", "directs:m2"), grant("4", "org:o1", ofRole("r")), grant("5", "user:other"))...)
		w.write(storage.InsertRevoke{Revoke: revoke("v", "u", "*")}, storage.UpsertRole{Role: fullRole("r")})
		got := w.access(storage.AccessQuery{UserID: "u", Subjects: []string{"user:other"}, Expand: true})
		w.same("user:u group:b group:a group:c group:top group:ghost directs:m1 orgof:m1 orgof:m2 orgof:m3 org:o2 org:o1 everyone", strings.Join(got.Closure, " "))
		w.same("m1 m2 m3", strings.Join(got.ManagerChain, " "))
		w.same([]string{"1", "2", "4"}, ids(got.Grants, grantID))
		w.same([]authz.Revoke{revoke("v", "u", "*")}, got.Revokes)
		w.same([]authz.Role{fullRole("r")}, got.Roles)
		w.same(&u, got.User)
		w.write(storage.UpsertUser{User: user("self", under("self"))}, storage.UpsertUser{User: user("loop", under("back"))}, storage.UpsertUser{User: user("back", under("loop"))})
		w.same([]string{"user:self", "everyone"}, w.access(storage.AccessQuery{UserID: "self", Expand: true}).Closure)
		w.same([]string{"user:loop", "directs:back", "orgof:back", "everyone"}, w.access(storage.AccessQuery{UserID: "loop", Expand: true}).Closure)
		w.same([]string{"user:new", "everyone"}, w.access(storage.AccessQuery{UserID: "new", Expand: true}).Closure)
		_, err := w.ReadAccess(w.ctx, storage.AccessQuery{Expand: true})
		w.code(storage.CodeValidation, err)
	}},
	{ID: "B20b", Rule: "readAccess with a scope answers the recorded parents of everything above it: of a diamond, of a cycle, of a root, of 1000 scopes, and none at all of more", Needs: storage.Capabilities{storage.CapAncestry, storage.CapAncestors}, run: func(w *world) {
		put := func(scope string, parents ...string) storage.Change {
			return storage.PutScopeParents{Scope: scope, Parents: parents}
		}
		w.write(put("d:1", "f:b", "f:a"), put("f:a", "f:top"), put("f:b", "f:top", "f:unknown"), put("f:top"), put("other:1", "d:1"),
			put("c:1", "c:2"), put("c:2", "c:3", "c:2"), put("c:3", "c:1"))
		w.write(insertGrants(grant("1", "user:u"), grant("2", "everyone"))...)
		diamond := map[string][]string{"d:1": {"f:b", "f:a"}, "f:a": {"f:top"}, "f:b": {"f:top", "f:unknown"}, "f:top": {}}
		above := func(scope string) map[string][]string {
			return w.access(storage.AccessQuery{Scope: scope}).Parents
		}
		w.same(diamond, above("d:1"))
		w.same(map[string][]string{"c:1": {"c:2"}, "c:2": {"c:3", "c:2"}, "c:3": {"c:1"}}, above("c:2"))
		w.same(map[string][]string{"f:top": {}}, above("f:top"))
		if got := above("unknown:1"); got == nil || len(got) != 0 {
			w.Errorf("the parents of a scope never recorded are %v", got)
		}
		got := w.access(storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}, Scope: "d:1"})
		w.same(diamond, got.Parents)
		w.same([]string{"1"}, ids(got.Grants, grantID))
		w.same(map[string][]string(nil), w.access(storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}}).Parents)
		if w.has(storage.CapExpand) {
			got = w.access(storage.AccessQuery{UserID: "u", Expand: true, Scope: "d:1"})
			w.same(diamond, got.Parents)
			w.same([]string{"1", "2"}, ids(got.Grants, grantID))
		}
		line, want := changes(), map[string][]string{}
		for i := range storage.MaxScopes {
			scope := fmt.Sprint("l:", i)
			if want[scope] = []string{fmt.Sprint("l:", i+1)}; i == storage.MaxScopes-1 {
				want[scope] = []string{}
			}
			line.Changes = append(line.Changes, put(scope, want[scope]...))
		}
		w.do(line)
		w.same(want, above("l:0"))
		w.write(put("l:999", "l:1000"))
		w.same(map[string][]string(nil), above("l:0"))
		w.same(map[string][]string(nil), w.access(storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}, Scope: "l:0"}).Parents)
		if got := above("l:1"); len(got) != 999 {
			w.Errorf("%d of 999 scopes are recorded", len(got))
		}
	}},
	{ID: "B20c", Rule: "the parents of a scope's ancestors are of the instant of the other rows", Needs: storage.Capabilities{storage.CapAncestry, storage.CapAncestors}, run: func(w *world) {
		at := func(mark string) []storage.Change {
			return []storage.Change{storage.PutScopeParents{Scope: "d:1", Parents: []string{"f:" + mark}}, storage.PutScopeParents{Scope: "f:" + mark, Parents: []string{"top:" + mark}},
				storage.UpsertUser{User: user("u", in(mark))}}
		}
		w.write(at("0")...)
		reader := w.another("")
		w.against(func() bool {
			a, err := reader.ReadAccess(w.ctx, storage.AccessQuery{UserID: "u", Scope: "d:1"})
			if err != nil || len(a.Parents["d:1"]) != 1 || a.Parents["d:1"][0] != "f:"+a.User.GroupIDs[0] || len(a.Parents) != 2 {
				w.Errorf("parents %v, user %v, %v", a.Parents, a.User, err)
				return false
			}
			return true
		}, 200, func(i int) { w.write(at(fmt.Sprint(i + 1))...) })
	}},
	{ID: "B85", Rule: "the head of readAccess equals the newest number seen in the rows, and is never older than them", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		write := func(n int64) storage.Commit {
			c := changes(storage.UpsertUser{User: user("u", in(fmt.Sprint(n)))})
			c.Requires, c.Events = []storage.Requirement{storage.RequireHead{Seq: n - 1}}, []authz.Event{authz.UserEvent("u")}
			return c
		}
		w.do(write(1))
		reader := w.another("")
		w.against(func() bool {
			a, err := reader.ReadAccess(w.ctx, storage.AccessQuery{UserID: "u"})
			if err != nil || fmt.Sprint(a.Head.Seq) != a.User.GroupIDs[0] {
				w.Errorf("head %s, row %v, %v", a.Head, a.User, err)
				return false
			}
			return true
		}, 300, func(i int) {
			w.do(write(int64(i + 2)))
		})
	}},
	{ID: "B88", Rule: "a list whose consumer pauses keeps no writer waiting, goes on and ends correctly", run: func(w *world) {
		const pause = 2 * time.Second
		want := manyGrants(w, 2500)
		var got []string
		for g, err := range w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{}) {
			if err != nil {
				w.Fatalf("%v", err)
			}
			if len(got)%1250 == 0 {
				time.Sleep(pause / 2)
				start := time.Now()
				w.write(storage.InsertGrant{Grant: grant(fmt.Sprintf("a%d", len(got)), "user:new")}, storage.UpsertRole{Role: fullRole("r")})
				if took := time.Since(start); took > atOnce {
					w.Want("a write beside a paused list at once", "after %v", took)
				}
			}
			got = append(got, g.ID)
		}
		w.same(want, got)
	}},
	{ID: "S01", Rule: "what a caller holds is never what the store holds", run: func(w *world) {
		role, q, rec := fullRole("r"), fullRequest("q"), storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`{"a":1}`)}
		u, g, e := user("u", in("g")), authz.Group{ID: "g", Parents: []string{"p"}}, entry("a", 1)
		e.Detail = json.RawMessage(`[1]`)
		parents, patch, document := []string{"p"}, []string{"g"}, json.RawMessage(`{"v":1}`)
		c := changes(storage.UpsertRole{Role: role}, storage.InsertRequest{Request: q}, storage.UpsertUser{User: u}, storage.UpsertGroup{Group: g},
			storage.PatchUser{UserID: "w", GroupIDs: &patch}, storage.PutCatalog{Version: 1, Document: document})
		c.Changes = append(c.Changes, w.ifHas(storage.CapRecords, storage.PutRecord{Record: rec})...)
		c.Changes = append(c.Changes, w.ifHas(storage.CapAncestry, storage.PutScopeParents{Scope: "s", Parents: parents})...)
		c.Changes = append(c.Changes, w.ifHas(storage.CapImports, storage.PutImports{Version: 1, Manifest: document})...)
		c.Audit = []authz.AuditEntry{e}
		w.do(c)
		read := func() []any { return readBack(w) }
		text := func() string { // text shares nothing
			b, err := json.MarshalIndent(read(), "", " ")
			if err != nil {
				w.Fatalf("%v", err)
			}
			return string(b)
		}
		want := text()
		for _, written := range []any{&role, &q, &rec, &u, &g, &e, &parents, &patch, &document} {
			runner.Overwrite(written)
		}
		if diff := cmp.Diff(want, text()); diff != "" {
			w.Fatalf("what was written moved with its writer:\n%s", diff)
		}
		for _, got := range read() {
			runner.Overwrite(got)
		}
		if diff := cmp.Diff(want, text()); diff != "" {
			w.Fatalf("what was read moved with its reader:\n%s", diff)
		}
	}},
	{ID: "S02", Rule: "the rows of a result are the caller's own, in every replay", run: func(w *world) {
		w.write(storage.InsertRequest{Request: fullRequest("q")})
		c := changes(storage.DeleteRequest{ID: "q"})
		first := w.do(c)
		runner.Overwrite(first.Results[0].Request)
		again := w.do(c)
		w.same(fullRequest("q"), *again.Results[0].Request)
		again.Results[0].Request.Justification["why"] = "scribbled"
		w.same(fullRequest("q"), *w.do(c).Results[0].Request)
	}},
}

func byRoleID(a, b authz.Role) int { return strings.Compare(a.ID, b.ID) }

// readBack reads the rows of S01 in every way.
func readBack(w *world) []any {
	all := []any{w.role("r"), one[authz.Request](w)(w.GetRequest(w.ctx, "q")), w.user("u"), w.user("w"), w.group("g"), w.catalog(),
		rows(w, w.ListAudit(w.ctx, storage.AuditFilter{})), rows(w, w.ListAudit(w.ctx, storage.AuditFilter{Limit: ptr(int64(1))})),
		rows(w, w.ListRoles(w.ctx, storage.Page{})), rows(w, w.ListUsers(w.ctx, storage.UserFilter{}, storage.Page{}))}
	if w.has(storage.CapRecords) {
		all = append(all, one[storage.Record](w)(w.GetRecord(w.ctx, "c", "i")))
	}
	if w.has(storage.CapAncestry) {
		parents, err := w.GetScopeParents(w.ctx, []string{"s"})
		w.code("", err)
		all = append(all, parents)
	}
	if w.has(storage.CapBatchRoles) {
		many, err := w.GetRoles(w.ctx, []string{"r"})
		w.code("", err)
		all = append(all, many)
	}
	if w.has(storage.CapHistory) {
		all = append(all, one[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, 1)))
	}
	if w.has(storage.CapImports) {
		all = append(all, one[storage.ImportsHead](w)(w.GetImports(w.ctx)))
	}
	return all
}
