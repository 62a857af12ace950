package mongo

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return get(ctx, s, grants, id)
}

// inList is how many values one $in holds at most.
const inList = 10_000

// grantMembers is the filter; nothing says that it selects no row.
func grantMembers(f storage.GrantFilter) (members []bson.E, nothing bool) {
	if f.Subject != nil {
		if f.Subjects != nil && !slices.Contains(f.Subjects, *f.Subject) {
			return nil, true
		}
		members = append(members, eq("subject", *f.Subject))
	} else if f.Subjects != nil {
		if len(f.Subjects) == 0 {
			return nil, true
		}
		members = append(members, eq("subject", bson.D{eq("$in", distinct(f.Subjects))}))
	}
	if f.Scope != nil {
		members = append(members, eq("scope", *f.Scope))
	}
	if f.RoleID != nil {
		if *f.RoleID == "" {
			return nil, true
		}
		members = append(members, eq("roleId", *f.RoleID))
	}
	return members, false
}

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	if len(f.Subjects) > inList {
		return refused[authz.Grant](storage.Errorf(storage.CodeTooLarge, "grants of %d subjects asked for, at most %d", len(f.Subjects), inList))
	}
	members, nothing := grantMembers(f)
	if nothing {
		return empty[authz.Grant](ctx, s, p, f)
	}
	return listByID(ctx, s, grants, p, []any{f}, members...)
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (n int64, err error) {
	if err := s.usable(ctx, f); err != nil {
		return 0, err
	}
	if len(f.Subjects) > inList {
		return 0, storage.Errorf(storage.CodeTooLarge, "grants of %d subjects asked for, at most %d", len(f.Subjects), inList)
	}
	members, nothing := grantMembers(f)
	if nothing {
		return 0, nil
	}
	in := s.partition.in(layout.Grants)
	err = s.read(ctx, func(ctx context.Context) (err error) {
		n, err = in.Count(ctx, in.Where(with(members, live)...))
		return err
	})
	return n, err
}

func (s *store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return get(ctx, s, revokes, id)
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	var members []bson.E
	if f.UserID != nil {
		members = append(members, eq("userId", *f.UserID))
	}
	if f.Scope != nil {
		members = append(members, eq("scope", *f.Scope))
	}
	return listByID(ctx, s, revokes, p, []any{f}, members...)
}

func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return get(ctx, s, roles, id)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return listByID(ctx, s, roles, p, nil)
}

func (s *store) GetRoles(ctx context.Context, ids []string) (rows []authz.Role, err error) {
	if err := s.usable(ctx, ids); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context) (err error) {
		rows, err = byKeys(ctx, s.partition, roles, ids)
		return err
	})
	return rows, err
}

// byKeys returns the rows that exist, each once.
func byKeys[V any](ctx context.Context, p *partition, e entity[V], keys []string) ([]V, error) {
	in := p.in(e.in)
	var out []V
	for some := range slices.Chunk(distinct(keys), loadKeys) {
		rows, _, err := in.Find(ctx, layout.Keys(in, some, live), layout.Page{})
		if err != nil {
			return nil, err
		}
		read, err := e.all(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, read...)
	}
	return out, nil
}

func distinct(values []string) []string {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (s *store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return get(ctx, s, groups, id)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return listByID(ctx, s, groups, p, nil)
}

func (s *store) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return get(ctx, s, users, userID)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	var members []bson.E
	if f.Active != nil {
		members = append(members, eq("active", *f.Active))
	}
	if f.HasManager != nil {
		operator := "$in"
		if *f.HasManager {
			operator = "$nin"
		}
		members = append(members, eq("managerUserId", bson.D{eq(operator, bson.A{nil, ""})}))
	}
	return listByID(ctx, s, users, p, []any{f}, members...)
}

func (s *store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	in := s.partition.in(layout.Users)
	return stream(ctx, s, []any{groupID, p}, p.After, p.Limit, query[string, string]{
		in: in, sort: byID, only: []string{},
		from:  func(row layout.Row) (string, error) { return row.Text(), nil },
		key:   func(id string) string { return id },
		after: func(last string) layout.Filter { return in.Above(last, eq("groupIds", groupID), live) },
	})
}

func (s *store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return get(ctx, s, requests, id)
}

// position is a place in a list by instant and id.
type position struct {
	at int64
	id string
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	arguments := []any{f, p}
	var members []bson.E
	if f.State != nil {
		members = append(members, eq("state", string(*f.State)))
	}
	if f.RequesterUserID != nil {
		members = append(members, eq("requesterUserId", *f.RequesterUserID))
	}
	if f.RoleID != nil {
		if *f.RoleID == "" {
			return empty[authz.Request](ctx, s, storage.Page{Limit: p.Limit}, arguments...)
		}
		members = append(members, eq("roleId", *f.RoleID))
	}
	if f.Scope != nil {
		members = append(members, eq("scope", *f.Scope))
	}
	in := s.partition.in(layout.Requests)
	return stream(ctx, s, arguments, position{p.AfterCreatedAt, p.AfterID}, p.Limit, query[position, authz.Request]{
		in: in, sort: bson.D{eq("createdAt", 1), eq("_id", 1)}, from: requests.from,
		key: func(r authz.Request) position { return position{r.CreatedAt, r.ID} },
		after: func(last position) layout.Filter {
			if last.id == "" {
				return in.Where(with(members, live)...)
			}
			return in.Where(with(members, live, eq("$or", bson.A{
				bson.D{eq("createdAt", bson.D{eq("$gt", last.at)})},
				bson.D{eq("createdAt", last.at), eq("_id", bson.D{eq("$gt", in.ID(last.id))})}}))...)
		},
	})
}

func (s *store) GetScopeParents(ctx context.Context, asked []string) (map[string][]string, error) {
	if err := s.usable(ctx, asked); err != nil {
		return nil, err
	}
	if len(asked) > storage.MaxScopes {
		return nil, storage.Errorf(storage.CodeTooLarge, "parents of %d scopes asked for, at most %d", len(asked), storage.MaxScopes)
	}
	var rows []scopeParents
	err := s.read(ctx, func(ctx context.Context) (err error) {
		rows, err = byKeys(ctx, s.partition, scopes, asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	parents := make(map[string][]string, len(rows))
	for _, row := range rows {
		parents[row.scope] = row.parents
	}
	return parents, nil
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return get(ctx, s, records, recordKey(collection, id), collection, id)
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	in := s.partition.in(layout.Records)
	q := query[string, storage.Record]{in: in, from: records.from, key: func(r storage.Record) string { return r.ID }}
	switch {
	case f.Index < 0 || f.Index > len(keyMembers):
		return refused[storage.Record](storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index))
	case f.Index == 0: // the order of keys is that of ids within a collection
		prefix := recordPrefix(collection)
		q.sort = byID
		q.after = func(last string) layout.Filter {
			return in.Between(prefix+"/"+last, prefix+"0", live) // 0 follows the slash
		}
	case f.Value == "":
		return empty[storage.Record](ctx, s, p, collection, f)
	default:
		q.sort = bson.D{eq("id", 1)}
		q.after = func(last string) layout.Filter {
			return in.Where(eq("collection", collection), eq(keyMembers[f.Index-1], f.Value), eq("id", bson.D{eq("$gt", last)}), live)
		}
	}
	return stream(ctx, s, []any{collection, f, p}, p.After, p.Limit, q)
}
