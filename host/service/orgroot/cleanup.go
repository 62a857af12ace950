package orgroot

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Deleted counts the rows that a clean-up removed, and what came of the members of
// a federated org; there are none yet.
type Deleted struct {
	provider.CleanupResult
	Members []Member `json:"members"`
}

// Member is a clean-up at a member. Error is a code; with any the clean-up is to be
// repeated.
type Member struct {
	Application string `json:"application"`
	provider.CleanupResult
	Error string `json:"error,omitempty"`
}

// DeleteSubject removes a subject's rows at the org root. It takes from a user what
// they held there, and one who was inactive is active afterwards: nobody is stored.
func (r *Root) DeleteSubject(ctx context.Context, a *service.Access, subject string) (gone Deleted, err error) {
	if err := r.bareSubject(ctx, a.Org.ID, "subject", subject); err != nil {
		return gone, err
	}
	write := func(ctx context.Context) error {
		return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
			rows, err := to.Relay.DeleteSubject(ctx, subject, a.Caller.Provenance())
			gone = Deleted{rows, []Member{}}
			return err
		})
	}
	kind, id, ok := authz.ParseSubject(subject)
	if !ok || kind != authz.SubjectUser {
		return gone, write(ctx)
	}
	if err := r.mayRestore(ctx, a, id); err != nil {
		return gone, err
	}
	err = r.account.TakeFrom(ctx, a, id, "subject.delete", write)
	return gone, err
}

// DeleteScope removes the rows at an instance scope, at its owner.
func (r *Root) DeleteScope(ctx context.Context, a *service.Access, scope string) (provider.CleanupResult, error) {
	if _, account := cloud.AppOf(scope); account || scope == authz.Global {
		return provider.CleanupResult{}, rejected(authz.CodeValidation, spell.Quote(scope)+" is no instance scope of an application")
	}
	h, err := r.owner(ctx, a.Org.ID, scope)
	if err != nil {
		return provider.CleanupResult{}, err
	}
	owner, err := r.apps.Linked(ctx, a.Org.ID, h.Application)
	if err != nil {
		return provider.CleanupResult{}, err
	}
	return owner.Relay.DeleteScope(ctx, scope, a.Caller.Provenance())
}
