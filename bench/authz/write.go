package authz

import (
	"context"
	"slices"

	"github.com/authzhost/authz/bench/workload"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// batch is how many rows go into one bulk write.
const batch = 1000

// write gives the application every row of the world, in bulk where it has a bulk
// operation. All of it is validated and audited as any other write is.
func write(ctx context.Context, app *application.Application, w *workload.World) error {
	by := authz.ImportProvenance("bench")
	for _, r := range w.Roles {
		if _, err := app.CreateRole(ctx, provider.RoleInput{ID: &r.ID, Name: r.ID, Patterns: r.Patterns}, by); err != nil {
			return err
		}
	}
	for _, g := range w.Groups {
		if _, err := app.CreateGroup(ctx, provider.GroupInput{ID: &g.ID, Name: g.ID, Parents: g.Parents}, by); err != nil {
			return err
		}
	}
	for _, u := range w.Users {
		if err := app.SetGroupMembership(ctx, u.ID, u.Groups, by); err != nil {
			return err
		}
	}
	for scopes := range slices.Chunk(w.Scopes, batch) {
		entries := make([]provider.ScopeParents, len(scopes))
		for i, s := range scopes {
			parents := []string{}
			if s.Parent.Kind != workload.Global {
				parents = append(parents, scopeID(s.Parent))
			}
			entries[i] = provider.ScopeParents{Scope: scopeID(s.ScopeID), Parents: &parents}
		}
		if _, err := app.SetScopeParents(ctx, entries, by); err != nil {
			return err
		}
	}
	for grants := range slices.Chunk(w.Grants, batch) {
		inputs := make([]provider.GrantInput, len(grants))
		for i, g := range grants {
			subject := authz.SubjectOf(authz.SubjectUser, g.Subject.ID)
			if g.Subject.Group {
				subject = authz.SubjectOf(authz.SubjectGroup, g.Subject.ID)
			}
			inputs[i] = provider.GrantInput{Subject: subject, RoleID: g.Role, Pattern: g.Pattern, Scope: scopeID(g.Scope)}
		}
		if _, err := app.CreateGrants(ctx, inputs, by); err != nil {
			return err
		}
	}
	for _, r := range w.Revokes {
		if _, err := app.CreateRevoke(ctx, provider.RevokeInput{UserID: r.User, Pattern: r.Pattern, Scope: scopeID(r.Scope)}, by); err != nil {
			return err
		}
	}
	return nil
}
