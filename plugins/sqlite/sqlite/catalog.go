package sqlite

import (
	"context"
	"iter"
	"math"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	catalogHead    = `SELECT "version", "document" FROM "AuthzCatalog" WHERE "app" = ?`
	catalogVersion = `SELECT "version", "document", "publishedAt" FROM "AuthzCatalogVersion" WHERE "app" = ? AND "version" = ?`
	importsHead    = `SELECT "version", "manifest" FROM "AuthzImports" WHERE "app" = ?`
)

func (s *store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	return find(ctx, s, func(scan relational.Scan) (row storage.CatalogHead, err error) {
		return row, scan(&row.Version, (*[]byte)(&row.Document))
	}, catalogHead)
}

func (s *store) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	return find(ctx, s, func(scan relational.Scan) (row storage.CatalogVersion, err error) {
		return row, scan(&row.Version, (*[]byte)(&row.Document), &row.PublishedAt)
	}, catalogVersion, version)
}

func (s *store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return stream(ctx, s, list[int64, storage.CatalogVersion]{
		after: math.MinInt64, key: func(v storage.CatalogVersion) int64 { return v.Version },
		scan: func(scan relational.Scan) (row storage.CatalogVersion, err error) {
			return row, scan(&row.Version, &row.PublishedAt)
		},
		chunk: func(after int64, limit int) *query {
			q := s.selecting(`"version", "publishedAt"`, relational.CatalogVersionTable, "")
			q.and(`"version" > ?`, after)
			q.page(`"version"`, limit)
			return q
		},
	})
}

func (s *store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	return find(ctx, s, func(scan relational.Scan) (row storage.ImportsHead, err error) {
		return row, scan(&row.Version, (*[]byte)(&row.Manifest))
	}, importsHead)
}
