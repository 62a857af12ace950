package orgroot

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// SubjectAccess is the closure supply of a principal, read now.
func (r *Root) SubjectAccess(ctx context.Context, a *service.Access, p authz.Principal) (authz.SubjectAccess, error) {
	if err := r.barePrincipal(ctx, a.Org.ID, p); err != nil {
		return authz.SubjectAccess{}, err
	}
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.SubjectAccess, error) { return to.Relay.GetSubjectAccess(ctx, p) })
}

// Epoch is the head of the root's event log, by the name that the document of the hosted API
// has for it; Seq is nil without a log.
type Epoch struct {
	Seq         *int64 `json:"seq"`
	HasEventLog bool   `json:"hasEpoch"`
}

func (r *Root) EventLog(ctx context.Context, a *service.Access) (Epoch, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (Epoch, error) {
		log := to.Relay.EventLog()
		if log == nil {
			return Epoch{}, nil
		}
		head, err := log.Head(ctx)
		if unsupported(err) {
			return Epoch{}, nil
		}
		if err != nil {
			return Epoch{}, err
		}
		return Epoch{Seq: &head.Seq, HasEventLog: true}, nil
	})
}

// Explain shows the working of a check at the org root, of keys of cloud in account
// data. At an instance scope the owner answers the ancestors.
func (r *Root) Explain(ctx context.Context, a *service.Access, p authz.Principal, key, scope string) (access.Explained, error) {
	if err := r.barePrincipal(ctx, a.Org.ID, p); err != nil {
		return access.Explained{}, err
	}
	if cloud.IsPattern(key) {
		return r.account.ExplainAccount(ctx, a.Org.ID, p, key, cmp.Or(scope, authz.Global))
	}
	e, err := r.explained(ctx, a, p, key, scope)
	if err != nil {
		return access.Explained{}, err
	}
	return r.around(ctx, a.Org.ID, p, key, scope, e), nil
}

// explained is the explanation by the rows of the org root.
func (r *Root) explained(ctx context.Context, a *service.Access, p authz.Principal, key, scope string) (access.Explanation, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (access.Explanation, error) {
		words, err := r.wordsOf(ctx, a.Org.ID, to, key)
		if err != nil {
			return access.Explanation{}, err
		}
		target := scope
		chains := func(scope string) (access.Chain, error) {
			if scope == "" || scope == authz.Global {
				return access.NewChain("", nil), nil
			}
			h, err := r.owner(ctx, a.Org.ID, scope)
			if err != nil {
				return nil, err
			}
			owner, err := r.apps.Linked(ctx, a.Org.ID, h.Application)
			if err != nil {
				return nil, err
			}
			if scope == target {
				if err := typed(ctx, owner, scope); err != nil {
					return nil, err
				}
			}
			ancestors, err := owner.Relay.ResolveAncestors(ctx, scope)
			if err != nil {
				return nil, err
			}
			return access.NewChain(scope, ancestors), nil
		}
		chain, err := chains(scope)
		if err != nil {
			return access.Explanation{}, err
		}
		rows, err := r.rowsFor(ctx, a.Org.ID, to, p, scope)
		if err != nil {
			return access.Explanation{}, err
		}
		now := r.clock()
		explained, err := access.Explain(words, &rows, key, chain, now, chains)
		if err != nil || !explained.Denied() {
			return explained, failed(err)
		}
		if rows, err = provider.WithExpired(ctx, to.Relay, rows); err != nil {
			return explained, failed(err)
		}
		if told, err := access.Explain(words, &rows, key, chain, now, chains); err == nil {
			explained.Expired = told.Expired
		}
		return explained, nil
	})
}

// rowsFor are the rows that explain a check: those of the root, and at an instance scope
// of a federated org the instance rows of its owner.
func (r *Root) rowsFor(ctx context.Context, org string, to applications.Asked, p authz.Principal, scope string) (authz.SubjectAccess, error) {
	rows, err := to.Relay.GetSubjectAccess(ctx, p)
	if err != nil || !to.Hosted() || scope == "" || scope == authz.Global {
		return rows, err
	}
	h, err := r.owner(ctx, org, scope)
	if err != nil {
		return rows, err
	}
	owner, err := r.apps.Linked(ctx, org, h.Application)
	if err != nil {
		return rows, err
	}
	there, err := owner.Relay.GetSubjectAccess(ctx, p)
	if err != nil {
		return rows, err
	}
	rows.Grants, rows.Revokes = slices.Clone(rows.Grants), slices.Clone(rows.Revokes)
	for _, g := range there.Grants {
		if g.Scope != authz.Global {
			rows.Grants = append(rows.Grants, g)
		}
	}
	for _, v := range there.Revokes {
		if v.Scope != authz.Global {
			rows.Revokes = append(rows.Revokes, v)
		}
	}
	for _, role := range there.Roles {
		if !slices.ContainsFunc(rows.Roles, func(known authz.Role) bool { return known.ID == role.ID }) {
			rows.Roles = append(rows.Roles, role)
		}
	}
	return rows, nil
}

// typed refuses a scope of a type that the catalog which its owner published does not
// declare. An owner that published none knows what it does.
func typed(ctx context.Context, owner applications.Asked, scope string) error {
	published, err := owner.Relay.GetPublishedCatalog(ctx)
	if err != nil || published == nil {
		return err
	}
	declared, err := catalog.FromDocument(published.Document, catalog.DocumentOptions{})
	if err != nil {
		return unreadable(owner)
	}
	if declared.LacksTypeOf(scope) {
		return fault.UnknownScopeType(declared.UnknownScopeType(scope))
	}
	return nil
}

func unreadable(a applications.Asked) error {
	return fault.Transport("application_protocol_error", a.ID, "", "the application's published catalog cannot be read")
}

// wordsOf is the catalog that declares the key: the built-in one, what the root has
// published, or of a hosted root what the key's owner has.
func (r *Root) wordsOf(ctx context.Context, org string, to applications.Asked, key string) (*catalog.Catalog, error) {
	declared := cloud.Evaluable()
	if ns := authz.NamespaceOf(key); ns != authz.InternalNamespace {
		if to.Hosted() { // which publishes nothing: the key's owner does
			owner, found, err := r.apps.OwnerID(ctx, org, ns)
			if err != nil {
				return nil, err
			}
			if !found {
				return nil, relay.Refusal(declared.UnknownPermission(key, authz.ExpectedKey))
			}
			if to, err = r.apps.Linked(ctx, org, owner); err != nil {
				return nil, err
			}
		}
		published, err := to.Relay.GetPublishedCatalog(ctx)
		if err != nil {
			return nil, err
		}
		if published != nil {
			if declared, err = rebuilt(ctx, to, published.Document, key); err != nil {
				return nil, err
			}
		}
	}
	if !declared.HasKey(key) {
		return nil, relay.Refusal(declared.UnknownPermission(key, authz.ExpectedKey))
	}
	return declared, nil
}

// rebuilt is a published catalog, with what it imports when the key is not of its
// own.
func rebuilt(ctx context.Context, to applications.Asked, document json.RawMessage, key string) (*catalog.Catalog, error) {
	own, err := catalog.FromDocument(document, catalog.DocumentOptions{})
	if err != nil {
		return nil, unreadable(to)
	}
	if own.HasKey(key) {
		return own, nil
	}
	imports, err := to.Relay.GetPublishedImports(ctx)
	switch {
	case unsupported(err) || err == nil && imports == nil:
		return own, nil
	case err != nil:
		return nil, err
	}
	whole, err := catalog.FromDocument(document, catalog.DocumentOptions{Imports: imports.Manifest})
	if err != nil {
		return nil, unreadable(to)
	}
	return whole, nil
}

// Registry is what is published; *registry.Registry has it.
type Registry interface {
	List(ctx context.Context, org string) ([]registry.Summary, error)
	Document(ctx context.Context, org, namespace string, number *int64) (registry.Document, error)
}

// Catalogs are the vocabularies of the org, and what may be asked for.
type Catalogs struct {
	Namespaces  []NamespaceCatalog `json:"namespaces"`
	Requestable Requestable        `json:"requestable"`
}

// NamespaceCatalog is the head of a namespace.
type NamespaceCatalog struct {
	Namespace   string          `json:"namespace"`
	Application *string         `json:"application"`
	Version     *int64          `json:"version"`
	PublishedAt *int64          `json:"publishedAt"`
	Document    json.RawMessage `json:"document"`
}

// Requestable lists roles of the root, and scope types as their documents have
// them.
type Requestable struct {
	Roles      []authz.Role      `json:"roles"`
	ScopeTypes []json.RawMessage `json:"scopeTypes"`
}

// Catalog reads the heads of all published namespaces, and what is requestable.
func (r *Root) Catalog(ctx context.Context, a *service.Access, published Registry) (Catalogs, error) {
	all := Catalogs{Namespaces: []NamespaceCatalog{}, Requestable: Requestable{[]authz.Role{}, []json.RawMessage{}}}
	if err := r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		for role, err := range to.Relay.ListRoles(ctx, provider.Paging{}) {
			if err != nil {
				return err
			}
			if role.Requestable != nil {
				all.Requestable.Roles = append(all.Requestable.Roles, role)
			}
		}
		return nil
	}); err != nil {
		return Catalogs{}, err
	}
	heads, err := published.List(ctx, a.Org.ID)
	if err != nil {
		return Catalogs{}, err
	}
	for _, head := range heads {
		if head.Version == nil || head.Application == nil {
			continue
		}
		document, err := published.Document(ctx, a.Org.ID, head.Namespace, head.Version)
		if err != nil {
			return Catalogs{}, err
		}
		all.Namespaces = append(all.Namespaces, NamespaceCatalog{head.Namespace, head.Application, head.Version, head.PublishedAt, document.Raw})
		var types struct {
			ScopeTypes []json.RawMessage `json:"scopeTypes"`
		}
		if err := json.Unmarshal(document.Raw, &types); err != nil {
			return Catalogs{}, fault.Internal(err)
		}
		for _, raw := range types.ScopeTypes {
			var about struct {
				Type        string          `json:"type"`
				Requestable json.RawMessage `json:"requestable"`
			}
			// A document of several namespaces is the head of each: count a type once.
			if json.Unmarshal(raw, &about) == nil && len(about.Requestable) > 0 && authz.NamespaceOf(about.Type) == head.Namespace {
				all.Requestable.ScopeTypes = append(all.Requestable.ScopeTypes, raw)
			}
		}
	}
	return all, nil
}
