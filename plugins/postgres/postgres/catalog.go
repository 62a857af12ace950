package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CatalogHead{}, false, err
	}
	return one(ctx, s, `select "version", "document" from "AuthzCatalog" where "app" = $1`, func(scan relational.Scan) (h storage.CatalogHead, err error) {
		var document []byte
		err = scan(&h.Version, &document)
		h.Document = document
		return h, err
	})
}

func (s *store) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	if err := s.able(ctx, storage.CapHistory, version); err != nil {
		return storage.CatalogVersion{}, false, err
	}
	return one(ctx, s, `select "version", "publishedAt", "document" from "AuthzCatalogVersion" where "app" = $1 and "version" = $2`,
		func(scan relational.Scan) (v storage.CatalogVersion, err error) {
			var document []byte
			err = scan(&v.Version, &v.PublishedAt, &document)
			v.Document = document
			return v, err
		}, version)
}

func (s *store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return stream(ctx, s, s.able(ctx, storage.CapHistory), listing[storage.CatalogVersion, int64]{after: math.MinInt64, first: chunkRows,
		key: func(v storage.CatalogVersion) int64 { return v.Version },
		fetch: func(ctx context.Context, after int64, n int) (chunk[storage.CatalogVersion], error) {
			return several(ctx, s, true, func(scan relational.Scan) (v storage.CatalogVersion, err error) {
				return v, scan(&v.Version, &v.PublishedAt)
			}, `select "version", "publishedAt" from "AuthzCatalogVersion" where "app" = $1 and "version" > $2 order by "version" limit $3`, after, n)
		}})
}

func (s *store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	if err := s.able(ctx, storage.CapImports); err != nil {
		return storage.ImportsHead{}, false, err
	}
	return one(ctx, s, `select "version", "manifest" from "AuthzImports" where "app" = $1`, func(scan relational.Scan) (h storage.ImportsHead, err error) {
		var manifest []byte
		err = scan(&h.Version, &manifest)
		h.Manifest = manifest
		return h, err
	})
}
