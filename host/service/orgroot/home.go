package orgroot

import (
	"cmp"
	"context"
	"errors"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Home says where a row is kept.
type Home struct {
	Kind        string `json:"kind"` // "root", "account", "application"
	Application string `json:"application,omitempty"`
}

var (
	atTheRoot = Home{Kind: "root"}
	inAccount = Home{Kind: "account"}
)

// home routes a write by what it would create (spec: hosted-api §10).
func (r *Root) home(ctx context.Context, org, scope, pattern, roleID string) (Home, error) {
	account, err := r.account.IsAccountWrite(ctx, org, scope, pattern, roleID)
	switch {
	case err != nil:
		return Home{}, err
	case account:
		return inAccount, nil
	case scope == "" || scope == authz.Global:
		return atTheRoot, nil
	}
	return r.owner(ctx, org, scope)
}

// owner is the home of an instance scope.
func (r *Root) owner(ctx context.Context, org, scope string) (Home, error) {
	if err := authz.ValidateScope(scope); err != nil {
		return Home{}, rejected(authz.CodeValidation, err.Error())
	}
	namespace := authz.NamespaceOf(authz.ScopeType(scope))
	id, found, err := r.apps.OwnerID(ctx, org, namespace)
	if err != nil {
		return Home{}, err
	}
	if !found {
		return Home{}, rejected(authz.CodeValidation, "no application of the org has the namespace "+spell.Quote(namespace))
	}
	return Home{Kind: "application", Application: id}, nil
}

// at asks the application of a home: the org root, or the owner.
func (r *Root) at(ctx context.Context, org string, h Home, fn func(applications.Asked) error) error {
	if h.Kind != "application" {
		return r.atRoot(ctx, org, fn)
	}
	owner, err := r.apps.Linked(ctx, org, h.Application)
	if err != nil {
		return err
	}
	return fn(owner)
}

// gated passes the gate of an org-domain write, then finds where it belongs. A
// write of account data has a gate of its own, which its owner judges. named says
// that an id led to its home: who passes neither gate must not learn by the denial
// that account data has a row of that id.
func (r *Root) gated(ctx context.Context, a *service.Access, key string, named bool, home func() (Home, error)) (Home, error) {
	h, misplaced, err := r.gate(ctx, a, key, named, home)
	return h, cmp.Or(err, misplaced)
}

// gate is gated with its errors apart: misplaced is why the write has no home, err
// why the gate is not passed.
func (r *Root) gate(ctx context.Context, a *service.Access, key string, named bool, home func() (Home, error)) (h Home, misplaced, err error) {
	h, misplaced = home()
	if misplaced == nil && h == inAccount {
		if !named {
			return h, nil, nil
		}
		if may, err := a.Can(ctx, cloud.UpdateSeat, authz.Global); err != nil || may {
			return h, nil, err
		}
	}
	if err := r.require(ctx, a, key, true); err != nil {
		return Home{}, nil, err
	}
	return h, misplaced, nil
}

// may is gate alone, for who is to be told again what a write answered: ofAccount
// is what account data asks for. That a write has no home any more is no matter,
// that its home is unknown is.
func (r *Root) may(ctx context.Context, a *service.Access, key string, named bool, home func() (Home, error), ofAccount func() error) error {
	h, misplaced, err := r.gate(ctx, a, key, named, home)
	e := new(fault.Error)
	switch {
	case err != nil:
		return err
	case misplaced == nil && h == inAccount:
		return ofAccount()
	case errors.As(misplaced, &e) && !e.Failed():
		return nil
	}
	return misplaced
}

// instance refuses rows that are not at an instance scope of the application.
func (r *Root) instance(ctx context.Context, org, application, scope string) error {
	invalid := func(message string) error {
		return fault.Invalid(fault.Issue{Path: "scope", Message: message})
	}
	if scope == "" || scope == authz.Global {
		return invalid("must be an instance scope; global rows go through the org root")
	}
	h, err := r.owner(ctx, org, scope)
	if err != nil {
		if e, ok := err.(*fault.Error); ok && e.Code == string(authz.CodeValidation) {
			return invalid(e.Message)
		}
		return err
	}
	if h.Application != application {
		return invalid("is not of a namespace of this application")
	}
	return nil
}
