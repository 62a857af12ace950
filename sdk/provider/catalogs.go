package provider

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
)

// Catalogs publishes the catalog document of the application.
type Catalogs interface {
	PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (version int64, err error)

	// GetPublishedCatalog returns nil when nothing was published.
	GetPublishedCatalog(ctx context.Context) (*PublishedCatalog, error)
}

// PublishedCatalog is the stored head.
type PublishedCatalog struct {
	Version  int64           `json:"version"`
	Document json.RawMessage `json:"document"`
}

// Imports publishes the import manifest of the application. When the driver lacks
// CapImports, both methods refuse with CodeUnsupported.
type Imports interface {
	PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (version int64, err error)

	// GetPublishedImports returns nil when nothing was published.
	GetPublishedImports(ctx context.Context) (*PublishedImports, error)
}

// PublishedImports is the stored head.
type PublishedImports struct {
	Version  int64           `json:"version"`
	Manifest json.RawMessage `json:"manifest"`
}

type (
	versionOut struct {
		Version int64 `json:"version"`
	}
	publishedCatalogOut struct {
		Published *PublishedCatalog `json:"published"`
	}
	publishedImportsOut struct {
		Published *PublishedImports `json:"published"`
	}

	publishCatalogIn struct {
		Document   json.RawMessage  `json:"document" read:"required,document"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	publishImportsIn struct {
		Manifest   json.RawMessage  `json:"manifest" read:"required,document"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
)

var opPublishCatalog = declare(Operation{Op: "publishCatalog", Kind: Write, Method: "PublishCatalog", Lenient: true,
	Tag: "catalog", Summary: "Publish a catalog document", Notes: "The running catalog does not change.", Answer: "The version that was given to what was published."},
	func(ctx context.Context, to Provider, in *publishCatalogIn) (versionOut, error) {
		version, err := to.PublishCatalog(ctx, in.Document, in.Provenance)
		return versionOut{version}, err
	})

func (c Calls) PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (int64, error) {
	out, err := ask(ctx, c, opPublishCatalog, publishCatalogIn{document, prov})
	return out.Version, err
}

var opGetPublishedCatalog = declare(Operation{Op: "getPublishedCatalog", Kind: Read, Method: "GetPublishedCatalog",
	Tag: "catalog", Summary: "Read the published catalog document", Answer: "The newest version, or null."},
	func(ctx context.Context, to Provider, _ *none) (publishedCatalogOut, error) {
		published, err := to.GetPublishedCatalog(ctx)
		return publishedCatalogOut{published}, err
	})

func (c Calls) GetPublishedCatalog(ctx context.Context) (*PublishedCatalog, error) {
	out, err := ask(ctx, c, opGetPublishedCatalog, none{})
	return out.Published, err
}

const withoutImports = "`unsupported` where the driver stores no manifests (`capabilities.imports`)."

var opPublishImports = declare(Operation{Op: "publishImports", Kind: Write, Method: "PublishImports", Requires: FeatureImports, Lenient: true,
	Tag: "catalog", Summary: "Publish an import manifest", Notes: withoutImports, Answer: "The version that was given to what was published."},
	func(ctx context.Context, to Provider, in *publishImportsIn) (versionOut, error) {
		version, err := to.PublishImports(ctx, in.Manifest, in.Provenance)
		return versionOut{version}, err
	})

func (c Calls) PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (int64, error) {
	out, err := ask(ctx, c, opPublishImports, publishImportsIn{manifest, prov})
	return out.Version, err
}

var opGetPublishedImports = declare(Operation{Op: "getPublishedImports", Kind: Read, Method: "GetPublishedImports", Requires: FeatureImports,
	Tag: "catalog", Summary: "Read the published import manifest", Notes: withoutImports, Answer: "The newest version, or null."},
	func(ctx context.Context, to Provider, _ *none) (publishedImportsOut, error) {
		published, err := to.GetPublishedImports(ctx)
		return publishedImportsOut{published}, err
	})

func (c Calls) GetPublishedImports(ctx context.Context) (*PublishedImports, error) {
	out, err := ask(ctx, c, opGetPublishedImports, none{})
	return out.Published, err
}
