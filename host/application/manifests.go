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

// PublishImports stores the import manifest as the next version of its own
// counter. Over a driver that stores none it refuses with CodeUnsupported.
func (a *Application) PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (int64, error) {
	if err := a.checkImports(); err != nil {
		return 0, err
	}
	prov, err := shape{err: checkJSON("manifest", manifest)}.provenance(prov)
	if err != nil {
		return 0, err
	}
	checked, err := catalog.CheckManifest(manifest)
	if err != nil {
		return 0, err
	}
	manifest = slices.Clone(manifest)
	var version int64
	plan := func(ctx context.Context, d *draft) error {
		head, _, err := a.store.GetImports(ctx)
		if err != nil {
			return err
		}
		version = head.Version + 1
		d.change(storage.PutImports{Version: version, Manifest: manifest, Expect: &head.Version})
		d.audit("imports.publish", checked.Namespace, struct {
			Version    int64    `json:"version"`
			Namespaces []string `json:"namespaces"`
		}{version, checked.Imported})
		return nil
	}
	err = a.run(ctx, write{op: "publishImports", prov: prov, sections: []string{sectionImports}, plan: plan})
	return answered(&version, err)
}

// GetPublishedImports returns the stored head, nil when nothing was published.
func (a *Application) GetPublishedImports(ctx context.Context) (*provider.PublishedImports, error) {
	if err := a.checkImports(); err != nil {
		return nil, err
	}
	head, found, err := a.store.GetImports(ctx)
	if err != nil {
		return nil, a.readFailed("getPublishedImports", err)
	}
	if !found {
		return nil, nil
	}
	return &provider.PublishedImports{Version: head.Version, Manifest: head.Manifest}, nil
}

func (a *Application) checkImports() error {
	if a.HasImports() {
		return nil
	}
	return authz.Rejected(authz.CodeUnsupported, "this storage driver does not store import manifests (capability %q)", storage.CapImports)
}
