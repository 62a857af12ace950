package application

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// ListUsers lists users by id. Those who are inactive have a record.
func (a *Application) ListUsers(ctx context.Context, q provider.UserQuery) iter.Seq2[provider.ListedUser, error] {
	var s shape
	s.text("prefix", q.Prefix, maxID)
	s.page(q.Paging)
	return listed(a, "listUsers", s.err, func() iter.Seq2[provider.ListedUser, error] {
		users := a.namedUsers(ctx, q)
		if q.Stored || q.Active != nil && !*q.Active {
			users = a.storedUsers(ctx, q)
		}
		return lists.Limited(users, q.Limit)
	})
}

// storedUsers are those of the records that match, whatever the page's limit.
func (a *Application) storedUsers(ctx context.Context, q provider.UserQuery) iter.Seq2[provider.ListedUser, error] {
	return func(yield func(provider.ListedUser, error) bool) {
		tell := func(u authz.User) bool {
			return yield(provider.ListedUser{UserID: u.UserID, Active: u.Active, Stored: true}, nil)
		}
		if q.After < q.Prefix { // pages go on after a place, and the prefix may be an id
			u, found, err := a.store.GetUser(ctx, q.Prefix)
			if err != nil {
				yield(provider.ListedUser{}, err)
				return
			}
			if found && (q.Active == nil || u.Active == *q.Active) && !tell(u) {
				return
			}
		}
		for u, err := range a.store.ListUsers(ctx, storage.UserFilter{Active: q.Active}, storage.Page{After: max(q.After, q.Prefix), Limit: q.Limit}) {
			if err != nil {
				yield(provider.ListedUser{}, err)
				return
			}
			if !strings.HasPrefix(u.UserID, q.Prefix) || !tell(u) {
				return
			}
		}
	}
}

// namedUsers are those whom rows name, with what their records say, whatever the page's
// limit.
func (a *Application) namedUsers(ctx context.Context, q provider.UserQuery) iter.Seq2[provider.ListedUser, error] {
	return func(yield func(provider.ListedUser, error) bool) {
		for ids, err := range lists.Pieces(a.userIDs(ctx, q), func() int { return chunkOf(min(q.Limit, storage.MaxPeople)) }) {
			if err != nil {
				yield(provider.ListedUser{}, err)
				return
			}
			records, err := a.recordsOf(ctx, ids)
			if err != nil {
				yield(provider.ListedUser{}, err)
				return
			}
			for _, id := range ids {
				record, stored := records[id]
				active := !stored || record.Active
				if (q.Active == nil || active == *q.Active) && !yield(provider.ListedUser{UserID: id, Active: active, Stored: stored}, nil) {
					return
				}
			}
		}
	}
}

// userIDs are the ids that rows name. Where the driver cannot list them every row is read:
// one without lookups, or one that is older than this list.
func (a *Application) userIDs(ctx context.Context, q provider.UserQuery) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if a.caps.Has(storage.CapLookups) {
			page := storage.Page{After: q.After}
			if q.Active == nil {
				page.Limit = q.Limit
			}
			unknown := false
			for id, err := range a.store.ListUserIDs(ctx, q.Prefix, page) {
				if unknown = storage.CodeOf(err) == storage.CodeUnsupported; unknown {
					break
				}
				if !yield(id, err) {
					return
				}
			}
			if !unknown {
				return
			}
		}
		ids, err := a.userIDsOfRows(ctx)
		if err != nil {
			yield("", err)
			return
		}
		for _, id := range ids {
			if id > q.After && strings.HasPrefix(id, q.Prefix) && !yield(id, nil) {
				return
			}
		}
	}
}

func (a *Application) userIDsOfRows(ctx context.Context) ([]string, error) {
	ids := map[string]bool{}
	for u, err := range a.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		ids[u.UserID], ids[u.ManagerUserID] = true, true
	}
	for g, err := range a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser {
			ids[id] = true
		}
	}
	for r, err := range a.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		ids[r.UserID] = true
	}
	for r, err := range a.store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}) {
		if err != nil {
			return nil, err
		}
		ids[r.RequesterUserID] = true
	}
	delete(ids, "")
	return slices.Sorted(maps.Keys(ids)), nil
}

// recordsOf are the records of users that have one.
func (a *Application) recordsOf(ctx context.Context, ids []string) (map[string]authz.User, error) {
	records := make(map[string]authz.User, len(ids))
	if a.caps.Has(storage.CapLookups) {
		people, err := a.store.ReadPeople(ctx, storage.PeopleQuery{UserIDs: ids, Scopes: []string{}, WithoutGrants: true})
		for _, u := range people.Users {
			records[u.UserID] = u
		}
		return records, err
	}
	for _, id := range ids {
		u, found, err := a.store.GetUser(ctx, id)
		if err != nil {
			return nil, err
		}
		if found {
			records[id] = u
		}
	}
	return records, nil
}

// chunkOf is how much to read at once for a page: its rows, a thousand of a list without
// an end.
func chunkOf(limit int) int {
	if limit <= 0 {
		return storage.MaxPeople
	}
	return limit
}
