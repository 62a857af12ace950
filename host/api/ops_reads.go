package api

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The transport itself, closure supply, events, catalog, audit, ancestry.

type (
	pingResult struct {
		API         int    `json:"api"`
		Application string `json:"application"`
		OrgRoot     bool   `json:"orgRoot"`
		HasEpoch    bool   `json:"hasEpoch"`
		AuditOptIn  bool   `json:"auditOptIn"`
	}
	ancestorsResult struct {
		Ancestors []string `json:"ancestors"`
	}
	versionResult struct {
		Version int64 `json:"version"`
	}
	publishedResult struct {
		Published *provider.PublishedCatalog `json:"published"`
	}
	changedResult struct {
		Changed int `json:"changed"`
	}
)

func ping(c *call) action {
	return func(ctx context.Context) (any, error) {
		orgRoot, err := c.app.StoredOrgRoot(ctx)
		return pingResult{API: provider.APIVersion, Application: c.applicationID,
			OrgRoot: orgRoot, HasEpoch: c.app.HasEpoch(), AuditOptIn: c.auditOptIn}, err
	}
}

func capabilities(c *call) action {
	return func(ctx context.Context) (any, error) { return c.app.Capabilities(ctx) }
}

func getSubjectAccess(c *call) action {
	p := principal(c.nested("principal"))
	return func(ctx context.Context) (any, error) {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		return c.app.GetSubjectAccess(ctx, p)
	}
}

func resolveAncestors(c *call) action {
	scope := c.targetScope("scope")
	return func(ctx context.Context) (any, error) {
		ancestors, err := c.app.ResolveAncestors(ctx, scope)
		return ancestorsResult{orEmpty(ancestors)}, err
	}
}

func epochHead(c *call) action {
	return func(ctx context.Context) (any, error) {
		epoch := c.app.Epoch()
		if epoch == nil {
			return nil, noEpoch()
		}
		return epoch.Head(ctx)
	}
}

func epochSince(c *call) action {
	after := c.position()
	limit := c.integer("limit", 0)
	return func(ctx context.Context) (any, error) {
		epoch := c.app.Epoch()
		if epoch == nil {
			return nil, noEpoch()
		}
		return epoch.Since(ctx, after, int(max(0, min(limit, provider.MaxEventLimit))))
	}
}

// position reads a place in the event log. Without an identity the number counts.
func (o object) position() authz.Position {
	return authz.Position{Seq: o.sequence("seq"), Identity: o.textOrNone("identity")}
}

// sequence reads a position in the event log.
func (o object) sequence(field string) int64 {
	n, ok := parseInteger(o.value(field))
	if !ok || n < 0 {
		o.refuse(field, "an integer of at least 0")
	}
	return n
}

// publishCatalog hands the document on as it came: the catalog package reads it.
func publishCatalog(c *call) action {
	document := c.value("document")
	if _, ok := c.objectOf(document); !ok {
		c.refuse("document", "an object")
	}
	prov := c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		version, err := c.app.PublishCatalog(ctx, json.RawMessage(document), prov)
		return versionResult{version}, err
	}
}

func getPublishedCatalog(c *call) action {
	return func(ctx context.Context) (any, error) {
		published, err := c.app.GetPublishedCatalog(ctx)
		return publishedResult{published}, err
	}
}

// listAuditEvents pages forward from the beginning when after or limit stand
// beside the filter; the filter's own cursor and limit mean what application.md
// §16.2 says and cannot be combined with them.
func listAuditEvents(c *call) action {
	q := auditQuery(c.nested("filter"))
	limit := c.limit()
	if c.has("after") || limit > 0 {
		if q.Cursor != nil || q.Limit != nil {
			c.problem.refuse(authz.Validation("%s: filter.cursor and filter.limit cannot be combined with after and limit", c.op))
		}
		q.Cursor = &authz.AuditCursor{}
		if c.has("after") {
			q.Cursor = auditCursor(c.object, "after", c.value("after"))
		}
		if limit > 0 {
			more := int64(limit) + 1
			q.Limit = &more
		}
	}
	return listing("events", limit, func(ctx context.Context) rowsOf[authz.AuditEntry] {
		return c.app.ListAuditEvents(ctx, q)
	}, func(e authz.AuditEntry) any { return e.Cursor() })
}

func setScopeParents(c *call) action {
	entries := []provider.ScopeParents{}
	for _, o := range c.objects("entries") {
		entries = append(entries, scopeParents(o))
	}
	prov := c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		changed, err := c.app.SetScopeParents(ctx, entries, prov)
		return changedResult{changed}, err
	}
}
