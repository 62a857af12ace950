package application_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// stuttering answers lists of edges with every member twice, as rows that another
// hand wrote may have them.
type stuttering struct{ storage.Store }

func doubled(list []string) []string { return slices.Concat(list, list) }

func doubledGroup(g authz.Group) authz.Group {
	g.Parents = doubled(g.Parents)
	return g
}

func doubledUser(u authz.User) authz.User {
	u.GroupIDs = doubled(u.GroupIDs)
	return u
}

func (s stuttering) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	g, found, err := s.Store.GetGroup(ctx, id)
	return doubledGroup(g), found, err
}

func (s stuttering) GetUser(ctx context.Context, id string) (authz.User, bool, error) {
	u, found, err := s.Store.GetUser(ctx, id)
	return doubledUser(u), found, err
}

func (s stuttering) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return func(yield func(authz.Group, error) bool) {
		for g, err := range s.Store.ListGroups(ctx, p) {
			if !yield(doubledGroup(g), err) {
				return
			}
		}
	}
}

func (s stuttering) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return func(yield func(authz.User, error) bool) {
		for u, err := range s.Store.ListUsers(ctx, f, p) {
			if !yield(doubledUser(u), err) {
				return
			}
		}
	}
}

// A commit refuses repeats, so a write that sent one would be a fault of ours.
func TestNoWriteSendsAGroupTwice(t *testing.T) {
	writes := map[string]func(context.Context, *application.Application) error{
		"createGroup": func(ctx context.Context, a *application.Application) error {
			_, err := a.CreateGroup(ctx, provider.GroupInput{ID: ptr("new"), Name: "N", Parents: []string{"top", "left", "top"}}, root)
			return err
		},
		"updateGroup": func(ctx context.Context, a *application.Application) error {
			_, err := a.UpdateGroup(ctx, "low", provider.GroupUpdate{Name: ptr("Low")}, root)
			return err
		},
		"setGroupParents": func(ctx context.Context, a *application.Application) error {
			_, err := a.SetGroupParents(ctx, "low", []string{"top", "left", "top"}, root)
			return err
		},
		"deleteGroup": func(ctx context.Context, a *application.Application) error { return a.DeleteGroup(ctx, "left", root) },
		"dissolveVirtualParent": func(ctx context.Context, a *application.Application) error {
			return a.DissolveVirtualParent(ctx, "left", root)
		},
		"setGroupMembership": func(ctx context.Context, a *application.Application) error {
			return a.SetGroupMembership(ctx, "u", []string{"low", "top", "low"}, root)
		},
		"importDirectory": func(ctx context.Context, a *application.Application) error {
			_, err := a.ImportDirectory(ctx, snapshotOf(`{"groups": [{"id": "top", "parents": ["x", "x"]}, {"id": "x", "parents": ["top", "low", "low"]}],
				"memberships": {"other": ["low", "x", "low"]}}`), "hr", optionsOf(true))
			return err
		},
		"applyOrgSnapshot": func(ctx context.Context, a *application.Application) error {
			s := noOrg()
			s.Groups = []authz.Group{{ID: "low", Name: "L", Parents: []string{"top", "top"}}}
			s.Users = []authz.User{{UserID: "u", GroupIDs: []string{"low", "low"}}}
			return a.ApplyOrgSnapshot(ctx, applying(s, nil))
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			_, err := store.Commit(t.Context(), storage.Commit{ID: "world", Changes: []storage.Change{
				storage.UpsertGroup{Group: authz.Group{ID: "top", Name: "T"}},
				storage.UpsertGroup{Group: authz.Group{ID: "left", Name: "L", Parents: []string{"top"}, Virtual: true}},
				storage.UpsertGroup{Group: authz.Group{ID: "low", Name: "W", Parents: []string{"left", "top"}}},
				storage.UpsertUser{User: authz.User{UserID: "u", Active: true, GroupIDs: []string{"left", "low", "top"}}},
			}})
			must(t, err)
			must(t, write(t.Context(), newApp(t, application.Options{Store: stuttering{store}})))
		})
	}
}
