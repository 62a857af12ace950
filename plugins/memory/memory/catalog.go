package memory

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CatalogHead{}, false, err
	}
	head := s.now().catalog
	if head == nil {
		return storage.CatalogHead{}, false, nil
	}
	return storage.CatalogHead{Version: head.Version, Document: slices.Clone(head.Document)}, true, nil
}

func (s *store) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	return get(ctx, s, func(st *state) *tree[*storage.CatalogVersion] { return &st.versions },
		&storage.CatalogVersion{Version: version}, func(v *storage.CatalogVersion) storage.CatalogVersion {
			out := *v
			out.Document = slices.Clone(v.Document)
			return out
		}, version)
}

func (s *store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	read := func(st *state, after int64, n int) []*storage.CatalogVersion {
		return take(st.versions.after(&storage.CatalogVersion{Version: after}), n, all)
	}
	return stream(ctx, s, nil, math.MinInt64, 0, read,
		func(v *storage.CatalogVersion) int64 { return v.Version },
		func(v *storage.CatalogVersion) storage.CatalogVersion {
			return storage.CatalogVersion{Version: v.Version, PublishedAt: v.PublishedAt}
		})
}

func (s *store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	if err := s.usable(ctx); err != nil {
		return storage.ImportsHead{}, false, err
	}
	head := s.now().imports
	if head == nil {
		return storage.ImportsHead{}, false, nil
	}
	return storage.ImportsHead{Version: head.Version, Manifest: slices.Clone(head.Manifest)}, true, nil
}
