package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The values are few, so that operations meet, and odd, so that nothing but bytes
// can tell them apart.
var (
	anyID      = rapid.SampledFrom([]string{"a", "A", "a ", "b", "é", "e\u0301", "%", `\`, "'"})
	anySubject = rapid.Map(rapid.SampledFrom([]string{"user:a", "user:A", "group:a", "group:b", "orgof:a", "directs:A", "org:a", "everyone"}), func(s string) string { return s })
	anyScope   = rapid.SampledFrom([]string{"*", "docs.doc:1", "docs.doc:10"})
	anyAt      = rapid.Int64Range(-2, 3)
	anyIDs     = rapid.SliceOfNDistinct(anyID, 0, 4, rapid.ID[string])
	anyState   = rapid.SampledFrom([]authz.RequestState{authz.RequestPending, authz.RequestDenied})
)

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	if rapid.Bool().Draw(t, label+"?") {
		v := g.Draw(t, label)
		return &v
	}
	return nil
}

func orNone(t *rapid.T, g *rapid.Generator[string], label string) string {
	if v := maybe(t, g, label); v != nil {
		return *v
	}
	return ""
}

func drawRequest(t *rapid.T) authz.Request {
	return authz.Request{ID: anyID.Draw(t, "id"), RequesterUserID: anyID.Draw(t, "requester"), RoleID: orNone(t, anyID, "role"), Scope: anyScope.Draw(t, "scope"),
		Justification: map[string]string{"why": anyID.Draw(t, "why")}, State: anyState.Draw(t, "state"), StageIndex: rapid.Int64Range(0, 1).Draw(t, "stage"),
		CreatedAt: anyAt.Draw(t, "at"), DecidedAt: maybe(t, anyAt, "decided")}
}

func drawExpect(t *rapid.T) *storage.RequestExpect {
	return maybe(t, rapid.Custom(func(t *rapid.T) storage.RequestExpect {
		return storage.RequestExpect{State: anyState.Draw(t, "state"), StageIndex: rapid.Int64Range(0, 1).Draw(t, "stage")}
	}), "expect")
}

var anyChange = rapid.Custom(func(t *rapid.T) storage.Change {
	id, must := anyID.Draw(t, "id"), rapid.IntRange(0, 4).Draw(t, "must") == 0
	expect := rapid.Int64Range(0, 2)
	switch rapid.IntRange(0, 21).Draw(t, "change") {
	case 0, 1, 2:
		g := grant(id, anySubject.Draw(t, "subject"))
		g.Scope, g.RoleID = anyScope.Draw(t, "scope"), orNone(t, anyID, "role")
		if at := maybe(t, anyAt, "expires"); at != nil {
			g.ExpiresAt = authz.ExpiresAt(*at)
		}
		return storage.InsertGrant{Grant: g}
	case 3:
		return storage.InsertRevoke{Revoke: authz.Revoke{ID: id, UserID: anyID.Draw(t, "user"), Pattern: "docs.*", Scope: anyScope.Draw(t, "scope"), CreatedAt: anyAt.Draw(t, "at")}}
	case 4:
		return storage.InsertRequest{Request: drawRequest(t)}
	case 5, 6:
		return storage.DeleteGrant{ID: id, MustExist: must}
	case 7:
		return storage.DeleteRevoke{ID: id, MustExist: must}
	case 8:
		return storage.DeleteRequest{ID: id, MustExist: must, Expect: drawExpect(t)}
	case 9:
		return storage.UpdateRequest{Request: drawRequest(t), Expect: drawExpect(t)}
	case 10:
		return storage.UpsertRole{Role: authz.Role{ID: id, Name: anyID.Draw(t, "name"), Description: orNone(t, anyID, "description"), Patterns: anyIDs.Draw(t, "patterns"),
			Requestable: maybe(t, rapid.Just(authz.Requestable{}), "requestable")}}
	case 11:
		return storage.UpsertGroup{Group: authz.Group{ID: id, Name: id, Parents: anyIDs.Draw(t, "parents"), Virtual: must}}
	case 12:
		return storage.UpsertUser{User: authz.User{UserID: id, Active: must, GroupIDs: anyIDs.Draw(t, "groups"), OrgIDs: anyIDs.Draw(t, "orgs"), ManagerUserID: orNone(t, anyID, "manager")}}
	case 13, 14:
		manager := rapid.SampledFrom([]string{"", "a", "A", "b"})
		return storage.PatchUser{UserID: id, Active: maybe(t, rapid.Bool(), "active"), GroupIDs: maybe(t, anyIDs, "groups"), OrgIDs: maybe(t, anyIDs, "orgs"), ManagerUserID: maybe(t, manager, "manager")}
	case 15:
		return storage.DeleteRole{ID: id, Unnamed: rapid.Bool().Draw(t, "unnamed")}
	case 16:
		return rapid.SampledFrom([]storage.Change{storage.DeleteGroup{ID: id}, storage.DeleteUser{UserID: id}}).Draw(t, "delete")
	case 17:
		return storage.PutCatalog{Version: expect.Draw(t, "version"), Document: json.RawMessage(`{"n":1.10}`), PublishedAt: anyAt.Draw(t, "at"), Expect: maybe(t, expect, "expect")}
	case 18:
		return storage.PutImports{Version: expect.Draw(t, "version"), Manifest: json.RawMessage(`[]`), Expect: maybe(t, expect, "expect")}
	case 19:
		return rapid.SampledFrom([]storage.Change{storage.PutScopeParents{Scope: id, Parents: anyIDs.Draw(t, "parents")}, storage.DeleteScopeParents{Scope: id}}).Draw(t, "scope")
	case 20:
		return storage.DeleteRecord{Collection: "c", ID: id, Expect: expect.Draw(t, "expect")}
	default:
		r := record(id)
		r.Keys[0], r.Keys[3] = orNone(t, anyID, "key1"), orNone(t, anyID, "key4")
		return storage.PutRecord{Record: r, Expect: expect.Draw(t, "expect")}
	}
})

var commits atomic.Int64

func drawCommit(t *rapid.T, fences []storage.Fence) storage.Commit {
	c := storage.Commit{ID: fmt.Sprint(commits.Add(1)), At: anyAt.Draw(t, "at"), Fences: fences, Changes: rapid.SliceOfN(anyChange, 0, 7).Draw(t, "changes")}
	for range rapid.IntRange(-2, 2).Draw(t, "requirements") {
		c.Requires = append(c.Requires, rapid.SampledFrom([]storage.Requirement{storage.RequireRole{ID: anyID.Draw(t, "role")},
			storage.RequireHead{Seq: rapid.Int64Range(0, 3).Draw(t, "head"), Identity: rapid.SampledFrom([]string{"", "", "another"}).Draw(t, "identity")},
			storage.RequireRecord{Collection: "c", ID: anyID.Draw(t, "record"), Version: rapid.Int64Range(1, 2).Draw(t, "version")}}).Draw(t, "requirement"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "audit") {
		c.Audit = append(c.Audit, authz.AuditEntry{ID: fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "entry")), At: anyAt.Draw(t, "at"), Target: anyID.Draw(t, "target"), Detail: json.RawMessage(`{"a":[1]}`)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		c.Events = append(c.Events, rapid.SampledFrom([]authz.Event{authz.UserEvent("a"), authz.RoleEvent("A"), {Type: authz.EventAll}}).Draw(t, "event"))
	}
	return c
}

var equal = cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(authz.Expiry{})}

// access is what a read answers, with the roles in an order: they have none.
func access(a storage.Access, err error) (any, error) {
	slices.SortFunc(a.Roles, func(a, b authz.Role) int { return strings.Compare(a.ID, b.ID) })
	return a, err
}

// Two drivers that are told the same answer the same.
func TestRandomOperationsEqualTheMemoryDriver(t *testing.T) {
	d := connect(t, postgres.Options{DSN: postgrestest.Database(t)})
	partitions := 0
	rapid.Check(t, func(rt *rapid.T) {
		partitions++
		ours := open(t, d, fmt.Sprint("p", partitions))
		model, err := memory.New(memory.Options{}).Open(t.Context(), "p")
		if err != nil {
			rt.Fatal(err)
		}
		same := func(what string, want, got any, wantErr, gotErr error) {
			if storage.CodeOf(wantErr) != storage.CodeOf(gotErr) || (wantErr == nil) != (gotErr == nil) {
				rt.Fatalf("%s: memory answered %v, postgres %v", what, wantErr, gotErr)
			}
			if wantErr != nil {
				return
			}
			if diff := cmp.Diff(want, got, equal); diff != "" {
				rt.Fatalf("%s (-memory +postgres):\n%s", what, diff)
			}
		}
		var sent []storage.Commit
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				if len(sent) == 0 {
					continue
				}
				c := rapid.SampledFrom(sent).Draw(rt, "again")
				if rapid.Bool().Draw(rt, "changed") {
					c.At++
				}
				want, wantErr := model.Commit(t.Context(), c)
				got, gotErr := ours.Commit(t.Context(), c)
				same("resend", want, got, wantErr, gotErr)
			case 1:
				p := storage.PruneEvents{Before: maybe(rt, anyAt, "before"), KeepRows: maybe(rt, rapid.Int64Range(-1, 5), "keep")}
				want, wantErr := model.PruneEvents(t.Context(), p)
				got, gotErr := ours.PruneEvents(t.Context(), p)
				same("prune", want, got, wantErr, gotErr)
			case 2:
				batch := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) storage.MetricBucket {
					return storage.MetricBucket{Bucket: anyAt.Draw(t, "bucket"), Dimension: rapid.SampledFrom([]string{"grant", "role"}).Draw(t, "dimension"),
						Subject: anyID.Draw(t, "subject"), Metric: "matched", Count: rapid.SampledFrom([]int64{0, 1, 2, -1, authz.MaxInstant - 1}).Draw(t, "count")}
				}), 0, 3).Draw(rt, "batch")
				same("record", nil, nil, model.RecordMetrics(t.Context(), batch), ours.RecordMetrics(t.Context(), batch))
			case 3:
				before := anyAt.Draw(rt, "before")
				want, wantErr := model.PruneMetrics(t.Context(), before)
				got, gotErr := ours.PruneMetrics(t.Context(), before)
				same("prune metrics", want, got, wantErr, gotErr)
			default:
				c := drawCommit(rt, nil)
				sent = append(sent, c)
				want, wantErr := model.Commit(t.Context(), c)
				got, gotErr := ours.Commit(t.Context(), c)
				same(fmt.Sprintf("commit %+v", c), want, got, wantErr, gotErr)
				var a, b *storage.Error
				if wantErr != nil {
					a, b = wantErr.(*storage.Error), gotErr.(*storage.Error)
					same("refusal", []int64{a.Grants, a.Version}, []int64{b.Grants, b.Version}, nil, nil)
				}
			}
		}
		compare(rt, t, model, ours, same)
	})
}

func all[T any](list iter.Seq2[T, error]) (rows []T, err error) {
	for row, err := range list {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func compare(rt *rapid.T, t *testing.T, model, ours storage.Store, same func(what string, want, got any, wantErr, gotErr error)) {
	ctx := t.Context()
	both := func(what string, f func(storage.Store) (any, error)) {
		want, wantErr := f(model)
		got, gotErr := f(ours)
		same(what, want, got, wantErr, gotErr)
	}
	page := storage.Page{After: orNone(rt, anyID, "after"), Limit: rapid.IntRange(-1, 3).Draw(rt, "limit")}
	grants := storage.GrantFilter{Subject: maybe(rt, anySubject, "subject"), Scope: maybe(rt, anyScope, "scope"), RoleID: maybe(rt, anyID, "role")}
	if rapid.Bool().Draw(rt, "subjects?") {
		grants.Subjects = append([]string{}, rapid.SliceOfN(anySubject, 0, 3).Draw(rt, "subjects")...)
	}
	userID, at, limit := anyID.Draw(rt, "user"), maybe(rt, anyAt, "from"), maybe(rt, rapid.Int64Range(-1, 4), "newest")
	revokes := storage.RevokeFilter{UserID: maybe(rt, rapid.Just(userID), "by"), Scope: grants.Scope}
	both("grants", func(s storage.Store) (any, error) { return all(s.ListGrants(ctx, grants, page)) })
	both("count", func(s storage.Store) (any, error) { return s.CountGrants(ctx, grants) })
	both("revokes", func(s storage.Store) (any, error) {
		return all(s.ListRevokes(ctx, revokes, storage.Page{}))
	})
	both("roles", func(s storage.Store) (any, error) { return all(s.ListRoles(ctx, storage.Page{})) })
	both("groups", func(s storage.Store) (any, error) { return all(s.ListGroups(ctx, page)) })
	users := storage.UserFilter{Active: maybe(rt, rapid.Bool(), "active"), HasManager: maybe(rt, rapid.Bool(), "managed")}
	both("users", func(s storage.Store) (any, error) { return all(s.ListUsers(ctx, users, page)) })
	both("members", func(s storage.Store) (any, error) { return all(s.ListUsersInGroup(ctx, userID, page)) })
	requests := storage.RequestFilter{State: maybe(rt, anyState, "state"), RequesterUserID: maybe(rt, anyID, "requester"), RoleID: maybe(rt, anyID, "role"), Scope: maybe(rt, anyScope, "scope")}
	both("requests", func(s storage.Store) (any, error) {
		return all(s.ListRequests(ctx, requests, storage.RequestPage{AfterCreatedAt: 0, AfterID: page.After, Limit: page.Limit}))
	})
	audit := storage.AuditFilter{Target: maybe(rt, anyID, "target"), From: at, To: maybe(rt, anyAt, "to"), Limit: limit}
	if rapid.Bool().Draw(rt, "cursor?") {
		audit.Cursor = &authz.AuditCursor{At: anyAt.Draw(rt, "cursor"), ID: "3"}
	}
	both("audit", func(s storage.Store) (any, error) { return all(s.ListAudit(ctx, audit)) })
	both("catalog", func(s storage.Store) (any, error) { row, _, err := s.GetCatalog(ctx); return row, err })
	both("versions", func(s storage.Store) (any, error) { return all(s.ListCatalogVersions(ctx)) })
	both("imports", func(s storage.Store) (any, error) { row, _, err := s.GetImports(ctx); return row, err })
	both("head", func(s storage.Store) (any, error) { return s.Head(ctx) })
	seq, most := rapid.Int64Range(-1, 6).Draw(rt, "seq"), rapid.IntRange(-1, 4).Draw(rt, "most")
	newest, _ := model.Head(ctx) // its error is compared above
	after := authz.Position{Seq: seq, Identity: rapid.SampledFrom([]string{"", "", "another", newest.Identity}).Draw(rt, "identity")}
	both("events", func(s storage.Store) (any, error) { return s.EventsSince(ctx, after, most) })
	metrics := storage.MetricFilter{Dimension: "grant", Since: at, Until: maybe(rt, anyAt, "until")}
	if rapid.Bool().Draw(rt, "counted?") {
		metrics.Subjects = append([]string{}, rapid.SliceOfN(anyID, 0, 3).Draw(rt, "counted")...)
	}
	both("metrics", func(s storage.Store) (any, error) { return sortedMetrics(s.ReadMetrics(ctx, metrics)) })
	both("scope parents", func(s storage.Store) (any, error) { return s.GetScopeParents(ctx, []string{"a", "A", "b", "é"}) })
	for _, scope := range []string{"a", "A", "b", "é"} {
		both("ancestors of "+scope, func(s storage.Store) (any, error) {
			return access(s.ReadAccess(ctx, storage.AccessQuery{UserID: "a", Subjects: []string{"user:a"}, Scope: scope}))
		})
	}
	compareLookups(rt, both, t.Context(), page)
	index := rapid.IntRange(-1, 5).Draw(rt, "index")
	both("records", func(s storage.Store) (any, error) {
		return all(s.ListRecords(ctx, "c", storage.RecordFilter{Index: index, Value: userID}, page))
	})
	both("expanded", func(s storage.Store) (any, error) {
		return access(s.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Expand: true}))
	})
	both("access", func(s storage.Store) (any, error) {
		return access(s.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Subjects: grants.Subjects}))
	})
	both("service", func(s storage.Store) (any, error) {
		return access(s.ReadAccess(ctx, storage.AccessQuery{Subjects: grants.Subjects}))
	})
}

func compareLookups(rt *rapid.T, both func(string, func(storage.Store) (any, error)), ctx context.Context, page storage.Page) {
	kind, ids := rapid.SampledFrom(storage.EdgeKinds).Draw(rt, "kind"), rapid.SliceOfN(anyID, 0, 5).Draw(rt, "of")
	edges := storage.EdgePage{AfterOf: orNone(rt, anyID, "after of"), AfterFrom: orNone(rt, anyID, "after from"), Limit: page.Limit}
	both("edges", func(s storage.Store) (any, error) { return all(s.ListEdges(ctx, kind, ids, edges)) })
	scopes := rapid.SliceOfN(anyScope, 0, 3).Draw(rt, "scopes")
	at := storage.GrantsAtPage{AfterScope: orNone(rt, anyScope, "after scope"), AfterSubject: orNone(rt, anySubject, "after subject"), AfterID: orNone(rt, anyID, "after grant"), Limit: page.Limit}
	both("grants at", func(s storage.Store) (any, error) { return all(s.ListGrantsAt(ctx, scopes, at)) })
	both("scopes", func(s storage.Store) (any, error) { return all(s.ListScopes(ctx, page)) })
	people := storage.PeopleQuery{UserIDs: ids}
	if rapid.Bool().Draw(rt, "at scopes?") {
		people.Scopes = append([]string{}, scopes...)
	}
	both("people", func(s storage.Store) (any, error) { return s.ReadPeople(ctx, people) })
}

func sortedMetrics(list iter.Seq2[storage.MetricBucket, error]) (map[storage.MetricBucket]int, error) {
	rows, err := all(list)
	out := map[storage.MetricBucket]int{}
	for _, row := range rows {
		out[row]++
	}
	return out, err
}
