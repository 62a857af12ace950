package orgroot

import (
	"cmp"
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// explainer is a way to an application that tells what lies around an explanation.
type explainer interface {
	Explain(ctx context.Context, in provider.Explain) (access.Explained, error)
}

// WhoCan lists who holds a key at a scope, as the application says that checks the key
// there.
func (r *Root) WhoCan(ctx context.Context, a *service.Access, q provider.SubjectsQuery) (provider.SubjectsPage, error) {
	return checking(ctx, r, a.Org.ID, q.Key, q.Scope, func(to applications.Asked) (provider.SubjectsPage, error) {
		return to.Relay.ListSubjects(ctx, q)
	})
}

// WhereCan lists the scopes at which a principal holds a key.
func (r *Root) WhereCan(ctx context.Context, a *service.Access, q provider.ScopesQuery) (page provider.ScopesPage, err error) {
	if err := r.barePrincipal(ctx, a.Org.ID, q.Principal); err != nil {
		return page, err
	}
	return checking(ctx, r, a.Org.ID, q.Key, authz.Global, func(to applications.Asked) (provider.ScopesPage, error) {
		return to.Relay.ListScopes(ctx, q)
	})
}

// WhatCan lists the keys that a principal holds at a scope, those that application checks.
// Application "" is the owner of the scope, and at "*" the org root.
func (r *Root) WhatCan(ctx context.Context, a *service.Access, application string, q provider.KeysQuery) (page provider.KeysPage, err error) {
	if err := r.barePrincipal(ctx, a.Org.ID, q.Principal); err != nil {
		return page, err
	}
	return evaluated(ctx, r, a.Org.ID, application, q.Scope, func(to applications.Asked) (provider.KeysPage, error) {
		return to.Relay.ListKeys(ctx, q)
	})
}

// Plan tells what a change of rows would do to the checks of an application, by default
// the org root's.
func (r *Root) Plan(ctx context.Context, a *service.Access, application string, in provider.Supposing) (provider.Impact, error) {
	return evaluated(ctx, r, a.Org.ID, application, authz.Global, func(to applications.Asked) (provider.Impact, error) {
		return to.Relay.Plan(ctx, in)
	})
}

// checking asks the application that checks a key at a scope: the scope's owner, else the
// key's; of a built-in key the org root.
func checking[T any](ctx context.Context, r *Root, org, key, scope string, ask func(applications.Asked) (T, error)) (none T, err error) {
	switch ns := authz.NamespaceOf(key); {
	case cloud.IsPattern(key):
		return none, rejected(authz.CodeUnsupported, "keys of cloud.* are account data, of which there are no lists: ask explain about one principal")
	case cmp.Or(scope, authz.Global) != authz.Global:
		return evaluated(ctx, r, org, "", scope, ask)
	case ns == authz.InternalNamespace:
		return rooted(ctx, r, org, ask)
	default:
		id, found, err := r.apps.OwnerID(ctx, org, ns)
		if err != nil {
			return none, err
		}
		if !found {
			return none, rejected(authz.CodeValidation, "no application of the org has the namespace "+spell.Quote(ns))
		}
		return evaluated(ctx, r, org, id, authz.Global, ask)
	}
}

// evaluated asks an application, by default the owner of the scope, and at "*" the org
// root. A hosted root checks built-in keys alone.
func evaluated[T any](ctx context.Context, r *Root, org, application, scope string, ask func(applications.Asked) (T, error)) (none T, err error) {
	if application == "" && cmp.Or(scope, authz.Global) == authz.Global {
		return rooted(ctx, r, org, ask)
	}
	if application == "" {
		h, err := r.owner(ctx, org, scope)
		if err != nil {
			return none, err
		}
		application = h.Application
	}
	to, err := r.apps.Linked(ctx, org, application)
	if err != nil {
		return none, err
	}
	return ask(to)
}

// around adds to an explanation what the application tells around it that checks the key.
// One that tells nothing, or another answer than the org root's rows give, adds nothing.
func (r *Root) around(ctx context.Context, org string, p authz.Principal, key, scope string, e access.Explanation) access.Explained {
	out := access.Explained{Explanation: e}
	told, err := checking(ctx, r, org, key, scope, func(to applications.Asked) (access.Explained, error) {
		asks, ok := to.Relay.(explainer)
		if !ok {
			return out, nil
		}
		return asks.Explain(ctx, provider.Explain{Principal: p, Key: key, Scope: scope})
	})
	if err == nil && told.Allowed == e.Allowed && told.Denied() == e.Denied() {
		out.Paths, out.Near = told.Paths, told.Near
	}
	return out
}
