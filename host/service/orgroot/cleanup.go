package orgroot

import (
	"context"
	"errors"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Deleted counts the rows that a clean-up removed, and what came of the members of
// a federated org.
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

// DeleteSubject removes a subject's rows at the org root, and of a user in a federated
// org then the instance rows at every member. It takes from a user what they held there,
// and one who was inactive is active afterwards: nobody is stored.
func (r *Root) DeleteSubject(ctx context.Context, a *service.Access, subject string) (gone Deleted, err error) {
	if err := r.bareSubject(ctx, a.Org.ID, "subject", subject); err != nil {
		return gone, err
	}
	kind, id, ok := authz.ParseSubject(subject)
	write := func(ctx context.Context) error {
		return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
			if kind == authz.SubjectUser && to.Hosted() {
				// First, so that no member keeps somebody whom the root no longer knows.
				if err := r.apps.NoteDeleted(ctx, a.Org.ID, id); err != nil {
					return err
				}
			}
			rows, err := to.Relay.DeleteSubject(ctx, subject, a.Caller.Provenance())
			if err != nil {
				return err
			}
			gone = Deleted{rows, []Member{}}
			if to.Hosted() {
				gone.Members, err = r.deleteAtMembers(ctx, a, subject)
			}
			return err
		})
	}
	if !ok || kind != authz.SubjectUser {
		return gone, write(ctx)
	}
	if err := r.mayRestore(ctx, a, id); err != nil {
		return gone, err
	}
	err = r.account.TakeFrom(ctx, a, id, "subject.delete", write)
	return gone, err
}

// deleteAtMembers removes the instance rows of a subject at every member. A member that
// fails keeps no other from its turn.
func (r *Root) deleteAtMembers(ctx context.Context, a *service.Access, subject string) ([]Member, error) {
	members, err := r.apps.Members(ctx, a.Org.ID)
	if err != nil {
		return nil, err
	}
	done := make([]Member, len(members))
	if err := eightAtATime(ctx, len(members), func(ctx context.Context, i int) error {
		done[i].Application = members[i].ID
		err := deleteInstances(ctx, members[i], subject, a.Caller.Provenance(), &done[i].CleanupResult)
		if told := new(fault.Error); errors.As(err, &told) {
			done[i].Error = told.Code
			return nil
		}
		return err
	}); err != nil {
		return nil, failed(err)
	}
	return done, nil
}

// deleteInstances lists a subject's instance rows and deletes each: a member refuses the
// operation as a whole for users, who are not its own. Of a user these are grants and
// revokes.
func deleteInstances(ctx context.Context, at applications.Asked, subject string, by authz.Provenance, gone *provider.CleanupResult) error {
	var grants, revokes []string // read to the end first: what follows takes its own time
	for g, err := range at.Relay.ListGrants(ctx, provider.GrantQuery{Subject: &subject}) {
		if err != nil {
			return err
		}
		if g.Scope != authz.Global && g.Subject == subject {
			grants = append(grants, g.ID)
		}
	}
	if kind, id, _ := authz.ParseSubject(subject); kind == authz.SubjectUser {
		for v, err := range at.Relay.ListRevokes(ctx, provider.RevokeQuery{UserID: &id}) {
			if err != nil {
				return err
			}
			if v.Scope != authz.Global && v.UserID == id {
				revokes = append(revokes, v.ID)
			}
		}
	}
	// Grants first: at no instant is there one without its revoke.
	for _, id := range grants {
		if err := at.Relay.DeleteGrant(ctx, id, by); err != nil && !isCode(err, string(authz.CodeNotFound)) {
			return err
		}
		gone.DeletedGrants++
	}
	for _, id := range revokes {
		if err := at.Relay.DeleteRevoke(ctx, id, by); err != nil && !isCode(err, string(authz.CodeNotFound)) {
			return err
		}
		gone.DeletedRevokes++
	}
	return nil
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
