package mongo

import (
	"context"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// FindGrants leaves to the database all but who wrote a row, which lies in its payload.
func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckGrantOrder(q.Order); err != nil {
		return refused[authz.Grant](err)
	}
	members, nothing := foundMembers(q)
	if nothing {
		return empty[authz.Grant](ctx, s, storage.Page{Limit: p.Limit}, q, p)
	}
	in := s.partition.in(layout.Grants)
	by := placed(q.Order)
	read := query[authz.GrantPlace, authz.Grant]{
		in: in, sort: by.sort(), from: grants.from, key: func(g authz.Grant) authz.GrantPlace { return q.Order.Place(&g) },
		after: func(last authz.GrantPlace) layout.Filter {
			if last.ID == "" {
				return in.Where(with(members, live)...)
			}
			if by.member == "" {
				return in.Above(last.ID, with(members, live)...)
			}
			return in.Where(with(members, live, by.after(last.At, in.ID(last.ID)))...)
		},
	}
	if q.Actor == nil || p.Limit < 0 {
		return stream(ctx, s, []any{q, p}, p.After, p.Limit, read)
	}
	return lists.Limited(func(yield func(authz.Grant, error) bool) {
		for g, err := range stream(ctx, s, []any{q, p}, p.After, 0, read) {
			if (err != nil || q.Selects(&g)) && !yield(g, err) {
				return
			}
		}
	}, p.Limit)
}

// foundMembers are those of a search that documents can be asked for; nothing says that it
// selects no row.
func foundMembers(q authz.GrantSearch) (members []bson.E, nothing bool) {
	members, nothing = grantMembers(storage.GrantFilter{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID})
	if nothing || q.Pattern != nil && *q.Pattern == "" {
		return nil, true
	}
	if q.Pattern != nil {
		members = append(members, eq("pattern", *q.Pattern))
	}
	switch {
	case q.Instances && q.Scope == nil:
		members = append(members, eq("scope", bson.D{eq("$ne", authz.Global)}))
	case q.Instances && *q.Scope == authz.Global:
		return nil, true
	}
	if created := between(q.CreatedFrom, q.CreatedTo); created != nil {
		members = append(members, eq("createdAt", created))
	}
	expiry := between(q.ExpiresFrom, q.ExpiresTo)
	switch never := q.Expires != nil && !*q.Expires; {
	case never && (expiry != nil || q.Order == authz.GrantsExpiring):
		return nil, true
	case never:
		expiry = bson.D{eq("$exists", false)}
	case expiry == nil && (q.Expires != nil || q.Order == authz.GrantsExpiring):
		expiry = bson.D{eq("$exists", true)}
	}
	if expiry != nil {
		members = append(members, eq("expiresAt", expiry))
	}
	return members, false
}

func between(from, to *int64) (d bson.D) {
	if from != nil {
		d = append(d, eq("$gte", *from))
	}
	if to != nil {
		d = append(d, eq("$lt", *to))
	}
	return d
}

// placedBy is an order in documents; member "" is that of the key.
type placedBy struct {
	member string
	way    int
	beyond string
}

func placed(o authz.GrantOrder) placedBy {
	switch o {
	case authz.GrantsNewest:
		return placedBy{"createdAt", -1, "$lt"}
	case authz.GrantsExpiring:
		return placedBy{"expiresAt", 1, "$gt"}
	}
	return placedBy{}
}

func (by placedBy) sort() bson.D {
	if by.member == "" {
		return byID
	}
	return bson.D{eq(by.member, by.way), eq("_id", by.way)}
}

func (by placedBy) after(at int64, id any) bson.E {
	return eq("$or", bson.A{
		bson.D{eq(by.member, bson.D{eq(by.beyond, at)})},
		bson.D{eq(by.member, at), eq("_id", bson.D{eq(by.beyond, id)})}})
}
