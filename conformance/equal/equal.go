// Package equal tries a storage driver against another one, for which drivers take
// the memory driver: whatever is written to both, both answer alike. The cases of
// package conformance are sentences of the contract; this is what they do not say,
// found by random operations.
//
// It knows the storage seam and no driver. It leaves out history and metrics where
// either driver does not declare them; it wants every other capability but watch.
package equal

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Drivers does the same random operations to a partition of either driver, over
// and over, each time to new ones, and fails on the first answer that differs.
func Drivers(t *testing.T, a, b storage.Driver) {
	t.Helper()
	partition := 0
	rapid.Check(t, func(rt *rapid.T) {
		partition++
		var stores [2]storage.Store
		for i, d := range []storage.Driver{a, b} {
			s, err := d.Open(t.Context(), fmt.Sprintf("p%d", partition))
			if err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
			stores[i] = s
		}
		e := equality{rt, stores[0], stores[1]}
		for i := range rapid.IntRange(1, 20).Draw(rt, "operations") {
			switch rapid.IntRange(0, 9).Draw(rt, "operation") {
			case 0:
				e.prune()
			case 1:
				e.metrics()
			default:
				e.commit(i)
			}
			e.reads()
		}
		e.lists()
	})
}

type equality struct {
	t    *rapid.T
	a, b storage.Store
}

// has says that both drivers have a capability.
func (e equality) has(c storage.Capability) bool {
	return e.a.Info().Capabilities.Has(c) && e.b.Info().Capabilities.Has(c)
}

// Answers compares what two drivers answered: JSON by value, and a refusal without
// its message.
var Answers = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.AllowUnexported(authz.Expiry{}),
	cmp.Comparer(func(a, b *storage.Error) bool { // messages may differ
		return a.Code == b.Code && a.Outcome == b.Outcome && a.Grants == b.Grants && a.Version == b.Version
	}),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return json.Valid(a) && json.Valid(b) },
		cmp.Comparer(func(a, b json.RawMessage) bool {
			var x, y any
			return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
		})),
}

func (e equality) same(what string, a, b any) {
	if diff := cmp.Diff(a, b, Answers); diff != "" {
		e.t.Fatalf("%s differs (-a +b):\n%s", what, diff)
	}
}

// both calls an operation of either store and compares the answers.
func both[T any](e equality, what string, call func(storage.Store) (T, error)) {
	a, errA := call(e.a)
	b, errB := call(e.b)
	e.same(what+": the error", errA, errB)
	e.same(what, a, b)
}

// bothFind is both for single rows.
func bothFind[T any](e equality, what string, call func(storage.Store) (T, bool, error)) {
	both(e, what, func(s storage.Store) (*T, error) {
		row, found, err := call(s)
		if !found {
			return nil, err
		}
		return &row, err
	})
}

// bothList is both for lists.
func bothList[T any](e equality, what string, call func(storage.Store) iter.Seq2[T, error]) {
	both(e, what, func(s storage.Store) (rows []T, err error) {
		for row, err := range call(s) {
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
		return rows, nil
	})
}

func oneOf(kind string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return kind + rapid.SampledFrom([]string{"", "1", "10", "é", "'%_"}).Draw(t, kind)
	})
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	if rapid.Bool().Draw(t, label+"?") {
		v := g.Draw(t, label)
		return &v
	}
	return nil
}

var (
	someSubject = rapid.Custom(func(t *rapid.T) string {
		kind := rapid.SampledFrom([]string{"user:u", "group:g", "orgof:u", "directs:u"}).Draw(t, "kind")
		return oneOf(kind).Draw(t, "subject")
	})
	someScope      = rapid.SampledFrom([]string{"*", "docs.doc:1", "docs.doc:10"})
	someInstant    = rapid.SampledFrom([]int64{-3, 0, 1, 2, 3, authz.MaxInstant})
	someProvenance = rapid.SampledFrom([]authz.Provenance{authz.AdminProvenance("root"), authz.AdminProvenance("u1"), authz.ImportProvenance("u1"),
		{Kind: authz.ProvenanceRequest, RequestID: "q", ApprovedBy: "u1"}})
	someState = rapid.SampledFrom([]authz.RequestState{authz.RequestPending, authz.RequestDenied})
	// An edge is there or it is not: lists of ends name none twice.
	someIDs = func(kind string) *rapid.Generator[[]string] {
		return rapid.SliceOfNDistinct(oneOf(kind), 0, 4, rapid.ID[string])
	}
)

func (e equality) commit(i int) {
	t := e.t
	c := storage.Commit{ID: fmt.Sprintf("commit-%d", rapid.IntRange(max(0, i-1), i).Draw(t, "id")), At: someInstant.Draw(t, "at"),
		Changes: rapid.SliceOfN(someChange, 0, 6).Draw(t, "changes")}
	for range rapid.IntRange(-6, 2).Draw(t, "requires") {
		c.Requires = append(c.Requires, someRequirement.Draw(t, "requirement"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "audit") {
		entry := authz.AuditEntry{ID: fmt.Sprint("a", rapid.IntRange(0, 200).Draw(t, "entry")), At: someInstant.Draw(t, "at"),
			Actor: oneOf("u").Draw(t, "actor"), Action: "grant.create", Target: oneOf("t").Draw(t, "target")}
		if rapid.Bool().Draw(t, "detail") {
			entry.Detail, entry.Hash = json.RawMessage(` {"x": [1, "é"]} `), "h"
			if rapid.Bool().Draw(t, "named") {
				named, err := json.Marshal(map[string]any{"x": map[string]any{"userId": oneOf("u").Draw(t, "named"), "y": rapid.SliceOfN(someSubject, 0, 3).Draw(t, "subjects")}})
				if err != nil {
					t.Fatal(err)
				}
				entry.Detail = named
			}
		}
		c.Audit = append(c.Audit, entry)
	}
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		c.Events = append(c.Events, rapid.SampledFrom([]authz.Event{authz.UserEvent("u"), authz.RoleEvent("r"), {Type: authz.EventAll}}).Draw(t, "event"))
	}
	both(e, "commit", func(s storage.Store) (storage.CommitResult, error) { return s.Commit(t.Context(), c) })
	bothFind(e, "commit read", func(s storage.Store) (storage.CommitResult, bool, error) { return s.GetCommit(t.Context(), c.ID) })
}

func (e equality) prune() {
	p := storage.PruneEvents{Before: maybe(e.t, someInstant, "before"), KeepRows: maybe(e.t, rapid.Int64Range(0, 4), "keep")}
	both(e, "prune", func(s storage.Store) (int64, error) { return s.PruneEvents(e.t.Context(), p) })
}

func (e equality) metrics() {
	if !e.has(storage.CapMetrics) {
		return
	}
	some := rapid.Custom(func(t *rapid.T) storage.MetricBucket {
		return storage.MetricBucket{Bucket: rapid.Int64Range(-1, 2).Draw(t, "bucket"), Dimension: rapid.SampledFrom([]string{"grant", "role"}).Draw(t, "dimension"),
			Subject: rapid.SampledFrom([]string{"a", "a:b", ""}).Draw(t, "subject"), Metric: rapid.SampledFrom([]string{"b:c", "c"}).Draw(t, "metric"),
			Count: rapid.SampledFrom([]int64{0, 1, 5, authz.MaxInstant, -1}).Draw(t, "count")}
	})
	deltas := rapid.SliceOfN(some, 0, 4).Draw(e.t, "deltas")
	both(e, "record metrics", func(s storage.Store) (any, error) { return nil, s.RecordMetrics(e.t.Context(), deltas) })
	f := storage.MetricFilter{Dimension: "grant", Since: maybe(e.t, rapid.Int64Range(-1, 2), "since"), Until: maybe(e.t, rapid.Int64Range(-1, 2), "until")}
	if rapid.Bool().Draw(e.t, "subjects?") {
		f.Subjects = append([]string{}, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a:b", "x"}), 0, 3).Draw(e.t, "subjects")...)
	}
	bothList(e, "metrics", func(s storage.Store) iter.Seq2[storage.MetricBucket, error] { return s.ReadMetrics(e.t.Context(), f) })
	if rapid.IntRange(0, 3).Draw(e.t, "prune metrics") == 0 {
		before := rapid.Int64Range(-1, 2).Draw(e.t, "before")
		both(e, "prune metrics", func(s storage.Store) (int64, error) { return s.PruneMetrics(e.t.Context(), before) })
	}
}

// reads asks for a part of what is there.
func (e equality) reads() {
	t, ctx := e.t, e.t.Context()
	f := storage.GrantFilter{Subject: maybe(t, someSubject, "subject"), Scope: maybe(t, someScope, "scope"), RoleID: maybe(t, rapid.SampledFrom([]string{"", "r", "r1"}), "role")}
	if rapid.Bool().Draw(t, "subjects?") {
		f.Subjects = append([]string{}, rapid.SliceOfN(someSubject, 0, 4).Draw(t, "subjects")...)
	}
	p := storage.Page{After: rapid.SampledFrom([]string{"", "g", "g1"}).Draw(t, "after"), Limit: rapid.IntRange(-1, 3).Draw(t, "limit")}
	bothList(e, "grants", func(s storage.Store) iter.Seq2[authz.Grant, error] { return s.ListGrants(ctx, f, p) })
	both(e, "grant count", func(s storage.Store) (int64, error) { return s.CountGrants(ctx, f) })
	user := oneOf("u").Draw(t, "user")
	q := storage.AccessQuery{UserID: user, Expand: rapid.Bool().Draw(t, "expand"), Subjects: f.Subjects}
	both(e, "access", func(s storage.Store) (storage.Access, error) { return s.ReadAccess(ctx, q) })
	rf := storage.RevokeFilter{UserID: maybe(t, oneOf("u"), "revoked"), Scope: f.Scope}
	bothList(e, "revokes", func(s storage.Store) iter.Seq2[authz.Revoke, error] { return s.ListRevokes(ctx, rf, p) })
	uf := storage.UserFilter{Active: maybe(t, rapid.Bool(), "active"), HasManager: maybe(t, rapid.Bool(), "manager")}
	bothList(e, "users", func(s storage.Store) iter.Seq2[authz.User, error] { return s.ListUsers(ctx, uf, p) })
	qf := storage.RequestFilter{State: maybe(t, someState, "state"), RequesterUserID: maybe(t, oneOf("u"), "requester"), RoleID: f.RoleID, Scope: f.Scope}
	qp := storage.RequestPage{AfterCreatedAt: someInstant.Draw(t, "after at"), AfterID: rapid.SampledFrom([]string{"", "q1"}).Draw(t, "after"), Limit: p.Limit}
	bothList(e, "requests", func(s storage.Store) iter.Seq2[authz.Request, error] { return s.ListRequests(ctx, qf, qp) })
	af := storage.AuditFilter{Target: maybe(t, oneOf("t"), "target"), Actor: maybe(t, oneOf("u"), "actor"), From: maybe(t, someInstant, "from"), To: maybe(t, someInstant, "to"),
		Limit: maybe(t, rapid.SampledFrom([]int64{-1, 0, 1, 2, 3, 1000}), "audit limit")}
	if rapid.Bool().Draw(t, "cursor?") {
		af.Cursor = &authz.AuditCursor{At: someInstant.Draw(t, "cursor"), ID: rapid.SampledFrom([]string{"", "a1", "a5"}).Draw(t, "cursor id")}
	}
	if e.has(storage.CapAuditSubjects) {
		af.Subject = maybe(t, someSubject, "audit subject")
	}
	bothList(e, "audit", func(s storage.Store) iter.Seq2[authz.AuditEntry, error] { return s.ListAudit(ctx, af) })
	seq, limit := rapid.Int64Range(-1, 9).Draw(t, "seq"), rapid.IntRange(-1, 9).Draw(t, "events")
	newest, _ := e.a.Head(ctx) // its error is compared below
	after := authz.Position{Seq: seq, Identity: rapid.SampledFrom([]string{"", "", "another", newest.Identity}).Draw(t, "identity")}
	both(e, "events", func(s storage.Store) (storage.EventPage, error) { return s.EventsSince(ctx, after, limit) })
	both(e, "head", func(s storage.Store) (authz.Position, error) { return s.Head(ctx) })
	xf := storage.RecordFilter{Index: rapid.IntRange(0, 4).Draw(t, "index"), Value: rapid.SampledFrom([]string{"", "k", "k1"}).Draw(t, "key")}
	bothList(e, "records", func(s storage.Store) iter.Seq2[storage.Record, error] { return s.ListRecords(ctx, "c", xf, p) })
	group := oneOf("g").Draw(t, "group")
	bothList(e, "members", func(s storage.Store) iter.Seq2[string, error] { return s.ListUsersInGroup(ctx, group, p) })
	if e.has(storage.CapLookups) {
		e.lookups(f.Subjects)
	}
	bothFind(e, "group", func(s storage.Store) (authz.Group, bool, error) { return s.GetGroup(ctx, group) })
	bothFind(e, "user", func(s storage.Store) (authz.User, bool, error) { return s.GetUser(ctx, user) })
}

// lookups asks what stands behind lists of who may.
func (e equality) lookups(subjects []string) {
	t, ctx := e.t, e.t.Context()
	limit := rapid.IntRange(-1, 3).Draw(t, "lookup limit")
	kind := rapid.SampledFrom(storage.EdgeKinds).Draw(t, "kind")
	of := map[storage.EdgeKind]*rapid.Generator[string]{storage.EdgeParent: someScope, storage.EdgeGroup: oneOf("g"), storage.EdgeOrg: oneOf("o"), storage.EdgeManager: oneOf("u")}[kind]
	ids, page := rapid.SliceOfN(of, 0, 4).Draw(t, "of"), storage.EdgePage{Limit: limit}
	if rapid.Bool().Draw(t, "edge after?") {
		page.AfterOf, page.AfterFrom = of.Draw(t, "after of"), rapid.SampledFrom([]string{"", "u", "u1", "docs.doc:1"}).Draw(t, "after from")
	}
	bothList(e, "edges", func(s storage.Store) iter.Seq2[storage.Edge, error] { return s.ListEdges(ctx, kind, ids, page) })
	scopes, at := rapid.SliceOfN(someScope, 0, 3).Draw(t, "scopes"), storage.GrantsAtPage{Limit: limit}
	if rapid.Bool().Draw(t, "grant after?") {
		at.AfterScope, at.AfterSubject, at.AfterID = someScope.Draw(t, "after scope"), someSubject.Draw(t, "after subject"), rapid.SampledFrom([]string{"", "g", "g1"}).Draw(t, "after grant")
	}
	bothList(e, "grants at", func(s storage.Store) iter.Seq2[authz.Grant, error] { return s.ListGrantsAt(ctx, scopes, at) })
	q := storage.PeopleQuery{UserIDs: rapid.SliceOfN(oneOf("u"), 0, 4).Draw(t, "people")}
	if rapid.Bool().Draw(t, "at scopes?") {
		q.Scopes = append([]string{}, scopes...)
	}
	q.WithoutGrants = rapid.IntRange(0, 3).Draw(t, "without grants?") == 0
	both(e, "people", func(s storage.Store) (storage.People, error) { return s.ReadPeople(ctx, q) })
	scopePage := storage.Page{After: rapid.SampledFrom([]string{"", "*", "docs.doc:1"}).Draw(t, "after scope"), Limit: limit}
	idPage := storage.Page{After: rapid.SampledFrom([]string{"", "u", "u1", "v"}).Draw(t, "after user"), Limit: limit}
	prefix := rapid.SampledFrom([]string{"", "u", "u1", "u1x", "g"}).Draw(t, "prefix")
	bothList(e, "user ids", func(s storage.Store) iter.Seq2[string, error] { return s.ListUserIDs(ctx, prefix, idPage) })
	bothList(e, "scopes", func(s storage.Store) iter.Seq2[string, error] { return s.ListScopes(ctx, scopePage) })
	search, found := e.search(), storage.FoundPage{Limit: limit}
	if after := rapid.SampledFrom([]string{"", "g", "g1", "g9"}).Draw(t, "after grant"); after != "" {
		found.After = authz.GrantPlace{At: someInstant.Draw(t, "after instant"), ID: after}
	}
	bothList(e, "found grants", func(s storage.Store) iter.Seq2[authz.Grant, error] { return s.FindGrants(ctx, search, found) })
}

// search draws what grants are looked for by.
func (e equality) search() (q authz.GrantSearch) {
	t := e.t
	q.Subject, q.Scope, q.RoleID = maybe(t, someSubject, "subject"), maybe(t, someScope, "scope"), maybe(t, rapid.SampledFrom([]string{"", "r", "r1"}), "role")
	q.Pattern, q.Actor = maybe(t, rapid.SampledFrom([]string{"", "docs.read", "docs"}), "pattern"), maybe(t, rapid.SampledFrom([]string{"", "root", "u1"}), "actor")
	q.Instances, q.Expires = rapid.Bool().Draw(t, "instances"), maybe(t, rapid.Bool(), "expires")
	q.ExpiresFrom, q.ExpiresTo = maybe(t, someInstant, "expires from"), maybe(t, someInstant, "expires to")
	q.CreatedFrom, q.CreatedTo = maybe(t, someInstant, "created from"), maybe(t, someInstant, "created to")
	q.Order = rapid.SampledFrom([]authz.GrantOrder{authz.GrantsByID, authz.GrantsNewest, authz.GrantsExpiring}).Draw(t, "order")
	return q
}

// lists compares everything that is there.
func (e equality) lists() {
	ctx := e.t.Context()
	bothList(e, "all grants", func(s storage.Store) iter.Seq2[authz.Grant, error] {
		return s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})
	})
	bothList(e, "all roles", func(s storage.Store) iter.Seq2[authz.Role, error] { return s.ListRoles(ctx, storage.Page{}) })
	bothList(e, "all groups", func(s storage.Store) iter.Seq2[authz.Group, error] { return s.ListGroups(ctx, storage.Page{}) })
	bothList(e, "all users", func(s storage.Store) iter.Seq2[authz.User, error] {
		return s.ListUsers(ctx, storage.UserFilter{}, storage.Page{})
	})
	if e.has(storage.CapHistory) {
		bothList(e, "all versions", func(s storage.Store) iter.Seq2[storage.CatalogVersion, error] { return s.ListCatalogVersions(ctx) })
		bothFind(e, "catalog version", func(s storage.Store) (storage.CatalogVersion, bool, error) { return s.GetCatalogVersion(ctx, 2) })
	}
	bothFind(e, "catalog", func(s storage.Store) (storage.CatalogHead, bool, error) { return s.GetCatalog(ctx) })
	bothFind(e, "imports", func(s storage.Store) (storage.ImportsHead, bool, error) { return s.GetImports(ctx) })
	both(e, "roles", func(s storage.Store) ([]authz.Role, error) { return s.GetRoles(ctx, []string{"r", "r1", "r", "x"}) })
	both(e, "scope parents", func(s storage.Store) (map[string][]string, error) {
		return s.GetScopeParents(ctx, []string{"*", "docs.doc:1", "docs.doc:10", "*"})
	})
}

func someGrant(t *rapid.T) authz.Grant {
	g := authz.Grant{ID: oneOf("g").Draw(t, "id"), Subject: someSubject.Draw(t, "subject"), Scope: someScope.Draw(t, "scope"),
		Provenance: someProvenance.Draw(t, "provenance"), CreatedAt: someInstant.Draw(t, "createdAt")}
	if role := maybe(t, oneOf("r"), "role"); role != nil {
		g.RoleID = *role
	} else {
		g.Pattern = "docs.read"
	}
	if at := maybe(t, someInstant, "expires"); at != nil {
		g.ExpiresAt = authz.ExpiresAt(*at)
	}
	return g
}

func someRequest(t *rapid.T) authz.Request {
	return authz.Request{ID: oneOf("q").Draw(t, "id"), RequesterUserID: oneOf("u").Draw(t, "requester"), RoleID: rapid.SampledFrom([]string{"", "r"}).Draw(t, "role"),
		Scope: someScope.Draw(t, "scope"), State: someState.Draw(t, "state"), StageIndex: rapid.Int64Range(0, 1).Draw(t, "stage"),
		CreatedAt: someInstant.Draw(t, "createdAt"), DecidedAt: maybe(t, someInstant, "decided"), Justification: map[string]string{"why": "é"}}
}

func someUser(t *rapid.T) authz.User {
	u := authz.User{UserID: oneOf("u").Draw(t, "user"), Active: rapid.Bool().Draw(t, "active"), GroupIDs: someIDs("g").Draw(t, "groups"),
		OrgIDs: rapid.SliceOfN(oneOf("o"), 0, 3).Draw(t, "orgs")}
	if manager := maybe(t, oneOf("u"), "manager"); manager != nil {
		u.ManagerUserID = *manager
	}
	return u
}

var someRequirement = rapid.Custom(func(t *rapid.T) storage.Requirement {
	switch rapid.IntRange(0, 2).Draw(t, "requirement") {
	case 0:
		return storage.RequireRole{ID: oneOf("r").Draw(t, "required")}
	case 1:
		return storage.RequireHead{Seq: rapid.Int64Range(0, 3).Draw(t, "head")}
	default:
		return storage.RequireRecord{Collection: "c", ID: oneOf("i").Draw(t, "record"), Version: rapid.Int64Range(0, 2).Draw(t, "version")}
	}
})

var someChange = rapid.Custom(func(t *rapid.T) storage.Change {
	id := func(kind string) string { return oneOf(kind).Draw(t, "id") }
	mustExist := rapid.IntRange(0, 4).Draw(t, "mustExist") == 0
	expect := maybe(t, rapid.Int64Range(0, 2), "expect")
	expectRequest := func() *storage.RequestExpect {
		if expect == nil {
			return nil
		}
		return &storage.RequestExpect{State: authz.RequestPending, StageIndex: *expect % 2}
	}
	switch rapid.IntRange(0, 20).Draw(t, "change") {
	case 0, 1, 2:
		return storage.InsertGrant{Grant: someGrant(t)}
	case 3:
		return storage.DeleteGrant{ID: id("g"), MustExist: mustExist}
	case 4:
		return storage.InsertRevoke{Revoke: authz.Revoke{ID: id("v"), UserID: id("u"), Pattern: "docs.read", Scope: someScope.Draw(t, "scope"), Provenance: authz.AdminProvenance("root")}}
	case 5:
		return storage.DeleteRevoke{ID: id("v"), MustExist: mustExist}
	case 6:
		r := authz.Role{ID: id("r"), Name: id("n"), Patterns: []string{"b", "a"}}
		if mustExist {
			r.Requestable = &authz.Requestable{MaxDurationMs: 7}
		}
		return storage.UpsertRole{Role: r}
	case 7:
		return storage.DeleteRole{ID: id("r"), Unnamed: rapid.Bool().Draw(t, "unnamed")}
	case 8, 9:
		return storage.UpsertGroup{Group: authz.Group{ID: id("g"), Name: id("n"), Virtual: mustExist, Parents: someIDs("g").Draw(t, "parents")}}
	case 10:
		return storage.DeleteGroup{ID: id("g")}
	case 11, 12:
		return storage.UpsertUser{User: someUser(t)}
	case 13:
		return storage.DeleteUser{UserID: id("u")}
	case 14:
		u := someUser(t)
		p := storage.PatchUser{UserID: u.UserID}
		if rapid.Bool().Draw(t, "active?") {
			p.Active = &u.Active
		}
		if rapid.Bool().Draw(t, "groups?") {
			p.GroupIDs = &u.GroupIDs
		}
		if rapid.Bool().Draw(t, "orgs?") {
			p.OrgIDs = &u.OrgIDs
		}
		if rapid.Bool().Draw(t, "manager?") {
			p.ManagerUserID = &u.ManagerUserID
		}
		return p
	case 15:
		return storage.InsertRequest{Request: someRequest(t)}
	case 16:
		if mustExist {
			return storage.DeleteRequest{ID: id("q"), MustExist: rapid.Bool().Draw(t, "must"), Expect: expectRequest()}
		}
		return storage.UpdateRequest{Request: someRequest(t), Expect: expectRequest()}
	case 17:
		if mustExist {
			return storage.DeleteScopeParents{Scope: someScope.Draw(t, "scope")}
		}
		return storage.PutScopeParents{Scope: someScope.Draw(t, "scope"), Parents: rapid.SliceOfN(someScope, 0, 2).Draw(t, "parents")}
	case 18:
		return storage.DeleteRecord{Collection: "c", ID: id("i"), Expect: rapid.Int64Range(0, 2).Draw(t, "version")}
	case 19:
		version := rapid.Int64Range(1, 3).Draw(t, "version")
		if mustExist {
			return storage.PutImports{Version: version, Manifest: json.RawMessage(`{"m":1}`), Expect: expect}
		}
		return storage.PutCatalog{Version: version, Document: json.RawMessage(fmt.Sprintf(`{"v":%d}`, version)), PublishedAt: someInstant.Draw(t, "published"), Expect: expect}
	default:
		return storage.PutRecord{Expect: rapid.Int64Range(0, 2).Draw(t, "version"),
			Record: storage.Record{Collection: "c", ID: id("i"), Data: json.RawMessage(`{}`), Keys: [4]string{id("k"), "", id("k")}, UpdatedAt: 5}}
	}
})
