package store_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// five fills every list with five rows, a to e.
func five() storage.Commit {
	c := storage.Commit{ID: "five", At: 1}
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		by := authz.Provenance{Kind: "system"}
		c.Changes = append(c.Changes,
			storage.InsertGrant{Grant: grant(id)},
			storage.InsertRevoke{Revoke: authz.Revoke{ID: id, UserID: "u1", Pattern: "docs.read", Scope: "*", Provenance: by}},
			storage.UpsertRole{Role: authz.Role{ID: id, Name: id, Patterns: []string{"docs.read"}}},
			storage.UpsertGroup{Group: authz.Group{ID: id, Name: id}},
			storage.UpsertUser{User: authz.User{UserID: id, Active: true, GroupIDs: []string{"a"}}},
			storage.InsertRequest{Request: authz.Request{ID: id, RequesterUserID: "u1", Pattern: "docs.read", Scope: "*", State: authz.RequestPending, CreatedAt: int64(i / 2)}},
			storage.PutCatalog{Version: int64(i + 1), Document: []byte(`{}`), PublishedAt: 1},
			storage.PutRecord{Record: storage.Record{Collection: "k", ID: id, Data: []byte(`{}`)}},
		)
		c.Audit = append(c.Audit, authz.AuditEntry{ID: id, At: int64(i / 2), Actor: "system", Action: "x", Target: "y"})
	}
	return c
}

// labels is a list as text: one word a row.
type labels func(context.Context, *store.Store) iter.Seq2[string, error]

func labelled[T any](rows func(context.Context, *store.Store) iter.Seq2[T, error], label func(T) string) labels {
	return func(ctx context.Context, s *store.Store) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for row, err := range rows(ctx, s) {
				text := ""
				if err == nil {
					text = label(row)
				}
				if !yield(text, err) {
					return
				}
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

type listCase struct {
	name string
	op   string
	list labels
	want string
}

func lists() []listCase {
	page := func(name, op, want string, list func(storage.Page) labels) []listCase {
		return []listCase{
			{name, op, list(storage.Page{}), want},
			{name + ", four of them", op, list(storage.Page{Limit: 4}), want[:7]},
			{name + ", after the first, three of them", op, list(storage.Page{After: "a", Limit: 3}), want[2:7]},
		}
	}
	grants := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.Grant, error] {
			return s.ListGrants(ctx, storage.GrantFilter{}, p)
		}, func(g authz.Grant) string { return g.ID })
	}
	revokes := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.Revoke, error] {
			return s.ListRevokes(ctx, storage.RevokeFilter{}, p)
		}, func(r authz.Revoke) string { return r.ID })
	}
	roles := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.Role, error] { return s.ListRoles(ctx, p) },
			func(r authz.Role) string { return r.ID })
	}
	groups := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.Group, error] { return s.ListGroups(ctx, p) },
			func(g authz.Group) string { return g.ID })
	}
	users := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.User, error] {
			return s.ListUsers(ctx, storage.UserFilter{}, p)
		}, func(u authz.User) string { return u.UserID })
	}
	members := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[string, error] {
			return s.ListUsersInGroup(ctx, "a", p)
		},
			func(id string) string { return id })
	}
	records := func(p storage.Page) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[storage.Record, error] {
			return s.ListRecords(ctx, "k", storage.RecordFilter{}, p)
		}, func(r storage.Record) string { return r.ID })
	}
	requests := func(p storage.RequestPage) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.Request, error] {
			return s.ListRequests(ctx, storage.RequestFilter{}, p)
		}, func(r authz.Request) string { return r.ID })
	}
	audit := func(f storage.AuditFilter) labels {
		return labelled(func(ctx context.Context, s *store.Store) iter.Seq2[authz.AuditEntry, error] {
			return s.ListAudit(ctx, f)
		},
			func(e authz.AuditEntry) string { return e.ID })
	}
	versions := labelled(func(ctx context.Context, s *store.Store) iter.Seq2[storage.CatalogVersion, error] {
		return s.ListCatalogVersions(ctx)
	}, func(v storage.CatalogVersion) string { return fmt.Sprint(v.Version) })

	all := []listCase{
		{"requests", "ListRequests", requests(storage.RequestPage{}), "a b c d e"},
		{"requests, after the first, three of them", "ListRequests", requests(storage.RequestPage{AfterID: "a", Limit: 3}), "b c d"},
		{"audit", "ListAudit", audit(storage.AuditFilter{}), "a b c d e"},
		{"audit, the last four", "ListAudit", audit(storage.AuditFilter{Limit: ptr(int64(4))}), "b c d e"},
		{"audit, the first three after one", "ListAudit", audit(storage.AuditFilter{Cursor: &authz.AuditCursor{ID: "a"}, Limit: ptr(int64(3))}), "b c d"},
		{"catalog versions", "ListCatalogVersions", versions, "1 2 3 4 5"},
	}
	all = append(all, page("grants", "ListGrants", "a b c d e", grants)...)
	all = append(all, page("revokes", "ListRevokes", "a b c d e", revokes)...)
	all = append(all, page("roles", "ListRoles", "a b c d e", roles)...)
	all = append(all, page("groups", "ListGroups", "a b c d e", groups)...)
	all = append(all, page("users", "ListUsers", "a b c d e", users)...)
	all = append(all, page("members", "ListUsersInGroup", "a b c d e", members)...)
	all = append(all, page("records", "ListRecords", "a b c d e", records)...)
	return all
}

func collect(ctx context.Context, s *store.Store, list labels) (string, error) {
	var got []string
	for label, err := range list(ctx, s) {
		if err != nil {
			return strings.Join(got, " "), err
		}
		got = append(got, label)
	}
	return strings.Join(got, " "), nil
}

func TestAListGoesOnAfterTheLastRowReceived(t *testing.T) {
	for _, c := range lists() {
		t.Run(c.name, func(t *testing.T) {
			for rows := range 5 {
				in(t, store.Options{}, func(w *world) {
					w.commit(five())
					seq := c.list
					w.driver.strike(c.op, fault{before: w.driver.dying(nil), rows: rows})
					got, err := collect(w.Context(), w.store, seq)
					if err != nil || got != c.want {
						w.Errorf("dead after %d rows: %q, %v; want %q", rows, got, err, c.want)
					}
					// A second run of the same sequence begins at the beginning.
					if again, err := collect(w.Context(), w.store, seq); err != nil || again != c.want {
						w.Errorf("again: %q, %v", again, err)
					}
				})
			}
		})
	}
}

func TestAListGoesOnOnceOnly(t *testing.T) {
	for _, c := range lists() {
		t.Run(c.name, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				w.commit(five())
				w.driver.strike(c.op, fault{before: w.driver.dying(nil), rows: 1})
				w.driver.strike(c.op, fault{before: w.driver.dying(nil), rows: 1})
				got, err := collect(w.Context(), w.store, c.list)
				w.wants(err, storage.CodeUnavailable, "")
				if !strings.HasPrefix(c.want, got) || strings.Count(got, " ") > 1 {
					w.Errorf("%q", got)
				}
			})
		})
	}
}

func TestAListNeverMixesTwoLives(t *testing.T) {
	for _, c := range lists() {
		t.Run(c.name, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				w.commit(five())
				w.driver.strike(c.op, fault{before: w.driver.dying(other()), rows: 2})
				got, err := collect(w.Context(), w.store, c.list)
				w.wants(err, storage.CodeUnavailable, "")
				if d := cmp.Diff(c.want[:3], got); d != "" {
					w.Error(d)
				}
				w.driver.strike(c.op, fault{before: w.driver.dying(other())})
				if got, err := collect(w.Context(), w.store, c.list); got != "" || err != nil {
					w.Errorf("with nothing received the list is that of the new content: %q, %v", got, err)
				}
			})
		})
	}
}

func TestMetricsAreRepeatedBeforeTheFirstRowOnly(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		for range 2 {
			if err := recordMetrics(w.Context(), w.store); err != nil {
				w.Fatal(err)
			}
		}
		count := func() (n int64, err error) {
			for b, err := range w.store.ReadMetrics(w.Context(), storage.MetricFilter{Dimension: "grant"}) {
				if err != nil {
					return n, err
				}
				n += b.Count
			}
			return n, nil
		}
		w.driver.strike("ReadMetrics", fault{before: w.driver.dying(nil)})
		if n, err := count(); n != 2 || err != nil {
			w.Error(n, err)
		}
		w.driver.strike("ReadMetrics", fault{before: w.driver.dying(nil), rows: 1})
		n, err := count()
		w.wants(err, storage.CodeUnavailable, "")
		if n != 2 {
			w.Errorf("%d", n)
		}
	})
}

func TestAConsumerMayLeaveAList(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.commit(five())
		for _, c := range lists() {
			for range c.list(w.Context(), w.store) {
				break
			}
		}
		for range w.store.Watch(w.Context()) {
			break
		}
		w.driver.kill(nil)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Fatal(err)
		}
	})
}
