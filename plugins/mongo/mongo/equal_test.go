package mongo

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// TestEqualsTheMemoryDriver sends both drivers the same random commits and asks
// both the same questions after each.
func TestEqualsTheMemoryDriver(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		made, err := d.connect()
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		worlds := 0
		rapid.Check(t, func(r *rapid.T) {
			worlds++
			ctx := t.Context()
			mongo, err := made.Open(ctx, fmt.Sprintf("world%d", worlds))
			if err != nil {
				r.Fatal(err)
			}
			defer mongo.Close()
			reference := memory.New(memory.Options{})
			defer reference.Close()
			model, err := reference.Open(ctx, "a")
			if err != nil {
				r.Fatal(err)
			}
			var sent []storage.Commit
			for n := range rapid.IntRange(1, 8).Draw(r, "commits") {
				c := drawCommit(r, fmt.Sprint("c", n))
				if len(sent) > 0 && rapid.IntRange(0, 5).Draw(r, "again") == 0 {
					c = rapid.SampledFrom(sent).Draw(r, "sent")
				}
				sent = append(sent, c)
				want, refusal := model.Commit(ctx, c)
				got, err := mongo.Commit(ctx, c)
				if storage.CodeOf(err) != storage.CodeOf(refusal) {
					r.Fatalf("commit %+v: %v, the memory driver: %v", c, err, refusal)
				}
				same(r, "result", want, got)
				if refusal != nil {
					same(r, "refusal", refusal.Error(), err.Error())
				}
			}
			compare(ctx, r, model, mongo)
		})
	})
}

func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); diff != "" {
		t.Fatalf("%s differs from the memory driver's:\n%s", what, diff)
	}
}

func key(kind string) *rapid.Generator[string] {
	return rapid.Map(rapid.IntRange(0, 3), func(n int) string { return fmt.Sprint(kind, n) })
}

func keys(kind string) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(key(kind), 0, 3, rapid.ID[string])
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	if !rapid.Bool().Draw(t, label+"?") {
		return nil
	}
	v := g.Draw(t, label)
	return &v
}

func drawCommit(t *rapid.T, id string) storage.Commit {
	c := storage.Commit{ID: id, At: rapid.Int64Range(0, 9).Draw(t, "at")}
	if rapid.IntRange(0, 4).Draw(t, "requires") == 0 {
		c.Requires = append(c.Requires, storage.RequireRole{ID: key("r").Draw(t, "role")})
	}
	if rapid.IntRange(0, 6).Draw(t, "requiresRecord") == 0 {
		c.Requires = append(c.Requires, storage.RequireRecord{Collection: "c", ID: key("k").Draw(t, "record"), Version: 1})
	}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		c.Changes = append(c.Changes, drawChange(t))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "audit") {
		c.Audit = append(c.Audit, authz.AuditEntry{ID: fmt.Sprint(id, "-", i), At: rapid.Int64Range(0, 3).Draw(t, "when"), Actor: key("u").Draw(t, "actor"), Target: "t"})
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		c.Events = append(c.Events, authz.UserEvent(key("u").Draw(t, "of")))
	}
	return c
}

func drawChange(t *rapid.T) storage.Change {
	expect := func() *storage.RequestExpect {
		return maybe(t, rapid.Just(storage.RequestExpect{State: authz.RequestPending}), "expect")
	}
	mustExist := rapid.Bool().Draw(t, "mustExist")
	switch rapid.IntRange(0, 19).Draw(t, "change") {
	case 0, 1:
		g := authz.Grant{ID: key("g").Draw(t, "grant"), Subject: "user:" + key("u").Draw(t, "subject"), Scope: "*", Provenance: authz.AdminProvenance("a")}
		if role := maybe(t, key("r"), "named"); role != nil {
			g.RoleID = *role
		} else {
			g.Pattern = "p"
		}
		return storage.InsertGrant{Grant: g}
	case 2:
		return storage.DeleteGrant{ID: key("g").Draw(t, "grant"), MustExist: mustExist}
	case 3:
		return storage.InsertRevoke{Revoke: authz.Revoke{ID: key("v").Draw(t, "revoke"), UserID: key("u").Draw(t, "user"), Pattern: "p", Scope: "*"}}
	case 4:
		return storage.DeleteRevoke{ID: key("v").Draw(t, "revoke"), MustExist: mustExist}
	case 5, 6:
		return storage.InsertRequest{Request: drawRequest(t)}
	case 7:
		return storage.UpdateRequest{Request: drawRequest(t), Expect: expect()}
	case 8:
		return storage.DeleteRequest{ID: key("q").Draw(t, "request"), MustExist: mustExist, Expect: expect()}
	case 9, 10:
		return storage.UpsertRole{Role: authz.Role{ID: key("r").Draw(t, "role"), Name: key("n").Draw(t, "name"), Patterns: keys("p").Draw(t, "patterns"),
			Requestable: maybe(t, rapid.Just(authz.Requestable{Stages: []authz.Stage{{Kind: authz.StageAuto}}}), "requestable")}}
	case 11:
		return storage.DeleteRole{ID: key("r").Draw(t, "role"), Unnamed: mustExist}
	case 12:
		return storage.UpsertGroup{Group: authz.Group{ID: key("g").Draw(t, "group"), Parents: keys("g").Draw(t, "parents"), Virtual: mustExist}}
	case 13:
		return storage.DeleteGroup{ID: key("g").Draw(t, "group")}
	case 14:
		return storage.UpsertUser{User: authz.User{UserID: key("u").Draw(t, "user"), Active: mustExist, GroupIDs: keys("g").Draw(t, "groups"), ManagerUserID: key("u").Draw(t, "manager")}}
	case 15:
		return storage.PatchUser{UserID: key("u").Draw(t, "user"), Active: maybe(t, rapid.Bool(), "active"), GroupIDs: maybe(t, keys("g"), "groups"),
			ManagerUserID: maybe(t, rapid.SampledFrom([]string{"", "u1", "u2"}), "manager")}
	case 16:
		return storage.DeleteUser{UserID: key("u").Draw(t, "user")}
	case 17:
		return storage.PutScopeParents{Scope: key("s").Draw(t, "scope"), Parents: keys("s").Draw(t, "above")}
	case 18:
		return storage.DeleteRecord{Collection: "c", ID: key("k").Draw(t, "record"), Expect: rapid.Int64Range(0, 2).Draw(t, "version")}
	default:
		if mustExist {
			return storage.PutCatalog{Version: rapid.Int64Range(1, 3).Draw(t, "catalog"), Document: []byte(`{}`), Expect: maybe(t, rapid.Int64Range(0, 2), "expected")}
		}
		return storage.PutRecord{Record: storage.Record{Collection: "c", ID: key("k").Draw(t, "record"), Data: []byte(`[1]`), Keys: [4]string{key("x").Draw(t, "index")}},
			Expect: rapid.Int64Range(0, 2).Draw(t, "version")}
	}
}

func drawRequest(t *rapid.T) authz.Request {
	return authz.Request{ID: key("q").Draw(t, "request"), RequesterUserID: key("u").Draw(t, "requester"), Pattern: "p", Scope: "*",
		State: rapid.SampledFrom([]authz.RequestState{authz.RequestPending, authz.RequestDenied}).Draw(t, "state"), CreatedAt: rapid.Int64Range(0, 2).Draw(t, "created")}
}

// compare asks both stores everything.
func compare(ctx context.Context, t *rapid.T, model, mongo storage.Store) {
	t.Helper()
	both(t, "grants", func(s storage.Store) iter.Seq2[authz.Grant, error] {
		return s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})
	}, model, mongo)
	both(t, "revokes", func(s storage.Store) iter.Seq2[authz.Revoke, error] {
		return s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})
	}, model, mongo)
	both(t, "roles", func(s storage.Store) iter.Seq2[authz.Role, error] { return s.ListRoles(ctx, storage.Page{}) }, model, mongo)
	both(t, "groups", func(s storage.Store) iter.Seq2[authz.Group, error] { return s.ListGroups(ctx, storage.Page{}) }, model, mongo)
	yes := true
	for _, f := range []storage.UserFilter{{}, {HasManager: &yes}, {Active: &yes}} {
		both(t, "users", func(s storage.Store) iter.Seq2[authz.User, error] { return s.ListUsers(ctx, f, storage.Page{}) }, model, mongo)
	}
	both(t, "members", func(s storage.Store) iter.Seq2[string, error] { return s.ListUsersInGroup(ctx, "g1", storage.Page{}) }, model, mongo)
	both(t, "requests", func(s storage.Store) iter.Seq2[authz.Request, error] {
		return s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})
	}, model, mongo)
	for _, f := range []storage.RecordFilter{{}, {Index: 1, Value: "x1"}} {
		both(t, "records", func(s storage.Store) iter.Seq2[storage.Record, error] {
			return s.ListRecords(ctx, "c", f, storage.Page{})
		}, model, mongo)
	}
	newest := int64(2)
	for _, f := range []storage.AuditFilter{{}, {Limit: &newest}} {
		both(t, "audit", func(s storage.Store) iter.Seq2[authz.AuditEntry, error] { return s.ListAudit(ctx, f) }, model, mongo)
	}
	one(t, "head", func(s storage.Store) (any, error) { return s.Head(ctx) }, model, mongo)
	one(t, "events", func(s storage.Store) (any, error) { return s.EventsSince(ctx, authz.Position{}, 100) }, model, mongo)
	one(t, "parents", func(s storage.Store) (any, error) { return s.GetScopeParents(ctx, []string{"s0", "s1", "s2", "s3"}) }, model, mongo)
	one(t, "access", func(s storage.Store) (any, error) {
		a, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u1", Expand: true})
		roles := map[string]authz.Role{} // in any order
		for _, r := range a.Roles {
			roles[r.ID] = r
		}
		a.Roles = nil
		return []any{a, roles}, err
	}, model, mongo)
	one(t, "catalog", func(s storage.Store) (any, error) {
		head, _, err := s.GetCatalog(ctx)
		return head, err
	}, model, mongo)
}

func both[V any](t *rapid.T, what string, list func(storage.Store) iter.Seq2[V, error], model, mongo storage.Store) {
	t.Helper()
	one(t, what, func(s storage.Store) (any, error) {
		var all []V
		for v, err := range list(s) {
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}, model, mongo)
}

func one(t *rapid.T, what string, read func(storage.Store) (any, error), model, mongo storage.Store) {
	t.Helper()
	want, err1 := read(model)
	got, err2 := read(mongo)
	if err1 != nil || err2 != nil {
		t.Fatalf("%s: %v, %v", what, err1, err2)
	}
	same(t, what, want, got)
}
