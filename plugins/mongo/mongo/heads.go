package mongo

import (
	"context"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

func (p *partition) readHead(ctx context.Context, in layout.Name) (h head, found bool, err error) {
	c := p.in(in)
	row, found, err := c.One(ctx, c.Key(headKey))
	if err != nil || !found {
		return h, false, err
	}
	h, err = headOf(in, row)
	return h, err == nil, err
}

func (s *store) readHead(ctx context.Context, in layout.Name) (h head, found bool, err error) {
	if err := s.usable(ctx); err != nil {
		return h, false, err
	}
	err = s.read(ctx, func(ctx context.Context) (err error) {
		h, found, err = s.partition.readHead(ctx, in)
		return err
	})
	return h, found && err == nil, err
}

func (s *store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	h, found, err := s.readHead(ctx, layout.Catalog)
	return storage.CatalogHead{Version: h.Version, Document: document(h.Text)}, found, err
}

func (s *store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	h, found, err := s.readHead(ctx, layout.Imports)
	return storage.ImportsHead{Version: h.Version, Manifest: document(h.Text)}, found, err
}
