package orgroot

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// BareUser refuses the subject of a user, or of anything else, where a user's id is
// wanted: it would be another user, and whoever wrote it would be told of a success
// that touched nobody. An id that a row or record of the root has is let through.
func (r *Root) BareUser(ctx context.Context, org, field, id string) error {
	return r.bare(ctx, org, field, authz.SubjectUser, id)
}

// bareActor is BareUser for whom a search names as the giver.
func (r *Root) bareActor(ctx context.Context, org string, q authz.GrantSearch) error {
	if q.Actor == nil {
		return nil
	}
	return r.BareUser(ctx, org, "actor", *q.Actor)
}

// bareSubject is BareUser for the id within a subject.
func (r *Root) bareSubject(ctx context.Context, org, field, subject string) error {
	kind, id, ok := authz.ParseSubject(subject)
	if !ok {
		return nil // told by who keeps the row
	}
	return r.bare(ctx, org, field, kind, id)
}

func (r *Root) barePrincipal(ctx context.Context, org string, p authz.Principal) error {
	if p.ServiceID != "" {
		return r.bare(ctx, org, "serviceId", authz.SubjectService, p.ServiceID)
	}
	return r.bare(ctx, org, "userId", authz.SubjectUser, p.UserID)
}

func (r *Root) bareGrants(ctx context.Context, org string, in []provider.GrantInput) error {
	if len(in) == 1 {
		return r.bareSubject(ctx, org, "subject", in[0].Subject)
	}
	return r.bareSubjects(ctx, org, "grants", in)
}

// bareSubjects is bareSubject for the elements of a list.
func (r *Root) bareSubjects(ctx context.Context, org, list string, in []provider.GrantInput) error {
	for i, g := range in {
		field := fmt.Sprintf("%s[%d].subject", list, i)
		if err := r.bareSubject(ctx, org, field, g.Subject); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) bare(ctx context.Context, org, field string, kind authz.SubjectKind, id string) error {
	misplaced, rest, ok := authz.MisplacedSubject(id)
	if !ok {
		return nil
	}
	root, err := r.apps.Root(ctx, org)
	if err == nil {
		known, err := known(ctx, root, kind, id)
		if err != nil || known {
			return err
		}
	} else if !isCode(err, "no_org_root") {
		return err
	}
	message := spell.Quote(id) + " is how grants name a " + string(misplaced) + ", and nothing has it as its id: write the id without a kind"
	if kind == misplaced || kind.IsImplicit() && misplaced == authz.SubjectUser {
		message = spell.Quote(id) + " is how grants name a subject, and nothing has it as its id: write " + rest
	}
	return fault.Invalid(fault.Issue{Path: field, Message: message})
}

// known reports that a row or a record of the root has the id.
func known(ctx context.Context, root applications.Asked, kind authz.SubjectKind, id string) (bool, error) {
	subject := authz.SubjectOf(kind, id)
	n, err := root.Relay.CountGrants(ctx, provider.GrantQuery{Subject: &subject})
	if err != nil || n > 0 {
		return n > 0, err
	}
	switch kind {
	case authz.SubjectUser:
		rows, err := root.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(id))
		// Everybody is themselves and of everyone; more than that is a record.
		return len(rows.Revokes) > 0 || len(rows.Closure) > 2 || len(rows.ManagerChain) > 0 || err == nil && !rows.Active, err
	case authz.SubjectGroup:
		_, err := groupOf(ctx, root, id)
		if isCode(err, string(authz.CodeNotFound)) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// Unstored tells which groups of new grants are not stored: such a grant gives nothing
// until there is one. What cannot be asked is not told.
func (r *Root) Unstored(ctx context.Context, a *service.Access, rows ...authz.Grant) (told []string) {
	root, err := r.apps.Root(ctx, a.Org.ID)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, g := range rows {
		kind, id, _ := authz.ParseSubject(g.Subject)
		if kind == authz.SubjectGroup && !seen[g.Subject] {
			seen[g.Subject] = true
			if _, err := groupOf(ctx, root, id); isCode(err, string(authz.CodeNotFound)) {
				told = append(told, "there is no group "+spell.Quote(id)+": the grant gives nothing until there is one")
			}
		}
	}
	return told
}
