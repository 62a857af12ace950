package memory_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// model is a partition as plain maps.
type model struct {
	grants   map[string]authz.Grant
	revokes  map[string]authz.Revoke
	roles    map[string]authz.Role
	groups   map[string]authz.Group
	users    map[string]authz.User
	requests map[string]authz.Request
	records  map[string]storage.Record
	scopes   map[string][]string
	audit    map[string]authz.AuditEntry
	events   []authz.Event
	head     authz.Position
}

func newModel() model {
	return model{map[string]authz.Grant{}, map[string]authz.Revoke{}, map[string]authz.Role{}, map[string]authz.Group{}, map[string]authz.User{},
		map[string]authz.Request{}, map[string]storage.Record{}, map[string][]string{}, map[string]authz.AuditEntry{}, nil, authz.Position{}}
}

func (m model) copy() model {
	return model{maps.Clone(m.grants), maps.Clone(m.revokes), maps.Clone(m.roles), maps.Clone(m.groups), maps.Clone(m.users),
		maps.Clone(m.requests), maps.Clone(m.records), maps.Clone(m.scopes), maps.Clone(m.audit), slices.Clone(m.events), m.head}
}

// apply returns the model after the commit, or the code it is refused with.
func (m model) apply(c storage.Commit) (model, storage.Code) {
	next := m.copy()
	for _, r := range c.Requires {
		if r, ok := r.(storage.RequireRole); ok && !has(m.roles, r.ID) {
			return m, storage.CodeNotFound
		}
		if r, ok := r.(storage.RequireRecord); ok && m.records[r.ID].Version != r.Version {
			return m, storage.CodeConflict
		}
	}
	for _, change := range c.Changes {
		if code := next.change(change); code != "" {
			return m, code
		}
	}
	for _, e := range c.Audit {
		if has(next.audit, e.ID) {
			return m, storage.CodeConflict
		}
		next.audit[e.ID] = e
	}
	for _, r := range c.Requires {
		if r, ok := r.(storage.RequireHead); ok && (int(r.Seq) != len(m.events) || r.Identity != "" && r.Identity != m.head.Identity && m.head.Identity != "") {
			return m, storage.CodeConflict
		}
	}
	next.events = append(next.events, c.Events...)
	if n := int64(len(next.events)); len(c.Events) > 0 {
		next.head = authz.Position{Seq: n, Identity: storage.Follow(m.head.Identity, c.ID, n)}
	}
	return next, ""
}

func (m model) change(change storage.Change) storage.Code {
	switch c := change.(type) {
	case storage.InsertGrant:
		return insert(m.grants, c.Grant.ID, c.Grant)
	case storage.InsertRevoke:
		return insert(m.revokes, c.Revoke.ID, c.Revoke)
	case storage.InsertRequest:
		return insert(m.requests, c.Request.ID, c.Request)
	case storage.DeleteGrant:
		return remove(m.grants, c.ID, c.MustExist)
	case storage.DeleteRevoke:
		return remove(m.revokes, c.ID, c.MustExist)
	case storage.UpdateRequest:
		old, found := m.requests[c.Request.ID]
		switch {
		case !found:
			return storage.CodeNotFound
		case c.Expect != nil && (old.State != c.Expect.State || old.StageIndex != c.Expect.StageIndex):
			return storage.CodeConflict
		}
		m.requests[c.Request.ID] = c.Request
	case storage.UpsertRole:
		m.roles[c.Role.ID] = c.Role
	case storage.UpsertGroup:
		m.groups[c.Group.ID] = c.Group
	case storage.UpsertUser:
		m.users[c.User.UserID] = c.User
	case storage.PatchUser:
		u, found := m.users[c.UserID]
		if !found {
			u = authz.User{UserID: c.UserID, Active: true}
		}
		if c.Active != nil {
			u.Active = *c.Active
		}
		if c.GroupIDs != nil {
			u.GroupIDs = *c.GroupIDs
		}
		if c.ManagerUserID != nil {
			u.ManagerUserID = *c.ManagerUserID
		}
		m.users[c.UserID] = u
	case storage.DeleteRole:
		if c.Unnamed && len(where(m.grants, func(g authz.Grant) bool { return g.RoleID == c.ID })) > 0 {
			return storage.CodeConflict
		}
		delete(m.roles, c.ID)
	case storage.DeleteGroup:
		delete(m.groups, c.ID)
	case storage.DeleteUser:
		delete(m.users, c.UserID)
	case storage.PutScopeParents:
		m.scopes[c.Scope] = c.Parents
	case storage.PutRecord:
		if m.records[c.Record.ID].Version != c.Expect {
			return storage.CodeConflict
		}
		c.Record.Version = c.Expect + 1
		m.records[c.Record.ID] = c.Record
	case storage.DeleteRecord:
		if m.records[c.ID].Version != c.Expect {
			return storage.CodeConflict
		}
		delete(m.records, c.ID)
	}
	return ""
}

func has[V any](rows map[string]V, id string) bool {
	_, found := rows[id]
	return found
}

func insert[V any](rows map[string]V, id string, row V) storage.Code {
	if has(rows, id) {
		return storage.CodeConflict
	}
	rows[id] = row
	return ""
}

func remove[V any](rows map[string]V, id string, mustExist bool) storage.Code {
	if mustExist && !has(rows, id) {
		return storage.CodeNotFound
	}
	delete(rows, id)
	return ""
}

// where selects rows by id.
func where[V any](rows map[string]V, match func(V) bool) []V {
	var out []V
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if match(rows[id]) {
			out = append(out, rows[id])
		}
	}
	return out
}

func every[V any](V) bool { return true }

func name(kind string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%s%d", kind, rapid.IntRange(0, 5).Draw(t, kind)) })
}

var (
	anySubject = rapid.Custom(func(t *rapid.T) string {
		kind := rapid.SampledFrom([]string{"user:u", "group:g", "orgof:u", "directs:u"}).Draw(t, "kind")
		return name(kind).Draw(t, "subject")
	})
	anyScope = rapid.SampledFrom([]string{"*", "docs.doc:1", "docs.doc:10"})
	optional = func(t *rapid.T, g *rapid.Generator[string], label string) *string {
		if rapid.Bool().Draw(t, label+"?") {
			s := g.Draw(t, label)
			return &s
		}
		return nil
	}
)

func drawGrant(t *rapid.T) authz.Grant {
	g := authz.Grant{ID: name("g").Draw(t, "id"), Subject: anySubject.Draw(t, "subject"), Pattern: "docs.read", Scope: anyScope.Draw(t, "scope"),
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
	if role := optional(t, name("r"), "role"); role != nil {
		g.RoleID, g.Pattern = *role, ""
	}
	return g
}

func drawUser(t *rapid.T) authz.User {
	u := authz.User{UserID: name("u").Draw(t, "user"), GroupIDs: rapid.SliceOfNDistinct(name("g"), 0, 3, rapid.ID[string]).Draw(t, "groups"), Active: rapid.Bool().Draw(t, "active")}
	if manager := optional(t, name("u"), "manager"); manager != nil {
		u.ManagerUserID = *manager
	}
	return u
}

func drawRequest(t *rapid.T) authz.Request {
	q := authz.Request{ID: name("q").Draw(t, "request"), RequesterUserID: "u1", RoleID: "r1", Scope: "*", Justification: map[string]string{},
		CreatedAt: rapid.Int64Range(-2, 2).Draw(t, "createdAt")}
	q.State = rapid.SampledFrom([]authz.RequestState{authz.RequestPending, authz.RequestDenied}).Draw(t, "state")
	return q
}

var anyChange = rapid.Custom(func(t *rapid.T) storage.Change {
	id := func(kind string) string { return name(kind).Draw(t, "id") }
	mustExist := rapid.IntRange(0, 5).Draw(t, "mustExist") == 0
	switch rapid.IntRange(0, 16).Draw(t, "change") {
	case 0, 1, 2:
		return storage.InsertGrant{Grant: drawGrant(t)}
	case 3:
		return storage.DeleteGrant{ID: id("g"), MustExist: mustExist}
	case 4:
		return storage.InsertRevoke{Revoke: authz.Revoke{ID: id("v"), UserID: id("u"), Pattern: "docs.read", Scope: anyScope.Draw(t, "scope")}}
	case 5:
		return storage.DeleteRevoke{ID: id("v"), MustExist: mustExist}
	case 6:
		return storage.UpsertRole{Role: authz.Role{ID: id("r"), Name: id("n")}}
	case 7:
		return storage.DeleteRole{ID: id("r"), Unnamed: rapid.Bool().Draw(t, "unnamed")}
	case 8:
		return storage.UpsertGroup{Group: authz.Group{ID: id("g"), Parents: rapid.SliceOfNDistinct(name("g"), 0, 3, rapid.ID[string]).Draw(t, "parents")}}
	case 9:
		return storage.DeleteGroup{ID: id("g")}
	case 10:
		return storage.UpsertUser{User: drawUser(t)}
	case 11:
		u := drawUser(t)
		return rapid.SampledFrom([]storage.Change{storage.DeleteUser{UserID: u.UserID}, storage.PatchUser{UserID: u.UserID, Active: &u.Active},
			storage.PatchUser{UserID: u.UserID, GroupIDs: &u.GroupIDs}, storage.PatchUser{UserID: u.UserID, ManagerUserID: &u.ManagerUserID}}).Draw(t, "patch")
	case 12:
		return storage.InsertRequest{Request: drawRequest(t)}
	case 13:
		u := storage.UpdateRequest{Request: drawRequest(t)}
		if mustExist {
			u.Expect = &storage.RequestExpect{State: authz.RequestPending}
		}
		return u
	case 14:
		return storage.PutScopeParents{Scope: anyScope.Draw(t, "scope"), Parents: rapid.SliceOfN(anyScope, 0, 2).Draw(t, "parents")}
	case 15:
		return storage.DeleteRecord{Collection: "c", ID: id("i"), Expect: rapid.Int64Range(0, 2).Draw(t, "expect")}
	default:
		return storage.PutRecord{Expect: rapid.Int64Range(0, 2).Draw(t, "expect"),
			Record: storage.Record{Collection: "c", ID: id("i"), Data: json.RawMessage(`{}`), Keys: [4]string{id("k"), "", id("k")}}}
	}
})

func drawCommit(t *rapid.T) storage.Commit {
	c := storage.Commit{ID: fmt.Sprintf("commit-%d", commitNumber.Add(1)), At: 1, Changes: rapid.SliceOfN(anyChange, 0, 6).Draw(t, "changes")}
	switch rapid.IntRange(0, 9).Draw(t, "requires") {
	case 0:
		c.Requires = []storage.Requirement{storage.RequireRole{ID: name("r").Draw(t, "required")}}
	case 1:
		c.Requires = []storage.Requirement{storage.RequireHead{Seq: rapid.Int64Range(0, 3).Draw(t, "head"), Identity: rapid.SampledFrom([]string{"", "another"}).Draw(t, "identity")}}
	case 2:
		c.Requires = []storage.Requirement{storage.RequireRecord{Collection: "c", ID: name("i").Draw(t, "record"), Version: rapid.Int64Range(1, 2).Draw(t, "version")}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "audit") {
		c.Audit = append(c.Audit, authz.AuditEntry{ID: fmt.Sprintf("a%d", rapid.IntRange(0, 200).Draw(t, "entry")), At: rapid.Int64Range(0, 3).Draw(t, "at")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		c.Events = append(c.Events, authz.UserEvent(name("u").Draw(t, "event")))
	}
	return c
}

func TestRandomCommitsEqualAPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store, err := memory.New(memory.Options{}).Open(t.Context(), "")
		if err != nil {
			rt.Fatal(err)
		}
		m := newModel()
		for range rapid.IntRange(1, 25).Draw(rt, "commits") {
			c := drawCommit(rt)
			next, want := m.apply(c)
			result, err := store.Commit(t.Context(), c)
			if code := storage.CodeOf(err); code != want || (err == nil) != (want == "") {
				rt.Fatalf("commit answered %v, want %q", err, want)
			}
			if want == "" && len(c.Events) > 0 && result.UpTo != next.head {
				rt.Fatalf("up to %s of %s", result.UpTo, next.head)
			}
			m = next
			compare(rt, t, store, m)
		}
	})
}

var commitNumber atomic.Int64

var sameOptions = cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(authz.Expiry{})}

func rows[T any](t *rapid.T, list iter.Seq2[T, error]) []T {
	var out []T
	for row, err := range list {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		out = append(out, row)
	}
	return out
}

func compare(rt *rapid.T, t *testing.T, store storage.Store, m model) {
	ctx := t.Context()
	check := func(what string, want, got any) {
		if diff := cmp.Diff(want, got, sameOptions); diff != "" {
			rt.Fatalf("%s differ (-model +store):\n%s", what, diff)
		}
	}
	for range 3 {
		f := storage.GrantFilter{Subject: optional(rt, anySubject, "subject"), Scope: optional(rt, anyScope, "scope"), RoleID: optional(rt, name("r"), "role")}
		if rapid.Bool().Draw(rt, "subjects?") {
			f.Subjects = append([]string{}, rapid.SliceOfN(anySubject, 0, 4).Draw(rt, "subjects")...)
		}
		want := where(m.grants, func(g authz.Grant) bool {
			return (f.Subject == nil || g.Subject == *f.Subject) && (f.Subjects == nil || slices.Contains(f.Subjects, g.Subject)) &&
				(f.Scope == nil || g.Scope == *f.Scope) && (f.RoleID == nil || g.RoleID == *f.RoleID)
		})
		check("grants", want, rows(rt, store.ListGrants(ctx, f, storage.Page{})))
		n, err := store.CountGrants(ctx, f)
		check("count", fmt.Sprint(len(want), nil), fmt.Sprint(n, err))
		after := name("g").Draw(rt, "after")
		tail := slices.DeleteFunc(slices.Clone(want), func(g authz.Grant) bool { return g.ID <= after })
		check("page", tail[:min(2, len(tail))], rows(rt, store.ListGrants(ctx, f, storage.Page{After: after, Limit: 2})))
	}
	userID := name("u").Draw(rt, "asked")
	check("revokes", where(m.revokes, func(r authz.Revoke) bool { return r.UserID == userID }),
		rows(rt, store.ListRevokes(ctx, storage.RevokeFilter{UserID: &userID}, storage.Page{})))
	check("roles", where(m.roles, every), rows(rt, store.ListRoles(ctx, storage.Page{})))
	check("groups", where(m.groups, every), rows(rt, store.ListGroups(ctx, storage.Page{})))
	check("users", where(m.users, every), rows(rt, store.ListUsers(ctx, storage.UserFilter{}, storage.Page{})))
	for _, group := range []string{"g0", "g1"} {
		var names []string
		for _, u := range where(m.users, func(u authz.User) bool { return slices.Contains(u.GroupIDs, group) }) {
			names = append(names, u.UserID)
		}
		check("members", names, rows(rt, store.ListUsersInGroup(ctx, group, storage.Page{})))
	}
	requests := where(m.requests, every)
	slices.SortStableFunc(requests, func(a, b authz.Request) int { return int(a.CreatedAt - b.CreatedAt) })
	check("requests", requests, rows(rt, store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})))
	key := name("k").Draw(rt, "key")
	for index := range 4 {
		check("records", where(m.records, func(r storage.Record) bool { return r.Keys[index] == key }),
			rows(rt, store.ListRecords(ctx, "c", storage.RecordFilter{Index: index + 1, Value: key}, storage.Page{})))
	}
	scopes, err := store.GetScopeParents(ctx, slices.Collect(maps.Keys(m.scopes)))
	check("scope parents", m.scopes, scopes)
	audit := where(m.audit, every)
	slices.SortStableFunc(audit, func(a, b authz.AuditEntry) int { return int(a.At - b.At) })
	check("audit", audit, rows(rt, store.ListAudit(ctx, storage.AuditFilter{})))
	last := int64(2)
	check("newest", audit[max(0, len(audit)-2):], rows(rt, store.ListAudit(ctx, storage.AuditFilter{Limit: &last})))
	page, pageErr := store.EventsSince(ctx, authz.Position{}, 1000)
	check("events", m.events, page.Events)
	expanded, accessErr := store.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Expand: true})
	if err != nil || pageErr != nil || accessErr != nil {
		rt.Fatal(err, pageErr, accessErr)
	}
	check("access", m.access(userID), expanded)
}

// access spells out the closure of one user.
func (m model) access(userID string) storage.Access {
	a := storage.Access{Head: m.head, Closure: []string{"user:" + userID}}
	u, found := m.users[userID]
	if found {
		a.User = &u
	}
	add := func(subject string) {
		if !slices.Contains(a.Closure, subject) {
			a.Closure = append(a.Closure, subject)
		}
	}
	var seen []string
	for queue := slices.Clone(u.GroupIDs); len(queue) > 0; queue = queue[1:] {
		if id := queue[0]; !slices.Contains(seen, id) {
			seen = append(seen, id)
			add("group:" + id)
			queue = append(queue, m.groups[id].Parents...)
		}
	}
	for at := u.ManagerUserID; at != "" && at != userID && !slices.Contains(a.ManagerChain, at); at = m.users[at].ManagerUserID {
		a.ManagerChain = append(a.ManagerChain, at)
	}
	for i, id := range a.ManagerChain {
		if i == 0 {
			add("directs:" + id)
		}
		add("orgof:" + id)
	}
	add("everyone")
	a.Grants = where(m.grants, func(g authz.Grant) bool { return slices.Contains(a.Closure, g.Subject) })
	a.Revokes = where(m.revokes, func(r authz.Revoke) bool { return r.UserID == userID })
	a.Roles = where(m.roles, func(r authz.Role) bool {
		return slices.ContainsFunc(a.Grants, func(g authz.Grant) bool { return g.RoleID == r.ID })
	})
	return a
}
