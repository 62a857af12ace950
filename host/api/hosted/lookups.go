package hosted

import (
	"cmp"
	"context"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type whoCan struct {
	inOrg
	Key   string  `query:"key" min:"1"`
	Scope *string `query:"scope,omitempty"`
	Paging
}

// Check wants a scope, where there is one.
func (in whoCan) Check() error { return checkScope(in.Scope) }

type holders struct {
	Subjects          []provider.Holder `json:"subjects"`
	RequiresCondition bool              `json:"requiresCondition,omitempty"`
	NextCursor        *string           `json:"nextCursor"`
}

type whereCan struct {
	inOrg
	principalOf
	Key string `query:"key" min:"1"`
	Paging
}

// Check wants one principal.
func (in whereCan) Check() error { return in.check() }

type heldScopes struct {
	Scopes            []provider.HeldScope `json:"scopes"`
	Expanded          bool                 `json:"expanded"`
	RequiresCondition bool                 `json:"requiresCondition,omitempty"`
	NextCursor        *string              `json:"nextCursor"`
}

type whatCan struct {
	inOrg
	principalOf
	Scope       *string `query:"scope,omitempty"`
	Application string  `query:"application,omitempty" min:"1"`
	Paging
}

// Check wants one principal, and a scope where there is one.
func (in whatCan) Check() error { return cmp.Or(in.check(), checkScope(in.Scope)) }

type heldKeys struct {
	Keys       []provider.HeldKey `json:"keys"`
	NextCursor *string            `json:"nextCursor"`
}

type planned struct {
	inOrg
	Application string            `json:"application,omitempty" min:"1"`
	With        provider.Supposed `json:"with,omitzero"`
	Without     []string          `json:"without,omitempty"`
}

type explainMe struct {
	inOrg
	Key   string `query:"key" min:"1"`
	Scope string `query:"scope" min:"1"`
}

// Check wants a scope.
func (in explainMe) Check() error { return checkScope(&in.Scope) }

// ownExplanation is what somebody may know of a check of their own: by what they hold
// it, what stands in the way, and what they may ask for. Who wrote a row, and what others
// hold, is not told.
type ownExplanation struct {
	Allowed           bool                 `json:"allowed"`
	Active            bool                 `json:"active"`
	RequiresCondition bool                 `json:"requiresCondition,omitempty"`
	Chain             []string             `json:"objectClosure"`
	By                []ownRow             `json:"by"`
	Implied           bool                 `json:"implied,omitempty"`
	Revoked           []ownRevoke          `json:"revoked"`
	Expired           []ownRow             `json:"expired"`
	Requests          []access.NearRequest `json:"requests"`
}

// ownRow is a grant without who made it.
type ownRow struct {
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	RoleName  string       `json:"roleName,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Scope     string       `json:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
	Through   []string     `json:"through,omitempty"`
}

type ownRevoke struct {
	Pattern string `json:"pattern"`
	Scope   string `json:"scope"`
}

func ownOf(e access.Explained) ownExplanation {
	own := ownExplanation{Allowed: e.Allowed, Active: e.Active, RequiresCondition: e.RequiresCondition, Chain: e.ObjectClosure, Implied: e.Implied,
		By: []ownRow{}, Revoked: []ownRevoke{}, Expired: []ownRow{}, Requests: []access.NearRequest{}}
	ways := make(map[string]access.Path, len(e.Paths))
	for _, w := range e.Paths {
		ways[w.GrantID] = w
	}
	row := func(g authz.Grant) ownRow {
		w := ways[g.ID]
		return ownRow{Subject: g.Subject, RoleID: g.RoleID, RoleName: w.RoleName, Pattern: cmp.Or(g.Pattern, w.Pattern), Scope: g.Scope, ExpiresAt: g.ExpiresAt, Through: w.Through}
	}
	for _, g := range slices.Concat(e.MatchedGrants, e.ImpliedBy) {
		own.By = append(own.By, row(g))
	}
	for _, g := range e.Expired {
		own.Expired = append(own.Expired, row(g))
	}
	for _, r := range e.MatchedRevokes {
		own.Revoked = append(own.Revoked, ownRevoke{r.Pattern, r.Scope})
	}
	if e.Near != nil {
		own.Requests = append(own.Requests, e.Near.Requests...)
	}
	return own
}

func lookupRows(t *table) {
	at := func(rest string) string { return "/orgs/{org}/org/" + rest }
	read := service.OrgKey(readAccess)
	own := []string{"UnknownPermissionError", "UnknownScopeTypeError", "not_linked", "application_not_found", "validation", "unsupported", "not_found"}
	add(t, endpoint{Method: "GET", Path: at("who-can"), Summary: "Who holds a key at a scope", Gate: read, Own: own},
		func(ctx context.Context, c *Call, in whoCan) (out holders, err error) {
			page, err := c.root().WhoCan(ctx, c.Access, provider.SubjectsQuery{Key: in.Key, Scope: deref(in.Scope), Continued: c.continued()})
			if err != nil {
				return out, err
			}
			out = holders{Subjects: page.Subjects, RequiresCondition: page.RequiresCondition}
			out.NextCursor, err = c.next(page.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("where-can"), Summary: "The scopes at which a principal holds a key", Gate: read, Own: own},
		func(ctx context.Context, c *Call, in whereCan) (out heldScopes, err error) {
			page, err := c.root().WhereCan(ctx, c.Access, provider.ScopesQuery{Principal: in.principal(), Key: in.Key, Continued: c.continued()})
			if err != nil {
				return out, err
			}
			out = heldScopes{Scopes: page.Scopes, Expanded: page.Expanded, RequiresCondition: page.RequiresCondition}
			out.NextCursor, err = c.next(page.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("what-can"), Summary: "The keys that a principal holds at a scope", Gate: read, Own: own},
		func(ctx context.Context, c *Call, in whatCan) (out heldKeys, err error) {
			page, err := c.root().WhatCan(ctx, c.Access, in.Application, provider.KeysQuery{Principal: in.principal(), Scope: deref(in.Scope), Continued: c.continued()})
			if err != nil {
				return out, err
			}
			out = heldKeys{Keys: page.Keys}
			out.NextCursor, err = c.next(page.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: at("plan"), Summary: "What a change of rows would do", Gate: read, Unkept: true, WhilePreviewing: true, Own: own},
		func(ctx context.Context, c *Call, in planned) (provider.Impact, error) {
			return c.root().Plan(ctx, c.Access, in.Application, provider.Supposing{With: in.With, Without: in.Without})
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/me/explain", Summary: "Why the caller may, or may not", Gate: service.Me, Own: append([]string{"forbidden", "inactive", "no_org_root", "org_root_moving"}, append(own, relayCodes...)...)},
		func(ctx context.Context, c *Call, in explainMe) (ownExplanation, error) {
			e, err := c.root().Explain(ctx, c.Access, c.Caller.Principal(), in.Key, in.Scope)
			if err != nil {
				return ownExplanation{}, err
			}
			return ownOf(e), nil
		})
}

// continued is a page of a list that its application reads.
func (c *Call) continued() provider.Continued {
	return provider.Continued{Limit: c.Page.Limit, After: c.Page.After}
}
