package pluginhost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// across is one store twice: in this process, and in a plugin's.
func across(t *testing.T) (local, remote storage.Store) {
	t.Helper()
	_, d := startMemory(t, newHost(t, pluginhost.Options{}))
	local, err := memory.New(memory.Options{}).Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	return local, open(t, d)
}

func ptr[T any](v T) *T { return &v }

// world holds every entity, bare and with every member.
func world() []storage.Commit {
	everyProvenance := authz.Provenance{Kind: authz.ProvenanceDissolution, VirtualParentID: "v", OriginalGrantID: "o", Note: "n", Via: "billing"}
	requestable := &authz.Requestable{MaxDurationMs: 9, RequireExpiry: true,
		Prompts: []authz.Prompt{{ID: "p", Label: "Why?", Kind: "text", Options: []string{"a", "b"}, Required: ptr(false)}},
		Stages: []authz.Stage{{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateInGroup, GroupID: "g1"}},
			{Kind: authz.StageManagement, Layers: ptr(int64(2))}, {Kind: authz.StageNamedApprovers, RoleID: "r1"}}}
	bare := authz.Request{ID: "q1", RequesterUserID: "u1", Pattern: "docs.**", Scope: "*", State: authz.RequestPending, CreatedAt: 7}
	full := authz.Request{ID: "q2", RequesterUserID: "u2", RoleID: "r1", Scope: "docs.doc:1", ProposedExpiresAt: authz.ExpiresAt(authz.MaxInstant),
		Justification: map[string]string{"p": "because Ä\u2028"}, State: authz.RequestApproved, StageIndex: 1, Stages: requestable.Stages,
		Decisions: []authz.Decision{{StageIndex: 0, DecidedBy: "auto", Decision: "approved", At: 5, Note: "ok"}}, CreatedAt: 6, DecidedAt: ptr(int64(8))}
	return []storage.Commit{
		{ID: "rows", At: 10,
			Changes: []storage.Change{
				storage.UpsertRole{Role: authz.Role{ID: "r1", Name: "Editor", Description: "d", Patterns: []string{"docs.a", "docs.b"}, Requestable: requestable}},
				storage.UpsertRole{Role: authz.Role{ID: "r2", Name: "Bare"}},
				storage.UpsertRole{Role: authz.Role{ID: "gone", Name: "x"}},
				storage.InsertGrant{Grant: authz.Grant{ID: "g1", Subject: "user:u1", RoleID: "r1", Scope: "*", ExpiresAt: authz.ExpiresAt(0), Provenance: everyProvenance, CreatedAt: 1}},
				storage.InsertGrant{Grant: authz.Grant{ID: "g2", Subject: "group:Ä", Pattern: "docs.**", Scope: "docs.doc:1", Provenance: authz.AdminProvenance("u9"), CreatedAt: 2}},
				storage.InsertGrant{Grant: authz.Grant{ID: "g3", Subject: "everyone", RoleID: "dangling", Scope: "*", Provenance: authz.ImportProvenance("ldap")}},
				storage.InsertRevoke{Revoke: authz.Revoke{ID: "v1", UserID: "u1", Pattern: "docs.a", Scope: "*", Provenance: authz.AdminProvenance("u9"), CreatedAt: 3}},
				storage.InsertRevoke{Revoke: authz.Revoke{ID: "v2", UserID: "u2", Pattern: "*", Scope: "docs.doc:1", Provenance: everyProvenance}},
				storage.UpsertGroup{Group: authz.Group{ID: "g1", Name: "One", Description: "d", Parents: []string{"z", "a"}, Virtual: true}},
				storage.UpsertGroup{Group: authz.Group{ID: "g2", Name: "Bare"}},
				storage.UpsertGroup{Group: authz.Group{ID: "g3", Name: "x"}},
				storage.UpsertUser{User: authz.User{UserID: "u1", Active: true, GroupIDs: []string{"g2", "g1"}, OrgIDs: []string{"o2", "o1"}, ManagerUserID: "u2"}},
				storage.UpsertUser{User: authz.User{UserID: "u2"}},
				storage.UpsertUser{User: authz.User{UserID: "u3", Active: true}},
				storage.InsertRequest{Request: bare}, storage.InsertRequest{Request: full},
				storage.PutCatalog{Version: 1, Document: json.RawMessage(`{"v":1.50}`), PublishedAt: 100, Expect: ptr(int64(0))},
				storage.PutImports{Version: 3, Manifest: json.RawMessage(`{"m":null}`)},
				storage.PutScopeParents{Scope: "docs.doc:1", Parents: []string{"docs.folder:2", "docs.folder:1"}},
				storage.PutScopeParents{Scope: "docs.folder:1"},
				storage.PutScopeParents{Scope: "docs.folder:9", Parents: []string{"x"}},
				storage.PutRecord{Record: storage.Record{Collection: "system", ID: "authority", Data: json.RawMessage(`{"orgRoot":true}`), Keys: [4]string{"k", "", "k3"}, UpdatedAt: 5}},
				storage.PutRecord{Record: storage.Record{Collection: "system", ID: "other", Data: json.RawMessage(`1`), Keys: [4]string{1: "k2"}}},
			},
			Audit: []authz.AuditEntry{
				{ID: "b", At: 5, Actor: "a1", Action: "grant.create", Target: "g1", Detail: json.RawMessage(`{"n":1e3}`), PrevHash: "p", Hash: "h"},
				{ID: "a", At: 5, Actor: "a2", Action: "role.upsert", Target: "r1"}, {ID: "c", At: 1, Actor: "a1", Action: "x", Target: "r1"}},
			Events: []authz.Event{authz.UserEvent("u1"), authz.SubjectEvent("group:Ä"), authz.RoleEvent("r1"), authz.ScopeEvent("docs.doc:1"),
				{Type: authz.EventCatalog}, {Type: authz.EventAll}}},
		{ID: "changes", At: 20,
			Requires: []storage.Requirement{storage.RequireRole{ID: "r1"}, storage.RequireRecord{Collection: "system", ID: "authority", Version: 1}, storage.RequireHead{Seq: 6}},
			Changes: []storage.Change{
				storage.PatchUser{UserID: "u2", Active: ptr(true), GroupIDs: &[]string{"g1"}, OrgIDs: &[]string{}, ManagerUserID: ptr("u3")},
				storage.PatchUser{UserID: "u1", ManagerUserID: ptr("")},
				storage.PatchUser{UserID: "new"},
				storage.DeleteRole{ID: "gone", Unnamed: true}, storage.DeleteGroup{ID: "g3"}, storage.DeleteUser{UserID: "u3"},
				storage.DeleteGrant{ID: "g3", MustExist: true}, storage.DeleteGrant{ID: "absent"}, storage.DeleteRevoke{ID: "v2", MustExist: true},
				storage.UpdateRequest{Request: full, Expect: &storage.RequestExpect{State: authz.RequestApproved, StageIndex: 1}},
				storage.DeleteRequest{ID: "q1", MustExist: true, Expect: &storage.RequestExpect{State: authz.RequestPending}},
				storage.PutCatalog{Version: 2, Document: json.RawMessage(`{"v":2}`), PublishedAt: 200, Expect: ptr(int64(1))},
				storage.DeleteScopeParents{Scope: "docs.folder:9"},
				storage.PutRecord{Record: storage.Record{Collection: "system", ID: "authority", Data: json.RawMessage(`{}`)}, Expect: 1},
				storage.DeleteRecord{Collection: "system", ID: "other", Expect: 1},
			},
			Events: []authz.Event{authz.SubjectEvent("user:u1")}},
	}
}

type answer struct {
	Value any
	Found bool
	Err   *storage.Error
}

func found[T any](v T, ok bool, err error) answer {
	return answer{Value: v, Found: ok, Err: typed(err)}
}

func value[T any](v T, err error) answer { return answer{Value: v, Err: typed(err)} }

func rows[T any](seq iter.Seq2[T, error]) answer {
	var out []T
	for v, err := range seq {
		if err != nil {
			return value(out, err)
		}
		out = append(out, v)
	}
	return answer{Value: out}
}

func typed(err error) *storage.Error {
	var e *storage.Error
	if err != nil && !errors.As(err, &e) {
		return &storage.Error{Message: "not typed: " + err.Error()}
	}
	return e
}

// reads asks everything that the interface can be asked.
func reads(ctx context.Context, s storage.Store) map[string]answer {
	all, empty := storage.Page{}, ""
	out := map[string]answer{}
	for _, id := range []string{"g1", "g2", "g3", "r1", "r2", "gone", "v1", "v2", "u1", "u2", "u3", "new", "q1", "q2", "rows", "changes", "none"} {
		out["grant "+id] = found(s.GetGrant(ctx, id))
		out["revoke "+id] = found(s.GetRevoke(ctx, id))
		out["role "+id] = found(s.GetRole(ctx, id))
		out["group "+id] = found(s.GetGroup(ctx, id))
		out["user "+id] = found(s.GetUser(ctx, id))
		out["request "+id] = found(s.GetRequest(ctx, id))
		out["commit "+id] = found(s.GetCommit(ctx, id))
		out["members "+id] = rows(s.ListUsersInGroup(ctx, id, all))
	}
	for name, f := range map[string]storage.GrantFilter{
		"all": {}, "subject": {Subject: ptr("group:Ä")}, "subjects": {Subjects: []string{"user:u1", "group:Ä"}}, "no subjects": {Subjects: []string{}},
		"scope": {Scope: ptr("*")}, "role": {RoleID: ptr("r1")}, "empty role": {RoleID: &empty},
		"contradiction": {Subject: ptr("user:u1"), Subjects: []string{"user:u2"}}, "combined": {Scope: ptr("*"), RoleID: ptr("r1")},
	} {
		out["grants "+name] = rows(s.ListGrants(ctx, f, all))
		out["count "+name] = value(s.CountGrants(ctx, f))
	}
	for name, p := range map[string]storage.Page{"first": {Limit: 1}, "next": {After: "g1", Limit: 1}, "end": {After: "z"}} {
		out["grants page "+name] = rows(s.ListGrants(ctx, storage.GrantFilter{}, p))
		out["roles page "+name] = rows(s.ListRoles(ctx, p))
		out["groups page "+name] = rows(s.ListGroups(ctx, p))
		out["users page "+name] = rows(s.ListUsers(ctx, storage.UserFilter{}, p))
		out["records page "+name] = rows(s.ListRecords(ctx, "system", storage.RecordFilter{}, p))
	}
	for name, f := range map[string]storage.RevokeFilter{"all": {}, "user": {UserID: ptr("u1")}, "scope": {Scope: ptr("*")}, "nobody": {UserID: &empty}} {
		out["revokes "+name] = rows(s.ListRevokes(ctx, f, all))
	}
	for name, f := range map[string]storage.UserFilter{"all": {}, "active": {Active: ptr(true)}, "inactive": {Active: ptr(false)}, "managed": {HasManager: ptr(true)}, "unmanaged": {HasManager: ptr(false)}} {
		out["users "+name] = rows(s.ListUsers(ctx, f, all))
	}
	for name, f := range map[string]storage.RequestFilter{"all": {}, "state": {State: ptr(authz.RequestApproved)}, "user": {RequesterUserID: ptr("u2")}, "role": {RoleID: &empty}, "scope": {Scope: ptr("docs.doc:1")}} {
		out["requests "+name] = rows(s.ListRequests(ctx, f, storage.RequestPage{}))
		out["requests after "+name] = rows(s.ListRequests(ctx, f, storage.RequestPage{AfterCreatedAt: 6, AfterID: "q2", Limit: 1}))
	}
	for name, f := range map[string]storage.AuditFilter{
		"all": {}, "target": {Target: ptr("r1")}, "actor": {Actor: ptr("a1")}, "action": {Action: ptr("x")}, "window": {From: ptr(int64(1)), To: ptr(int64(5))},
		"newest": {Limit: ptr(int64(1))}, "none": {Limit: ptr(int64(0))}, "negative": {Limit: ptr(int64(-1))},
		"cursor": {Cursor: &authz.AuditCursor{At: 5, ID: "a"}, Limit: ptr(int64(2))}, "start": {Cursor: &authz.AuditCursor{}, Limit: ptr(int64(2))},
		"beyond": {From: ptr(int64(authz.MaxInstant + 1))}, "subject": {Subject: ptr("user:a1")}, "nobody": {Subject: &empty},
	} {
		out["audit "+name] = rows(s.ListAudit(ctx, f))
	}
	out["catalog"] = found(s.GetCatalog(ctx))
	for v := range int64(4) {
		out[fmt.Sprint("catalog ", v)] = found(s.GetCatalogVersion(ctx, v))
	}
	out["catalog versions"] = rows(s.ListCatalogVersions(ctx))
	out["imports"] = found(s.GetImports(ctx))
	out["head"] = value(s.Head(ctx))
	for _, q := range [][2]int64{{0, 10}, {0, 2}, {6, 10}, {99, 1}, {0, 0}, {0, -1}, {-1, 1}} {
		out[fmt.Sprint("events ", q)] = value(s.EventsSince(ctx, authz.Position{Seq: q[0]}, int(q[1])))
	}
	rowsEnd := storage.Follow("", "rows", 6)
	for _, p := range []authz.Position{{Seq: 6, Identity: rowsEnd}, {Seq: 6, Identity: "another"}, {Seq: 99, Identity: rowsEnd}} {
		out[fmt.Sprint("events after ", p)] = value(s.EventsSince(ctx, p, 10))
	}
	out["parents"] = value(s.GetScopeParents(ctx, []string{"docs.doc:1", "docs.folder:1", "docs.folder:9", "none"}))
	out["no parents"] = value(s.GetScopeParents(ctx, nil))
	out["roles by id"] = value(s.GetRoles(ctx, []string{"r2", "none", "r2"}))
	out["no roles"] = value(s.GetRoles(ctx, nil))
	for _, id := range []string{"authority", "other"} {
		out["record "+id] = found(s.GetRecord(ctx, "system", id))
	}
	out["records by key"] = rows(s.ListRecords(ctx, "system", storage.RecordFilter{Index: 1, Value: "k"}, all))
	for name, q := range map[string]storage.AccessQuery{"user": {UserID: "u1", Subjects: []string{"user:u1", "group:Ä", "everyone"}}, "stranger": {UserID: "x", Subjects: []string{"user:x"}},
		"nobody": {}, "expanded": {UserID: "u1", Expand: true}, "service": {Subjects: []string{"everyone"}}} {
		out["access "+name] = value(s.ReadAccess(ctx, q))
	}
	for name, f := range map[string]storage.MetricFilter{"all": {Dimension: "role"}, "subjects": {Dimension: "role", Subjects: []string{"a"}}, "no subjects": {Dimension: "role", Subjects: []string{}},
		"window": {Dimension: "role", Since: ptr(int64(60)), Until: ptr(int64(120))}, "no dimension": {}} {
		out["metrics "+name] = rows(s.ReadMetrics(ctx, f))
	}
	return out
}

// sameAnswers compares; a row's nil and empty lists are one.
func sameAnswers(t *testing.T, when string, local, remote storage.Store) {
	t.Helper()
	want, got := reads(t.Context(), local), reads(t.Context(), remote)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(storage.Error{}, "Cause"),
		cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); diff != "" {
		t.Errorf("%s (-in process +through the plugin):\n%s", when, diff)
	}
}

func TestTheWholeInterfaceAnswersThroughAPluginAsInProcess(t *testing.T) {
	local, remote := across(t)
	sameAnswers(t, "empty", local, remote)
	both := func(what string, call func(storage.Store) answer) {
		t.Helper()
		want, got := call(local), call(remote)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(storage.Error{}, "Cause"),
			cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); diff != "" {
			t.Errorf("%s (-in process +through the plugin):\n%s", what, diff)
		}
	}
	ctx := t.Context()
	for _, c := range world() {
		for _, try := range []string{"", " again"} {
			both("commit "+c.ID+try, func(s storage.Store) answer { return value(s.Commit(ctx, c)) })
		}
		sameAnswers(t, "after "+c.ID, local, remote)
	}
	if r, err := remote.Commit(ctx, world()[0]); err != nil || !r.Replayed || r.UpTo.Seq != 6 {
		t.Errorf("the first commit sent again gave %+v, %v", r, err)
	}
	refused := map[string]storage.Commit{
		"another content": {ID: "rows", At: 11},
		"a taken id":      {ID: "c1", Changes: []storage.Change{storage.InsertGrant{Grant: authz.Grant{ID: "g1", Subject: "user:u1", Pattern: "a", Scope: "*"}}}},
		"a role in use":   {ID: "c2", Changes: []storage.Change{storage.DeleteRole{ID: "r1", Unnamed: true}}},
		"an absent row":   {ID: "c3", Changes: []storage.Change{storage.DeleteGrant{ID: "none", MustExist: true}}},
		"a moved record":  {ID: "c4", Changes: []storage.Change{storage.PutRecord{Record: storage.Record{Collection: "system", ID: "authority", Data: json.RawMessage(`1`)}, Expect: 1}}},
		"a moved catalog": {ID: "c5", Changes: []storage.Change{storage.PutCatalog{Version: 9, Document: json.RawMessage(`1`), Expect: ptr(int64(1))}}},
		"a moved head":    {ID: "c6", Requires: []storage.Requirement{storage.RequireHead{Seq: 1}}},
		"an absent role":  {ID: "c7", Requires: []storage.Requirement{storage.RequireRole{ID: "none"}}},
		"a foreign fence": {ID: "c8", Fences: []storage.Fence{{Key: "groups", Fence: 1}}},
		"U+0000":          {ID: "c9", Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "a\x00"}}}},
		"no id":           {},
	}
	for name, c := range refused {
		both(name, func(s storage.Store) answer { return value(s.Commit(ctx, c)) })
	}
	both("metrics", func(s storage.Store) answer {
		return value(0, s.RecordMetrics(ctx, []storage.MetricBucket{{Bucket: 60, Dimension: "role", Subject: "a", Metric: "matched", Count: 3},
			{Bucket: 120, Dimension: "role", Subject: "b", Metric: "matched", Count: authz.MaxInstant}}))
	})
	both("a negative count", func(s storage.Store) answer {
		return value(0, s.RecordMetrics(ctx, []storage.MetricBucket{{Bucket: 60, Dimension: "role", Subject: "a", Metric: "matched", Count: -1}}))
	})
	sameAnswers(t, "with metrics", local, remote)
	both("prune metrics", func(s storage.Store) answer { return value(s.PruneMetrics(ctx, 120)) })
	both("prune events by age", func(s storage.Store) answer {
		return value(s.PruneEvents(ctx, storage.PruneEvents{Before: ptr(int64(20))}))
	})
	both("prune events by rows", func(s storage.Store) answer {
		return value(s.PruneEvents(ctx, storage.PruneEvents{KeepRows: ptr(int64(0))}))
	})
	both("prune nothing", func(s storage.Store) answer { return value(s.PruneEvents(ctx, storage.PruneEvents{})) })
	sameAnswers(t, "after pruning", local, remote)
}

func TestWhatOneMessageCannotHoldCrossesWhole(t *testing.T) {
	_, s := across(t)
	ctx := t.Context()
	document := json.RawMessage(`{"text":"` + strings.Repeat("Ä document… ", 6<<20/14) + `"}`)
	if _, err := s.Commit(ctx, storage.Commit{ID: "document", Changes: []storage.Change{storage.PutCatalog{Version: 1, Document: document}}}); err != nil {
		t.Fatal(err)
	}
	head, ok, err := s.GetCatalog(ctx)
	if err != nil || !ok || string(head.Document) != string(document) || len(document) < 6<<20 {
		t.Errorf("a document of %d bytes came back with %d, %v, %v", len(document), len(head.Document), ok, err)
	}

	many := storage.Commit{ID: "many"}
	for i := range 2500 {
		many.Changes = append(many.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%04d", i), Subject: fmt.Sprintf("user:%d", i),
			Pattern: "docs.**", Scope: "*", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem, Note: fmt.Sprint(i, strings.Repeat("n", 2000))}}})
	}
	if _, err := s.Commit(ctx, many); err != nil {
		t.Fatal(err)
	}
	next := 0
	for g, err := range s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil || g.ID != fmt.Sprintf("g%04d", next) {
			t.Fatalf("row %d is %q, %v", next, g.ID, err)
		}
		next++
	}
	if n, err := s.CountGrants(ctx, storage.GrantFilter{}); next != 2500 || n != 2500 || err != nil {
		t.Errorf("%d listed, %d counted, %v", next, n, err)
	}
	subjects := make([]string, 5000)
	for i := range subjects {
		subjects[i] = fmt.Sprintf("user:%d", i)
	}
	if a, err := s.ReadAccess(ctx, storage.AccessQuery{Subjects: subjects}); err != nil || len(a.Grants) != 2500 {
		t.Errorf("the access of 5,000 subjects has %d grants, %v", len(a.Grants), err)
	}
	gone := storage.Commit{ID: "gone"}
	for _, c := range many.Changes {
		gone.Changes = append(gone.Changes, storage.DeleteGrant{ID: c.(storage.InsertGrant).Grant.ID})
	}
	for _, again := range []bool{false, true} {
		result, err := s.Commit(ctx, gone)
		if err != nil || result.Replayed != again || len(result.Results) != len(many.Changes) || result.Results[7].Grant.ID != "g0007" {
			t.Errorf("sent again %v: %d results, replayed %v, %v", again, len(result.Results), result.Replayed, err)
		}
	}
	many.ID = "many again"
	if _, err := s.Commit(ctx, many); err != nil {
		t.Fatal(err)
	}
	// A single row beyond one message, and a filter beyond one message.
	wide := authz.User{UserID: "wide", Active: true}
	for i := range 100_000 {
		wide.GroupIDs = append(wide.GroupIDs, fmt.Sprintf("group-with-a-rather-long-name-%08d-and-more-of-it", i))
	}
	if _, err := s.Commit(ctx, storage.Commit{ID: "wide", Changes: []storage.Change{storage.UpsertUser{User: wide}}}); err != nil {
		t.Fatal(err)
	}
	listed := rows(s.ListUsers(ctx, storage.UserFilter{}, storage.Page{}))
	if diff := cmp.Diff([]authz.User{wide}, listed.Value, cmpopts.EquateEmpty()); diff != "" || listed.Err != nil {
		t.Error("the wide row changed: ", listed.Err)
	}
	if n, err := s.CountGrants(ctx, storage.GrantFilter{Subjects: append(wide.GroupIDs, "user:7")}); n != 1 || err != nil {
		t.Errorf("a filter of %d subjects counts %d, %v", len(wide.GroupIDs)+1, n, err)
	}
	if seven := rows(s.ListGrants(ctx, storage.GrantFilter{Subjects: append(wide.GroupIDs, "user:7")}, storage.Page{})); seven.Err != nil || len(seven.Value.([]authz.Grant)) != 1 {
		t.Errorf("a filter of %d subjects lists %v", len(wide.GroupIDs)+1, seven)
	}
	var counts []storage.MetricBucket
	for _, id := range wide.GroupIDs[:50_000] {
		counts = append(counts, storage.MetricBucket{Bucket: 60, Dimension: "role", Subject: id, Metric: "matched", Count: 1})
	}
	if err := s.RecordMetrics(ctx, counts); err != nil {
		t.Error(err)
	}
	if n := len(rows(s.ReadMetrics(ctx, storage.MetricFilter{Dimension: "role", Subjects: wide.GroupIDs})).Value.([]storage.MetricBucket)); n != len(counts) {
		t.Errorf("of %d counters %d are there", len(counts), n)
	}
}

func TestAListThatIsAbandonedEnds(t *testing.T) {
	_, s := across(t)
	many := storage.Commit{ID: "many"}
	for i := range 5000 {
		many.Changes = append(many.Changes, storage.UpsertGroup{Group: authz.Group{ID: fmt.Sprintf("g%04d", i), Name: strings.Repeat("n", 1000)}})
	}
	if _, err := s.Commit(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	list := s.ListGroups(t.Context(), storage.Page{})
	for range 2 { // a sequence can be used again
		seen := 0
		for _, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == 10 {
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, last := 0, error(nil)
	for _, err := range s.ListGroups(ctx, storage.Page{}) {
		if seen++; seen == 10 {
			cancel()
		}
		last = err
	}
	if storage.CodeOf(last) != storage.CodeUnavailable || !errors.Is(last, context.Canceled) || seen == 5000 {
		t.Errorf("a cancelled list ended after %d rows with %v", seen, last)
	}
	// Rows go on being served at the consumer's pace.
	seen = 0
	for _, err := range s.ListGroups(t.Context(), storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen%1000 == 0 {
			time.Sleep(30 * time.Millisecond)
		}
	}
	if seen != 5000 {
		t.Errorf("a slow reader saw %d rows", seen)
	}
}
