package api

import (
	"context"

	"github.com/authzhost/authz/sdk/provider"
)

// Clean-up, and the import manifest.

type importsResult struct {
	Published *provider.PublishedImports `json:"published"`
}

func deleteSubject(c *call) action {
	subject, prov := c.text("subject"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) { return c.app.DeleteSubject(ctx, subject, prov) }
}

func deleteScope(c *call) action {
	scope, prov := c.text("scope"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) { return c.app.DeleteScope(ctx, scope, prov) }
}

func dissolveVirtualParent(c *call) action {
	id, prov := c.text("groupId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.DissolveVirtualParent(ctx, id, prov)
	}
}

// publishImports hands the manifest on as it came: the catalog package reads it.
func publishImports(c *call) action {
	manifest := c.value("manifest")
	if _, ok := c.objectOf(manifest); !ok {
		c.refuse("manifest", "an object")
	}
	prov := c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		version, err := c.app.PublishImports(ctx, manifest, prov)
		return versionResult{version}, err
	}
}

func getPublishedImports(c *call) action {
	return func(ctx context.Context) (any, error) {
		published, err := c.app.GetPublishedImports(ctx)
		return importsResult{published}, err
	}
}
