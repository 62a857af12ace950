package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The catalog, the import manifest, the audit log and records.

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

func (s *storeClient) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	if f.Subject != nil && !s.info.Capabilities.Has(storage.CapAuditSubjects) {
		return func(yield func(authz.AuditEntry, error) bool) {
			yield(authz.AuditEntry{}, storage.Unsupported(storage.CapAuditSubjects))
		}
	}
	return list(ctx, s, s.rpc.ListAudit, encodeAuditQuery(s.handle, f), infallible(decodeAudit))
}

func (s *storageServer) ListAudit(q *pluginv1.AuditQuery, st grpc.ServerStreamingServer[pluginv1.AuditRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.AuditEntry, error] {
		return store.ListAudit(st.Context(), decodeAuditQuery(q))
	}, infallible(encodeAudit), auditRows)
}

func (s *storeClient) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	a, err := read(ctx, s, s.rpc.GetRecord, &pluginv1.RecordKey{Store: s.handle, Collection: collection, Id: id})
	return one(a.GetRows(), err, infallible(decodeRecord))
}

func (s *storageServer) GetRecord(ctx context.Context, q *pluginv1.RecordKey) (*pluginv1.RecordRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RecordRows, error) {
		row, found, err := store.GetRecord(ctx, q.GetCollection(), q.GetId())
		return maybe(row, found, err, infallible(encodeRecord), recordRows)
	})
}

func (s *storeClient) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	q := &pluginv1.RecordQuery{Store: s.handle, Collection: collection, Index: int64(f.Index), Value: f.Value, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListRecords, q, infallible(decodeRecord))
}

func (s *storageServer) ListRecords(q *pluginv1.RecordQuery, st grpc.ServerStreamingServer[pluginv1.RecordRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[storage.Record, error] {
		filter := storage.RecordFilter{Index: int(q.GetIndex()), Value: q.GetValue()}
		return store.ListRecords(st.Context(), q.GetCollection(), filter, decodePage(q.GetPage()))
	}, infallible(encodeRecord), recordRows)
}

func catalogRows(rows []*pluginv1.Catalog) *pluginv1.CatalogRows {
	return &pluginv1.CatalogRows{Rows: rows}
}
func importsRows(rows []*pluginv1.Imports) *pluginv1.ImportsRows {
	return &pluginv1.ImportsRows{Rows: rows}
}
func auditRows(rows []*pluginv1.AuditEntry) *pluginv1.AuditRows {
	return &pluginv1.AuditRows{Rows: rows}
}
func recordRows(rows []*pluginv1.Record) *pluginv1.RecordRows {
	return &pluginv1.RecordRows{Rows: rows}
}
