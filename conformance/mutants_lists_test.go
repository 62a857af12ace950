package conformance_test

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// listMutants break one kind of list each, beside those of grants and audit entries,
// or take the ids of one kind for each other.
var listMutants = slices.Concat(
	eachList(" are listed without regard to case", "wrong order", "B12b", func(ids []string) []int {
		places := first(len(ids))(ids)
		slices.SortStableFunc(places, func(a, b int) int {
			return cmp.Compare(strings.ToLower(ids[a]), strings.ToLower(ids[b]))
		})
		return places
	}, "revokes", "roles", "groups", "users", "members", "requests", "records"),
	eachList(" beyond 300 are not listed", "list", "B15b", first(300),
		"revokes", "roles", "groups", "users", "members", "requests", "records", "catalog versions"),
	[]mutant{
		{name: "ids of revokes are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.InsertRevoke) *string { return &c.Revoke.ID })},
		{name: "ids of roles are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.UpsertRole) *string { return &c.Role.ID })},
		{name: "ids of groups are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.UpsertGroup) *string { return &c.Group.ID })},
		{name: "ids of users are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.UpsertUser) *string { return &c.User.UserID })},
		{name: "ids of requests are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.InsertRequest) *string { return &c.Request.ID })},
		{name: "ids of records are folded", kind: "text", cases: "B12b", store: lowering(func(c *storage.PutRecord) *string { return &c.Record.ID })},
		{name: "ids of commits are folded", kind: "text", cases: "B12b", store: committing(func(c *storage.Commit) { c.ID = strings.ToLower(c.ID) })},
		{name: "keys of sections are folded", kind: "text", cases: "B12b", store: func(s *store) {
			s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
				return s.Store.Acquire(ctx, strings.ToLower(key))
			}
		}},
	},
)

// lowering keeps the ids of one kind of change in lower case.
func lowering[C storage.Change](id func(*C) *string) func(*store) {
	return altering(func(_ *store, change storage.Change) storage.Change {
		if c, ok := change.(C); ok {
			*id(&c) = strings.ToLower(*id(&c))
			return c
		}
		return change
	})
}

func first(n int) func(ids []string) []int {
	return func(ids []string) []int {
		places := make([]int, min(n, len(ids)))
		for i := range places {
			places[i] = i
		}
		return places
	}
}

// eachList breaks one kind of list after the other: pick says by the ids of its rows
// which are listed, by their places.
func eachList(name, kind, cases string, pick func(ids []string) []int, lists ...string) (all []mutant) {
	for _, list := range lists {
		all = append(all, mutant{name: list + name, kind: kind, cases: cases, store: func(s *store) {
			switch list {
			case "revokes":
				s.listRevokes = func(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
					return picked(s.Store.ListRevokes(ctx, f, p), func(r authz.Revoke) string { return r.ID }, pick)
				}
			case "roles":
				s.listRoles = func(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
					return picked(s.Store.ListRoles(ctx, p), func(r authz.Role) string { return r.ID }, pick)
				}
			case "groups":
				s.listGroups = func(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
					return picked(s.Store.ListGroups(ctx, p), func(g authz.Group) string { return g.ID }, pick)
				}
			case "users":
				s.listUsers = func(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
					return picked(s.Store.ListUsers(ctx, f, p), func(u authz.User) string { return u.UserID }, pick)
				}
			case "members":
				s.members = func(ctx context.Context, group string, p storage.Page) iter.Seq2[string, error] {
					return picked(s.Store.ListUsersInGroup(ctx, group, p), func(id string) string { return id }, pick)
				}
			case "requests":
				s.listRequests = func(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
					return picked(s.Store.ListRequests(ctx, f, p), func(q authz.Request) string { return q.ID }, pick)
				}
			case "records":
				s.listRecords = func(ctx context.Context, c string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
					return picked(s.Store.ListRecords(ctx, c, f, p), func(r storage.Record) string { return r.ID }, pick)
				}
			case "catalog versions":
				s.listVersions = func(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
					return picked(s.Store.ListCatalogVersions(ctx), func(storage.CatalogVersion) string { return "" }, pick)
				}
			}
		}})
	}
	return all
}

func picked[T any](list iter.Seq2[T, error], id func(T) string, pick func(ids []string) []int) iter.Seq2[T, error] {
	rows, err := collected(list)
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = id(row)
	}
	var out []T
	for _, place := range pick(ids) {
		out = append(out, rows[place])
	}
	return listOf(out, err)
}
