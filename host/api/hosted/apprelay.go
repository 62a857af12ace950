package hosted

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type listAppGrants struct {
	appOf
	grantSearch
	Paging
}

type appGrants struct {
	Grants     []authz.Grant `json:"grants"`
	NextCursor *string       `json:"nextCursor"`
}

type createAppGrant struct {
	appOf
	grantInput
}

// Check also tells a global row, which goes through the org root.
func (in createAppGrant) Check() error {
	if err := in.grantInput.Check(); err != nil {
		return err
	}
	return checkInstance(in.Scope)
}

type appGrant struct {
	Grant authz.Grant `json:"grant"`
}

type appRow struct {
	appOf
	ID string `path:"id"`
}

type listAppRevokes struct {
	appOf
	revokeFilter
	Paging
}

type appRevokes struct {
	Revokes    []authz.Revoke `json:"revokes"`
	NextCursor *string        `json:"nextCursor"`
}

type createAppRevoke struct {
	appOf
	revokeInput
}

// Check also tells a global row.
func (in createAppRevoke) Check() error {
	if err := in.revokeInput.Check(); err != nil {
		return err
	}
	return checkInstance(in.Scope)
}

type appRevoke struct {
	Revoke authz.Revoke `json:"revoke"`
}

type listAppRequests struct {
	appOf
	State           *authz.RequestState `query:"state,omitempty" enum:"pending,approved,denied,cancelled"`
	RequesterUserID *string             `query:"requesterUserId,omitempty"`
	Paging
}

type appRequests struct {
	Requests   []authz.Request `json:"requests"`
	NextCursor *string         `json:"nextCursor"`
}

type appCatalog struct {
	Published *provider.PublishedCatalog `json:"published"`
	Imports   *provider.PublishedImports `json:"imports"`
}

type appMesh struct {
	Mesh *provider.MeshView `json:"mesh"`
}

type countAppGrants struct {
	appOf
	grantFilter
}

type countAppRevokes struct {
	appOf
	revokeFilter
}

type listAppScopes struct {
	appOf
	searching
	Parent *string `query:"parent,omitempty"`
	Paging
}

// Check tells a parent that is no scope.
func (in listAppScopes) Check() error {
	return checkScopeOf("parent", in.Parent)
}

type appScopes struct {
	Scopes     []provider.RecordedScope `json:"scopes"`
	NextCursor *string                  `json:"nextCursor"`
}

type appAncestors struct {
	appOf
	Scope string `query:"scope"`
}

// Check tells a scope that is none.
func (in appAncestors) Check() error { return checkScope(&in.Scope) }

type ancestors struct {
	Ancestors []string `json:"ancestors"`
}

type appUsage struct {
	appOf
	Dimension string   `path:"dimension"`
	IDs       []string `query:"ids,omitempty"`
	Since     *int64   `query:"since,omitempty"`
	Until     *int64   `query:"until,omitempty"`
}

type usage struct {
	Usage json.RawMessage `json:"usage"`
}

// readApp gates what is shown of an application.
var readApp = service.CloudAtApp(cloud.ApplicationsRead)

func appRelayRows(t *table) {
	read, write := readApp, service.CloudAtApp(cloud.ManageAccess)
	at := func(rest string) string { return "/orgs/{org}/applications/{app}/" + rest }
	add(t, endpoint{Method: "GET", Path: at("grants"), Summary: "An application's grants", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in listAppGrants) (out appGrants, err error) {
			list, err := c.root().AppGrants(ctx, c.Access, in.App, in.search(), c.page())
			if err != nil {
				return out, err
			}
			out.Grants = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: at("grants"), Summary: "Create an instance grant", Gate: write, Relayed: true, Status: http.StatusCreated,
		Audit: []string{"O: grant.create"}},
		func(ctx context.Context, c *Call, in createAppGrant) (out appGrant, err error) {
			if out.Grant, err = c.root().CreateAppGrant(ctx, c.Access, in.App, in.of()); err == nil {
				c.located("orgs", in.Org, "applications", in.App, "grants", out.Grant.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("grants/count"), Summary: "How many grants an application has", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in countAppGrants) (count, error) {
			n, err := c.root().CountAppGrants(ctx, c.Access, in.App, in.of())
			return count{n}, err
		})
	add(t, endpoint{Method: "GET", Path: at("grants/{id}"), Summary: "A grant of an application", Gate: read, Relayed: true, Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in appRow) (out appGrant, err error) {
			if out.Grant, err = c.root().OneAppGrant(ctx, c.Access, in.App, in.ID); err == nil {
				err = c.tagged(out.Grant)
			}
			return out, err
		})
	add(t, endpoint{Method: "DELETE", Path: at("grants/{id}"), Summary: "Delete an instance grant", Gate: write, Relayed: true, Audit: []string{"O: grant.delete"}},
		func(ctx context.Context, c *Call, in appRow) (None, error) {
			return None{}, c.root().DeleteAppGrant(ctx, c.Access, in.App, in.ID)
		})
	add(t, endpoint{Method: "GET", Path: at("revokes"), Summary: "An application's revokes", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in listAppRevokes) (out appRevokes, err error) {
			list, err := c.root().AppRevokes(ctx, c.Access, in.App, in.of(), c.page())
			if err != nil {
				return out, err
			}
			out.Revokes = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: at("revokes"), Summary: "Create an instance revoke", Gate: write, Relayed: true, Status: http.StatusCreated,
		Audit: []string{"O: revoke.create"}},
		func(ctx context.Context, c *Call, in createAppRevoke) (out appRevoke, err error) {
			if out.Revoke, err = c.root().CreateAppRevoke(ctx, c.Access, in.App, in.of()); err == nil {
				c.located("orgs", in.Org, "applications", in.App, "revokes", out.Revoke.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("revokes/count"), Summary: "How many revokes an application has", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in countAppRevokes) (count, error) {
			n, err := c.root().CountAppRevokes(ctx, c.Access, in.App, in.of())
			return count{n}, err
		})
	add(t, endpoint{Method: "GET", Path: at("revokes/{id}"), Summary: "A revoke of an application", Gate: read, Relayed: true, Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in appRow) (out appRevoke, err error) {
			if out.Revoke, err = c.root().OneAppRevoke(ctx, c.Access, in.App, in.ID); err == nil {
				err = c.tagged(out.Revoke)
			}
			return out, err
		})
	add(t, endpoint{Method: "DELETE", Path: at("revokes/{id}"), Summary: "Delete an instance revoke", Gate: write, Relayed: true, Audit: []string{"O: revoke.delete"}},
		func(ctx context.Context, c *Call, in appRow) (None, error) {
			return None{}, c.root().DeleteAppRevoke(ctx, c.Access, in.App, in.ID)
		})
	add(t, endpoint{Method: "GET", Path: at("requests"), Summary: "An application's requests", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in listAppRequests) (out appRequests, err error) {
			list, err := c.root().AppRequests(ctx, c.Access, in.App, provider.RequestQuery{State: in.State, RequesterUserID: in.RequesterUserID}, c.page())
			if err != nil {
				return out, err
			}
			out.Requests = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("catalog"), Summary: "What an application has published itself", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in appOf) (out appCatalog, err error) {
			out.Published, out.Imports, err = c.root().AppCatalog(ctx, c.Access, in.App)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("mesh"), Summary: "The mesh that an application is in", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in appOf) (out appMesh, err error) {
			out.Mesh, err = c.root().AppMesh(ctx, c.Access, in.App)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("scopes"), Summary: "The scopes whose parents an application has recorded", Gate: read, Relayed: true, Own: []string{"unsupported"}},
		func(ctx context.Context, c *Call, in listAppScopes) (out appScopes, err error) {
			list, err := c.root().AppScopes(ctx, c.Access, in.App, provider.RecordedScopeQuery{Prefix: in.Q, Parent: deref(in.Parent)}, c.page())
			if err != nil {
				return out, err
			}
			out.Scopes = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("ancestors"), Summary: "The ancestors of a scope, for display", Gate: read, Relayed: true},
		func(ctx context.Context, c *Call, in appAncestors) (out ancestors, err error) {
			out.Ancestors, err = c.root().Ancestors(ctx, c.Access, in.App, in.Scope)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("usage/{dimension}"), Summary: "What an application counted", Gate: read, Relayed: true,
		Own: []string{"unsupported", "dimension_not_found"}},
		func(ctx context.Context, c *Call, in appUsage) (out usage, err error) {
			q := provider.UsageQuery{Since: in.Since, Until: in.Until}
			if in.IDs != nil {
				q.IDs = &in.IDs
			}
			out.Usage, err = c.root().Usage(ctx, c.Access, in.App, in.Dimension, q)
			return out, err
		})
}
