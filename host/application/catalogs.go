package application

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// PublishCatalog stores the document as the next version. The catalog that this
// application runs on does not change.
func (a *Application) PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (int64, error) {
	prov, err := shape{err: checkJSON("document", document)}.provenance(prov)
	if err != nil {
		return 0, err
	}
	checked, err := catalog.CheckDocument(document)
	if err != nil {
		return 0, err
	}
	document = slices.Clone(document)
	var version int64
	plan := func(ctx context.Context, d *draft) error {
		head, _, err := a.store.GetCatalog(ctx)
		if err != nil {
			return err
		}
		version = head.Version + 1
		d.change(storage.PutCatalog{Version: version, Document: document, PublishedAt: d.now, Expect: &head.Version})
		d.audit("catalog.publish", checked.Namespace, struct {
			Version int64 `json:"version"`
		}{version})
		d.emit(authz.Event{Type: authz.EventCatalog})
		return nil
	}
	err = a.run(ctx, write{op: "publishCatalog", prov: prov, sections: []string{sectionCatalog}, plan: plan})
	return answered(&version, err)
}

// CatalogReload is what an audit log tells of a catalog that came into force while its host
// ran.
type CatalogReload struct {
	Namespace string   `json:"-"`
	SHA256    string   `json:"sha256"`  // of its document
	Changes   int      `json:"changes"` // how many there are
	Told      []string `json:"told"`    // the first of them
}

// RecordCatalogReload records that the application's catalog is another from now on.
func (a *Application) RecordCatalogReload(ctx context.Context, r CatalogReload, prov authz.Provenance) error {
	return a.propose(ctx, shape{}, write{op: "reloadCatalog", prov: prov, plan: func(_ context.Context, d *draft) error {
		d.audit("catalog.reload", r.Namespace, r)
		return nil
	}})
}

// GetPublishedCatalog returns the stored head, nil when nothing was published.
func (a *Application) GetPublishedCatalog(ctx context.Context) (*provider.PublishedCatalog, error) {
	head, found, err := a.store.GetCatalog(ctx)
	if err != nil {
		return nil, a.readFailed("getPublishedCatalog", err)
	}
	if !found {
		return nil, nil
	}
	return &provider.PublishedCatalog{Version: head.Version, Document: head.Document}, nil
}
