package hosted

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/registry"
)

// maxCatalog bounds the body of a publish, in bytes.
const maxCatalog = 8 << 20

var publishCodes = []string{"malformed_document", "unsupported_format", "namespace_not_owned", "namespace_reserved",
	"version_conflict", "out_of_order", "namespace_unregistered"}

type publish struct {
	Document        json.RawMessage `json:"document"`
	ExpectedVersion *int64          `json:"expectedVersion,omitempty" min:"0"`
}

func (in publish) input() registry.Input {
	return registry.Input{Document: in.Document, Expected: in.ExpectedVersion}
}

type publishFrom struct {
	inOrg
	App string `path:"app"`
	publish
}

type listNamespaces struct {
	inOrg
	Paging
}

type namespaces struct {
	Namespaces []registry.Summary `json:"namespaces"`
	NextCursor *string            `json:"nextCursor"`
}

type namespaceOf struct {
	inOrg
	NS string `path:"ns"`
}

type documentOf struct {
	namespaceOf
	Version *int64 `query:"version,omitempty" min:"1"`
}

func registryRows(t *table) {
	add(t, endpoint{Method: "POST", Path: "/registry/publish", Summary: "Publish a catalog with a publisher key", Gate: service.Publisher,
		Status: http.StatusCreated, Also: []int{http.StatusOK}, BodyLimit: maxCatalog, Own: publishCodes,
		Audit: []string{"A: registry.publish"}, Meter: []string{"catalog_publishes"}},
		func(ctx context.Context, c *Call, in publish) (registry.Result, error) {
			asked := in.input()
			asked.Still = c.core().StillHolds(c.Caller)
			return c.published(c.api.o.Services.Registry.PublishNamespace(ctx, c.Caller.Actor(), c.Caller.Org, c.Caller.Namespace, asked))
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/publish", Summary: "Publish the catalog of an application",
		Gate: service.CloudAtApp(cloud.PublishCatalog), Status: http.StatusCreated, Also: []int{http.StatusOK}, BodyLimit: maxCatalog, Own: publishCodes,
		Audit: []string{"A: registry.publish"}, Meter: []string{"catalog_publishes"}},
		func(ctx context.Context, c *Call, in publishFrom) (registry.Result, error) {
			if err := c.limitPublishes(ctx, in); err != nil {
				return registry.Result{}, err
			}
			return c.published(c.api.o.Services.Registry.PublishApplication(ctx, c.Caller.Actor(), in.Org, in.App, in.input()))
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/registry", Summary: "Namespaces, with counts", Gate: service.AnySeat},
		func(ctx context.Context, c *Call, in listNamespaces) (out namespaces, err error) {
			rows, err := c.api.o.Services.Registry.List(ctx, in.Org)
			if err != nil {
				return out, err
			}
			next := ""
			out.Namespaces, next = pageOf(rows, func(s registry.Summary) string { return s.Namespace }, c.Page)
			out.NextCursor, err = c.next(next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/registry/drift", Summary: "What roles, grants and imports name although it is gone",
		Gate: service.Cloud(cloud.RegistryRead)},
		func(ctx context.Context, c *Call, in inOrg) (registry.Drift, error) {
			return c.api.o.Services.Registry.Drift(ctx, in.Org)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/registry/{ns}", Summary: "A namespace with its versions", Gate: service.AnySeat,
		Own: []string{"namespace_not_found"}},
		func(ctx context.Context, c *Call, in namespaceOf) (registry.Namespace, error) {
			return c.api.o.Services.Registry.Get(ctx, in.Org, in.NS)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/registry/{ns}/document", Summary: "A published document, bare", Gate: service.AnySeat,
		Produces: "application/json", Own: []string{"namespace_not_found", "version_not_found"}},
		func(ctx context.Context, c *Call, in documentOf) (bare, error) {
			d, err := c.api.o.Services.Registry.Document(ctx, in.Org, in.NS, in.Version)
			if err != nil {
				return nil, err
			}
			c.header.Set("X-Authz-Catalog-Version", strconv.FormatInt(d.Version, 10))
			c.header.Set("ETag", d.ETag)
			return d.Raw, nil
		})
}

// published is 200 where nothing changed.
func (c *Call) published(result registry.Result, err error) (registry.Result, error) {
	if err == nil && result.Unchanged {
		c.status = http.StatusOK
	}
	return result, err
}

// limitPublishes counts the publish under the application's namespaces that the
// document names: who may publish for one uses up nothing of another's.
func (c *Call) limitPublishes(ctx context.Context, in publishFrom) error {
	var d struct {
		Namespaces []string `json:"namespaces"`
	}
	if json.Unmarshal(in.Document, &d) != nil {
		return nil // refused by the registry
	}
	own, err := c.entries().NamespacesOf(ctx, in.Org, in.App)
	if err != nil {
		return err
	}
	for _, namespace := range own {
		if !slices.Contains(d.Namespaces, namespace) {
			continue
		}
		if err := c.limitPublish(in.Org, namespace); err != nil {
			return err
		}
	}
	return nil
}
