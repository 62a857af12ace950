package api

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Grants and revokes.

type (
	grantResult struct {
		Grant authz.Grant `json:"grant"`
	}
	grantsResult struct {
		Grants []authz.Grant `json:"grants"`
	}
	countResult struct {
		Count int64 `json:"count"`
	}
	revokeResult struct {
		Revoke authz.Revoke `json:"revoke"`
	}
)

func createGrant(c *call) action {
	in := c.nested("input")
	grant := grantInput(in)
	prov := c.provenance(in)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.CreateGrant(ctx, grant, prov)
		return grantResult{row}, err
	}
}

func createGrants(c *call) action {
	inputs := []provider.GrantInput{}
	for _, in := range c.objects("inputs") {
		inputs = append(inputs, grantInput(in))
	}
	prov := c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		rows, err := c.app.CreateGrants(ctx, inputs, prov)
		return grantsResult{orEmpty(rows)}, err
	}
}

func deleteGrant(c *call) action {
	id, prov := c.text("grantId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.DeleteGrant(ctx, id, prov)
	}
}

func listGrants(c *call) action {
	page, limit := c.page()
	q := grantQuery(c.nested("filter"), page)
	return listing("grants", limit, func(ctx context.Context) rowsOf[authz.Grant] {
		return c.app.ListGrants(ctx, q)
	}, func(g authz.Grant) any { return g.ID })
}

func countGrants(c *call) action {
	q := grantQuery(c.nested("filter"), provider.Paging{})
	return func(ctx context.Context) (any, error) {
		n, err := c.app.CountGrants(ctx, q)
		return countResult{n}, err
	}
}

func createRevoke(c *call) action {
	in := c.nested("input")
	revoke := revokeInput(in)
	prov := c.provenance(in)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.CreateRevoke(ctx, revoke, prov)
		return revokeResult{row}, err
	}
}

func deleteRevoke(c *call) action {
	id, prov := c.text("revokeId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.DeleteRevoke(ctx, id, prov)
	}
}

func listRevokes(c *call) action {
	page, limit := c.page()
	q := revokeQuery(c.nested("filter"), page)
	return listing("revokes", limit, func(ctx context.Context) rowsOf[authz.Revoke] {
		return c.app.ListRevokes(ctx, q)
	}, func(r authz.Revoke) any { return r.ID })
}
