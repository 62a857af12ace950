package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The catalog and the import manifest.

func (s *storeClient) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	a, err := read(ctx, s, s.rpc.GetCatalog, &pluginv1.Whole{Store: s.handle})
	return one(a.GetRows(), err, infallible(func(c *pluginv1.Catalog) storage.CatalogHead {
		return storage.CatalogHead{Version: c.GetVersion(), Document: c.DocumentJson}
	}))
}

func (s *storageServer) GetCatalog(ctx context.Context, q *pluginv1.Whole) (*pluginv1.CatalogRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.CatalogRows, error) {
		head, found, err := store.GetCatalog(ctx)
		return maybe(storage.CatalogVersion{Version: head.Version, Document: head.Document}, found, err,
			infallible(encodeCatalogVersion), catalogRows)
	})
}

func (s *storeClient) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	a, err := read(ctx, s, s.rpc.GetCatalogVersion, &pluginv1.NumberQuery{Store: s.handle, Number: version})
	return one(a.GetRows(), err, infallible(decodeCatalogVersion))
}

func (s *storageServer) GetCatalogVersion(ctx context.Context, q *pluginv1.NumberQuery) (*pluginv1.CatalogRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.CatalogRows, error) {
		row, found, err := store.GetCatalogVersion(ctx, q.GetNumber())
		return maybe(row, found, err, infallible(encodeCatalogVersion), catalogRows)
	})
}

func (s *storeClient) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return list(ctx, s, s.rpc.ListCatalogVersions, &pluginv1.Whole{Store: s.handle}, infallible(decodeCatalogVersion))
}

func (s *storageServer) ListCatalogVersions(q *pluginv1.Whole, st grpc.ServerStreamingServer[pluginv1.CatalogRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[storage.CatalogVersion, error] {
		return store.ListCatalogVersions(st.Context())
	}, infallible(encodeCatalogVersion), catalogRows)
}

func (s *storeClient) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	a, err := read(ctx, s, s.rpc.GetImports, &pluginv1.Whole{Store: s.handle})
	return one(a.GetRows(), err, infallible(func(i *pluginv1.Imports) storage.ImportsHead {
		return storage.ImportsHead{Version: i.GetVersion(), Manifest: i.ManifestJson}
	}))
}

func (s *storageServer) GetImports(ctx context.Context, q *pluginv1.Whole) (*pluginv1.ImportsRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.ImportsRows, error) {
		head, found, err := store.GetImports(ctx)
		return maybe(&pluginv1.Imports{Version: head.Version, ManifestJson: head.Manifest}, found, err,
			infallible(func(row *pluginv1.Imports) *pluginv1.Imports { return row }), importsRows)
	})
}

func catalogRows(rows []*pluginv1.Catalog) *pluginv1.CatalogRows {
	return &pluginv1.CatalogRows{Rows: rows}
}

func importsRows(rows []*pluginv1.Imports) *pluginv1.ImportsRows {
	return &pluginv1.ImportsRows{Rows: rows}
}
