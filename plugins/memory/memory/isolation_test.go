package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestIsolation(t *testing.T) {
	for _, names := range [][2]string{{"a", "b"}, {"docs", "docs_eu"}, {"a", "a-b"}, {"", "a"}, {"__mesh", "mesh"}} {
		t.Run(fmt.Sprintf("%q and %q", names[0], names[1]), func(t *testing.T) {
			cases := make([]contractCase, len(isolationCases))
			for i, c := range isolationCases {
				cases[i] = contractCase{c.id, c.says, func(w *world) { c.run(w, w.open(names[0]), w.open(names[1])) }}
			}
			runCases(t, memoryFactory, cases)
		})
	}
}

// everything writes one row of each kind, all named alike and marked by the
// partition's own name.
func (s *named) everything(mark string) {
	s.w.Helper()
	q := request("x", 1)
	q.Scope = "docs.doc:" + mark
	s.do(storage.Commit{ID: "same id", At: 1, Audit: []authz.AuditEntry{{ID: "x", Actor: mark}}, Events: []authz.Event{authz.UserEvent(mark)},
		Changes: []storage.Change{
			storage.InsertGrant{Grant: grant("x", "user:u", ofRole("r"), at("docs.doc:"+mark))}, storage.InsertGrant{Grant: grant("only-"+mark, "group:"+mark)},
			storage.InsertRevoke{Revoke: revoke("x", "u", "docs.doc:"+mark)}, storage.InsertRequest{Request: q},
			storage.UpsertRole{Role: authz.Role{ID: "r", Name: mark}}, storage.UpsertGroup{Group: authz.Group{ID: "g", Name: mark, Parents: []string{mark}}},
			storage.UpsertUser{User: user("u", in("g"), under("m-"+mark))}, storage.UpsertUser{User: user("u-"+mark, in("g"))},
			putCatalog(1, 1, `"`+mark+`"`, ptr(int64(0))), storage.PutImports{Version: 1, Manifest: json.RawMessage(`"` + mark + `"`), Expect: ptr(int64(0))},
			storage.PutScopeParents{Scope: "docs.doc:1", Parents: []string{mark}},
			storage.PutRecord{Record: storage.Record{Collection: "c", ID: "x", Data: json.RawMessage(`"` + mark + `"`), Keys: [4]string{"k"}}},
		}})
	s.count(bucket(0, "grant", "x", "matched", int64(len(mark)+1)))
}

// only expects exactly what everything wrote under the mark.
func (s *named) only(mark string) {
	s.w.Helper()
	w, ctx := s.w, s.w.ctx
	w.same([]string{"only-" + mark, "x"}, s.grantIDs(storage.GrantFilter{}))
	w.same([]string{"x"}, s.grantIDs(storage.GrantFilter{Subject: ptr("user:u"), Scope: ptr("docs.doc:" + mark)}))
	w.same("docs.doc:"+mark, one[authz.Grant](w)(s.GetGrant(ctx, "x")).Scope)
	for f, want := range map[string]int64{"": 2, "user:u": 1, "group:" + mark: 1} {
		filter := storage.GrantFilter{Subject: &f}
		if f == "" {
			filter = storage.GrantFilter{}
		}
		if n, err := s.CountGrants(ctx, filter); n != want || err != nil {
			w.Fatalf("count %q: %d, %v", f, n, err)
		}
	}
	w.same([]authz.Revoke{revoke("x", "u", "docs.doc:"+mark)}, rows(w, s.ListRevokes(ctx, storage.RevokeFilter{UserID: ptr("u")}, storage.Page{})))
	w.same("docs.doc:"+mark, rows(w, s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}))[0].Scope)
	w.same([]authz.Role{{ID: "r", Name: mark}}, rows(w, s.ListRoles(ctx, storage.Page{})))
	w.same([]authz.Group{{ID: "g", Name: mark, Parents: []string{mark}}}, rows(w, s.ListGroups(ctx, storage.Page{})))
	w.same(2, len(rows(w, s.ListUsers(ctx, storage.UserFilter{}, storage.Page{}))))
	w.same([]string{"u", "u-" + mark}, s.members("g"))
	a := s.access(storage.AccessQuery{UserID: "u", Expand: true})
	w.same("user:u group:g group:"+mark+" directs:m-"+mark+" orgof:m-"+mark+" everyone", strings.Join(a.Closure, " "))
	w.same([]string{"only-" + mark, "x"}, ids(a.Grants, grantID))
	w.same([]authz.Role{{ID: "r", Name: mark}}, a.Roles)
	w.same(json.RawMessage(`"`+mark+`"`), s.catalog().Document)
	w.same(1, len(rows(w, s.ListCatalogVersions(ctx))))
	w.same(json.RawMessage(`"`+mark+`"`), one[storage.ImportsHead](w)(s.GetImports(ctx)).Manifest)
	w.same(mark+" →1", s.since(0, 10))
	w.same(mark, rows(w, s.ListAudit(ctx, storage.AuditFilter{Limit: ptr(int64(1))}))[0].Actor)
	w.same(1, len(rows(w, s.ListAudit(ctx, storage.AuditFilter{Cursor: cursor(-1, "")}))))
	s.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "x", "matched", int64(len(mark)+1)))
	parents, err := s.GetScopeParents(ctx, []string{"docs.doc:1"})
	w.same(map[string][]string{"docs.doc:1": {mark}}, parents)
	w.code("", err)
	w.same(json.RawMessage(`"`+mark+`"`), one[storage.Record](w)(s.GetRecord(ctx, "c", "x")).Data)
	w.same(1, len(rows(w, s.ListRecords(ctx, "c", storage.RecordFilter{Index: 1, Value: "k"}, storage.Page{}))))
}

var isolationCases = []struct {
	id, says string
	run      func(w *world, a, b *named)
}{
	{"I01–I03, I06, I09–I13, I15, I20, I21, I25", "equal ids, commit ids and singletons of every kind live apart", func(w *world, a, b *named) {
		a.everything("A")
		none[storage.CatalogHead](w)(b.GetCatalog(w.ctx))
		none[storage.CommitResult](w)(b.GetCommit(w.ctx, "same id"))
		w.same(int64(0), b.head())
		b.everything("B")
		a.only("A")
		b.only("B")
	}},
	{"I04, I05", "ids of one are none in the other, deleting them is no error and leaves them", func(w *world, a, b *named) {
		b.everything("B")
		none[authz.Grant](w)(a.GetGrant(w.ctx, "x"))
		none[authz.Revoke](w)(a.GetRevoke(w.ctx, "x"))
		none[authz.Request](w)(a.GetRequest(w.ctx, "x"))
		none[authz.Role](w)(a.GetRole(w.ctx, "r"))
		none[authz.Group](w)(a.GetGroup(w.ctx, "g"))
		none[authz.User](w)(a.GetUser(w.ctx, "u"))
		none[storage.Record](w)(a.GetRecord(w.ctx, "c", "x"))
		for _, r := range a.write(storage.DeleteGrant{ID: "x"}, storage.DeleteRevoke{ID: "x"}, storage.DeleteRequest{ID: "x"}, storage.DeleteRole{ID: "r", Unnamed: true},
			storage.DeleteGroup{ID: "g"}, storage.DeleteUser{UserID: "u"}, storage.DeleteScopeParents{Scope: "docs.doc:1"}, storage.DeleteRecord{Collection: "c", ID: "x"}) {
			w.same(storage.ChangeResult{}, r)
		}
		b.only("B")
	}},
	{"I07, I08", "writing and deleting shared ids in one leaves rows, edges and memberships of the other", func(w *world, a, b *named) {
		a.everything("A")
		b.everything("B")
		a.write(storage.UpsertUser{User: user("u", in("other"))}, storage.UpsertGroup{Group: authz.Group{ID: "g", Name: "changed"}},
			storage.UpsertRole{Role: authz.Role{ID: "r", Name: "changed"}}, storage.PatchUser{UserID: "u-A", Active: ptr(false)})
		b.only("B")
		a.write(storage.DeleteUser{UserID: "u"}, storage.DeleteGroup{ID: "g"}, storage.DeleteGrant{ID: "x"}, storage.DeleteRole{ID: "r"})
		w.same([]string{"u-A"}, a.members("g"))
		b.only("B")
	}},
	{"I12, I14", "logs are numbered and pruned apart", func(w *world, a, b *named) {
		a.emit(1, "a1")
		b.emit(1, "b1")
		a.emit(1, "a2", "a3")
		w.same("a1 a2 a3 →3", a.since(0, 10))
		w.same("b1 →1", b.since(0, 10))
		w.same(int64(3), a.prune(storage.PruneEvents{KeepRows: ptr(int64(0))}))
		w.same("gap", a.since(0, 10))
		w.same("b1 →1", b.since(0, 10))
	}},
	{"I16", "the newest entry of one is its own, though the other's is newer", func(w *world, a, b *named) {
		a.append(entry("a1", 1), entry("a2", 2))
		b.append(entry("b1", 100))
		w.same("a2", a.audit(storage.AuditFilter{Limit: ptr(int64(1))}))
		w.same("b1", b.audit(storage.AuditFilter{Limit: ptr(int64(1))}))
	}},
	{"I17", "metrics are recorded, read and pruned apart", func(w *world, a, b *named) {
		a.count(bucket(0, "grant", "g", "matched", 1))
		b.count(bucket(0, "grant", "g", "matched", 2))
		w.same(int64(1), a.pruneMetrics(5))
		a.metrics(storage.MetricFilter{Dimension: "grant"})
		b.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 2))
	}},
	{"I18, I19", "a section held in one is free in the other, and its fence is worthless there", func(w *world, a, b *named) {
		inA := a.acquire("groups")
		for range 3 {
			w.release(b.acquire("groups"))
		}
		inB := b.acquire("groups")
		b.refuse(storage.CodeStaleFence, fenced(inA, storage.UpsertRole{Role: fullRole("r")}))
		a.do(fenced(inA, storage.UpsertRole{Role: fullRole("r")}))
		b.do(fenced(inB, storage.UpsertRole{Role: fullRole("r")}))
		if err := b.Close(); err != nil {
			w.Fatal(err)
		}
		if err := inA.Renew(w.ctx); err != nil {
			w.Fatalf("closing the other released it: %v", err)
		}
	}},
	{"I24, I27", "two stores of one see each other, the other partition and the unpartitioned rows see nothing", func(w *world, a, b *named) {
		again := w.open(a.Info().Partition)
		a.everything("A")
		again.only("A")
		w.same([]string{}, b.grantIDs(storage.GrantFilter{}))
		if a.Info().Partition != "" && b.Info().Partition != "" {
			w.same([]string{}, w.grantIDs(storage.GrantFilter{}))
		}
		if a.Info().Incarnation != again.Info().Incarnation || a.Info().Incarnation == b.Info().Incarnation {
			w.Fatalf("incarnations %q, %q, %q", a.Info().Incarnation, again.Info().Incarnation, b.Info().Incarnation)
		}
	}},
}

func TestPartitionNames(t *testing.T) {
	runCases(t, memoryFactory, []contractCase{
		{"I22", "a name that is none is refused at opening", func(w *world) {
			for _, name := range []string{"a b", "a/b", "a.b", "$a", "é", "a\x00", strings.Repeat("a", 64)} {
				if _, err := w.connect().Open(w.ctx, name); storage.CodeOf(err) != storage.CodeValidation {
					w.Errorf("%q: %v", name, err)
				}
			}
		}},
		{"§11", "names of up to 63 letters, digits, _ and -, the product's own ones too, are opened", func(w *world) {
			for _, name := range []string{"", "a", "A-9_z", "__mesh", "__org_1", strings.Repeat("z", 63)} {
				w.same(name, w.open(name).Info().Partition)
			}
		}},
		{"§2", "the driver and its stores declare what they are", func(w *world) {
			info := w.connect().Info()
			if info.Name != "memory" || info.Durable == nil || *info.Durable || !info.CrossProcess {
				w.Fatalf("driver %+v", info)
			}
			w.same(2, w.Info().SchemaVersion)
			w.same(storage.AllCapabilities, w.Info().Capabilities)
			w.Info().Capabilities[0] = "scribbled"
			w.same(storage.AllCapabilities, w.Info().Capabilities)
		}},
		{"§11", "two backends share nothing", func(w *world) {
			w.everything("A")
			other := newWorld(w.T, w.fresh, 0)
			w.same([]string{}, other.grantIDs(storage.GrantFilter{}))
		}},
		{"B76", "opening with a context that has ended is unavailable", func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			_, err := w.connect().Open(ctx, "a")
			w.code(storage.CodeUnavailable, err)
		}},
	})
}
