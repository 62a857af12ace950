package orgroot

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The relayed rows (spec: hosted-api §8.5). Their gates are the caller's to pass.

// AppGrants finds an application's grants: instance rows, unless the search is for *.
func (r *Root) AppGrants(ctx context.Context, a *service.Access, application string, q authz.GrantSearch, p Page) (List[authz.Grant], error) {
	if err := r.bareActor(ctx, a.Org.ID, q); err != nil {
		return List[authz.Grant]{}, err
	}
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return List[authz.Grant]{}, err
	}
	if q.Scope != nil {
		rows, err := grantsAt(ctx, to, q, p)
		if err != nil {
			return List[authz.Grant]{}, err
		}
		return cut(rows, p, grantOrder(q.Order).place), nil
	}
	rows, found, err := instancesAt(ctx, to, q, p)
	if found {
		if err != nil {
			return List[authz.Grant]{}, err
		}
		return cut(rows, p, grantOrder(q.Order).place), nil
	}
	return instances(q.Scope, p, func(page Page) ([]authz.Grant, error) {
		return grantsAt(ctx, to, q, page)
	}, func(g authz.Grant) (string, string) { return g.ID, g.Scope })
}

// AppRevokes lists an application's revokes, as AppGrants does.
func (r *Root) AppRevokes(ctx context.Context, a *service.Access, application string, q provider.RevokeQuery, p Page) (List[authz.Revoke], error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return List[authz.Revoke]{}, err
	}
	return instances(q.Scope, p, func(page Page) ([]authz.Revoke, error) {
		return revokesAt(ctx, to, q, page)
	}, func(v authz.Revoke) (string, string) { return v.ID, v.Scope })
}

// CountAppGrants counts what AppGrants lists.
func (r *Root) CountAppGrants(ctx context.Context, a *service.Access, application string, q provider.GrantQuery) (int64, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return 0, err
	}
	n, err := to.Relay.CountGrants(ctx, q)
	if err != nil || q.Scope != nil {
		return n, err
	}
	q.Scope = new(authz.Global)
	global, err := to.Relay.CountGrants(ctx, q)
	return max(n-global, 0), err // rows may come and go between the two
}

// CountAppRevokes counts what AppRevokes lists.
func (r *Root) CountAppRevokes(ctx context.Context, a *service.Access, application string, q provider.RevokeQuery) (int64, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return 0, err
	}
	return length(only(to.Relay.ListRevokes(ctx, q), func(v authz.Revoke) bool { return q.Scope != nil || v.Scope != authz.Global }))
}

// AppScopes lists the scopes whose parents an application has recorded.
func (r *Root) AppScopes(ctx context.Context, a *service.Access, application string, q provider.RecordedScopeQuery, p Page) (List[provider.RecordedScope], error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return List[provider.RecordedScope]{}, err
	}
	scope := func(s provider.RecordedScope) string { return s.Scope }
	q.Paging = provider.Paging{After: p.After, Limit: p.Limit + 1}
	rows, err := ordered(to.Relay.ListRecordedScopes(ctx, q), to.ID, p, byID(scope))
	rows, err = matching(rows, err, to.ID, func(s provider.RecordedScope) bool {
		return strings.HasPrefix(s.Scope, q.Prefix) && (q.Parent == "" || slices.Contains(s.Parents, q.Parent))
	})
	if err != nil {
		return List[provider.RecordedScope]{}, err
	}
	return cut(rows, p, scope), nil
}

// maxPages bounds how often an application is asked for one page of instance rows,
// among which rows at * may lie.
const maxPages = 20

// instances fills a page with the rows that are not at *, unless a scope was asked
// for. When rows at * fill too many pages of the application it answers what it
// has, and where to go on.
func instances[T any](scope *string, p Page, read func(Page) ([]T, error), of func(T) (id, scope string)) (List[T], error) {
	l := List[T]{Rows: []T{}}
	after := p.After
	for range maxPages {
		rows, err := read(Page{After: after, Limit: maxBulk})
		if err != nil {
			return List[T]{}, err
		}
		for _, row := range rows {
			id, at := of(row)
			if scope != nil || at != authz.Global {
				if len(l.Rows) == p.Limit {
					l.Next = after
					return l, nil
				}
				l.Rows = append(l.Rows, row)
			}
			after = id
		}
		if len(rows) <= maxBulk {
			return l, nil
		}
	}
	l.Next = after
	return l, nil
}

// CreateAppGrant writes an instance grant at its owner.
func (r *Root) CreateAppGrant(ctx context.Context, a *service.Access, application string, in provider.GrantInput) (authz.Grant, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return authz.Grant{}, err
	}
	if err := r.instance(ctx, a.Org.ID, application, in.Scope); err != nil {
		return authz.Grant{}, err
	}
	if err := r.bareGrants(ctx, a.Org.ID, []provider.GrantInput{in}); err != nil {
		return authz.Grant{}, err
	}
	return to.Relay.CreateGrant(ctx, in, a.Caller.Provenance())
}

// CreateAppRevoke writes an instance revoke at its owner.
func (r *Root) CreateAppRevoke(ctx context.Context, a *service.Access, application string, in provider.RevokeInput) (authz.Revoke, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return authz.Revoke{}, err
	}
	if err := r.instance(ctx, a.Org.ID, application, in.Scope); err != nil {
		return authz.Revoke{}, err
	}
	if err := r.BareUser(ctx, a.Org.ID, "userId", in.UserID); err != nil {
		return authz.Revoke{}, err
	}
	return to.Relay.CreateRevoke(ctx, in, a.Caller.Provenance())
}

// DeleteAppGrant removes an instance grant at its owner.
func (r *Root) DeleteAppGrant(ctx context.Context, a *service.Access, application, id string) error {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return err
	}
	return r.deleteInstanceGrant(ctx, a, to, id)
}

// DeleteAppRevoke removes an instance revoke at its owner.
func (r *Root) DeleteAppRevoke(ctx context.Context, a *service.Access, application, id string) error {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return err
	}
	return r.deleteInstanceRevoke(ctx, a, to, id)
}

func (r *Root) deleteInstanceGrant(ctx context.Context, a *service.Access, to applications.Asked, id string) error {
	row, err := grantOf(ctx, to, id)
	if err != nil {
		return err
	}
	if row.Scope == authz.Global {
		return globalRow()
	}
	return to.Relay.DeleteGrant(ctx, id, a.Caller.Provenance())
}

func (r *Root) deleteInstanceRevoke(ctx context.Context, a *service.Access, to applications.Asked, id string) error {
	row, err := revokeOf(ctx, to, id)
	if err != nil {
		return err
	}
	if row.Scope == authz.Global {
		return globalRow()
	}
	return to.Relay.DeleteRevoke(ctx, id, a.Caller.Provenance())
}

// before begins a list by id shortly before the row named, so that it need not be
// read from its beginning.
func before(id string) provider.Paging {
	if id == "" {
		return provider.Paging{}
	}
	last := id[len(id)-1]
	if last <= ' ' || last >= 0x7f { // no text lies just below that a wire would carry
		return provider.Paging{}
	}
	return provider.Paging{After: id[:len(id)-1] + string(rune(last-1)) + "~"}
}

func globalRow() error {
	return fault.Invalid(fault.Issue{Path: "id", Message: "the row is at *: global rows go through the org root"})
}

// AppRequests lists an application's requests by (createdAt, id).
func (r *Root) AppRequests(ctx context.Context, a *service.Access, application string, q provider.RequestQuery, p Page) (List[authz.Request], error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return List[authz.Request]{}, err
	}
	q.Paging = provider.Paging{After: p.After, Limit: p.Limit + 1}
	rows, err := taken(to.Relay.ListRequests(ctx, q), p)
	rows, err = matching(rows, err, to.ID, func(found authz.Request) bool { return requestMatches(found, q) })
	if err != nil {
		return List[authz.Request]{}, err
	}
	return cut(rows, p, func(q authz.Request) string { return q.ID }), nil
}

// AppCatalog is what an application has published itself; nil members: nothing, or
// it keeps no such thing.
func (r *Root) AppCatalog(ctx context.Context, a *service.Access, application string) (*provider.PublishedCatalog, *provider.PublishedImports, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return nil, nil, err
	}
	published, err := to.Relay.GetPublishedCatalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	imports, err := to.Relay.GetPublishedImports(ctx)
	if unsupported(err) {
		imports, err = nil, nil
	}
	return published, imports, err
}

// AppMesh is the mesh that an application is in, nil where it is in none, or where it is
// of a version that knows none.
func (r *Root) AppMesh(ctx context.Context, a *service.Access, application string) (*provider.MeshView, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return nil, err
	}
	return to.Relay.GetMesh(ctx)
}

// Ancestors are those of a scope of the application, for display.
func (r *Root) Ancestors(ctx context.Context, a *service.Access, application, scope string) ([]string, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return nil, err
	}
	return to.Relay.ResolveAncestors(ctx, scope)
}

// Usage reads one dimension of an application's counts: dimension_not_found.
func (r *Root) Usage(ctx context.Context, a *service.Access, application, dimension string, q provider.UsageQuery) (json.RawMessage, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return nil, err
	}
	switch dimension {
	case "grants":
		return encoded(to.Relay.GetGrantUsage(ctx, q))
	case "revokes":
		return encoded(to.Relay.GetRevokeUsage(ctx, q))
	case "roles":
		return encoded(to.Relay.GetRoleUsage(ctx, q))
	case "permissions":
		return encoded(to.Relay.GetPermissionUsage(ctx, q))
	case "scope-types":
		return encoded(to.Relay.GetScopeTypeUsage(ctx, q))
	}
	return nil, fault.Cloud("dimension_not_found", "no usage is kept of %s", spell.Quote(dimension))
}

func encoded[T any](rows []T, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []T{}
	}
	raw, err := authz.Marshal(rows)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return raw, nil
}
