package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Edges read backwards, grants by scope, and many people at once.

func (s *storeClient) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return list(ctx, s, s.rpc.ListScopes, &pluginv1.PageQuery{Store: s.handle, Page: encodePage(p)},
		func(scope string) (string, error) { return scope, nil })
}

func (s *storageServer) ListScopes(q *pluginv1.PageQuery, st grpc.ServerStreamingServer[pluginv1.IdRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[string, error] {
		return store.ListScopes(st.Context(), decodePage(q.GetPage()))
	}, func(scope string) (string, error) { return scope, nil }, idRows)
}

func (s *storeClient) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	q := &pluginv1.EdgeQuery{Store: s.handle, Kind: string(kind), Of: of, AfterOf: p.AfterOf, AfterFrom: p.AfterFrom, Limit: int64(p.Limit)}
	return list(ctx, s, s.rpc.ListEdges, q, infallible(decodeEdge))
}

func (s *storageServer) ListEdges(q *pluginv1.EdgeQuery, st grpc.ServerStreamingServer[pluginv1.EdgeRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[storage.Edge, error] {
		return store.ListEdges(st.Context(), storage.EdgeKind(q.GetKind()), q.GetOf(),
			storage.EdgePage{AfterOf: q.GetAfterOf(), AfterFrom: q.GetAfterFrom(), Limit: int(q.GetLimit())})
	}, infallible(encodeEdge), edgeRows)
}

func (s *storeClient) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	q := &pluginv1.GrantsAtQuery{Store: s.handle, Scopes: scopes,
		AfterScope: p.AfterScope, AfterSubject: p.AfterSubject, AfterId: p.AfterID, Limit: int64(p.Limit)}
	return list(ctx, s, s.rpc.ListGrantsAt, q, infallible(decodeGrant))
}

func (s *storageServer) ListGrantsAt(q *pluginv1.GrantsAtQuery, st grpc.ServerStreamingServer[pluginv1.GrantRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Grant, error] {
		return store.ListGrantsAt(st.Context(), q.GetScopes(),
			storage.GrantsAtPage{AfterScope: q.GetAfterScope(), AfterSubject: q.GetAfterSubject(), AfterID: q.GetAfterId(), Limit: int(q.GetLimit())})
	}, infallible(encodeGrant), grantRows)
}

func (s *storeClient) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, s.rpc.FindGrants, encodeGrantSearch(s.handle, q, p), infallible(decodeGrant))
}

func (s *storageServer) FindGrants(q *pluginv1.GrantSearch, st grpc.ServerStreamingServer[pluginv1.GrantRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Grant, error] {
		search, page := decodeGrantSearch(q)
		return store.FindGrants(st.Context(), search, page)
	}, infallible(encodeGrant), grantRows)
}

func (s *storeClient) ReadPeople(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
	a, err := read(ctx, s, s.rpc.ReadPeople, &pluginv1.PeopleQuery{Store: s.handle, UserIds: q.UserIDs, Scopes: encodeList(q.Scopes), WithoutGrants: q.WithoutGrants})
	if err != nil {
		return storage.People{}, err
	}
	people := storage.People{Users: mapRows(a.GetUsers(), decodeUser), Revokes: mapRows(a.GetRevokes(), decodeRevoke)}
	people.Grants, err = decodeAccessGrants(a.GetGrants(), a.GetProvenances())
	return people, unreadable(err, "")
}

func (s *storageServer) ListUserIds(q *pluginv1.UserIdQuery, st grpc.ServerStreamingServer[pluginv1.IdRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[string, error] {
		return store.ListUserIDs(st.Context(), q.GetPrefix(), decodePage(q.GetPage()))
	}, infallible(itself), idRows)
}

func (s *storageServer) ReadPeople(ctx context.Context, q *pluginv1.PeopleQuery) (*pluginv1.People, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.People, error) {
		people, err := store.ReadPeople(ctx, storage.PeopleQuery{UserIDs: q.GetUserIds(), Scopes: decodeList(q.GetScopes()), WithoutGrants: q.GetWithoutGrants()})
		if err != nil {
			return nil, err
		}
		out := &pluginv1.People{Users: mapRows(people.Users, encodeUser), Revokes: mapRows(people.Revokes, encodeRevoke)}
		out.Grants, out.Provenances = encodeAccessGrants(people.Grants)
		return out, nil
	})
}

func (s *storeClient) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return list(ctx, s, s.rpc.ListUserIds, &pluginv1.UserIdQuery{Store: s.handle, Prefix: prefix, Page: encodePage(p)}, infallible(itself))
}

func itself(id string) string { return id }

func encodeEdge(e storage.Edge) *pluginv1.Edge {
	return &pluginv1.Edge{Of: e.Of, From: e.From, Sole: e.Sole}
}

func decodeEdge(e *pluginv1.Edge) storage.Edge {
	return storage.Edge{Of: e.GetOf(), From: e.GetFrom(), Sole: e.GetSole()}
}

func edgeRows(rows []*pluginv1.Edge) *pluginv1.EdgeRows { return &pluginv1.EdgeRows{Rows: rows} }
