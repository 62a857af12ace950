package federation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Demote gives the organization back to its last member, which becomes the org root. a
// has passed the endpoint's gate.
func (f *Federation) Demote(ctx context.Context, a *service.Access, app string, dry bool) (*Demoted, error) {
	org := a.Org.ID
	move, joined, err := f.joined(ctx, org, app, applications.MoveDemote, dry)
	if err != nil {
		return nil, err
	}
	if joined {
		return f.demoted(ctx, org, app, move)
	}
	found, err := f.demotable(ctx, org, app)
	if err != nil {
		return nil, err
	}
	if dry {
		return f.wouldDemote(ctx, org, app, found)
	}
	m := applications.Move{
		Operation: applications.Operation{Kind: applications.MoveDemote, Step: stepFreeze, StartedAt: f.Store.Now(ctx)},
		ID:        uuid.NewString(), Actor: a.Caller.Actor(), Source: sourceDemotion + org,
	}
	if err := f.begin(ctx, org, app, m, func(now applications.Application, o account.Org) error {
		if now.State != applications.Federated || now.Etag != found.Etag {
			return fault.Cloud("org_changed", "the application has changed meanwhile: repeat the call")
		}
		return f.last(ctx, org, app)
	}); err != nil {
		return nil, err
	}
	if move, err = f.await(ctx, org, app, m.ID); err != nil {
		return nil, err
	}
	return f.demoted(ctx, org, app, move)
}

func (f *Federation) demotable(ctx context.Context, org, app string) (applications.Application, error) {
	entry, err := f.Applications.Get(ctx, org, app)
	switch {
	case err != nil:
		return entry, err
	case entry.State != applications.Federated:
		return entry, fault.Cloud("invalid_transition", "an application that is %s does not take demote", entry.State).
			With("from", entry.State).With("operation", "demote")
	}
	if err := f.last(ctx, org, app); err != nil {
		return entry, err
	}
	return entry, f.healthy(ctx, org, app, false)
}

// last is not_last_member while the org has other members.
func (f *Federation) last(ctx context.Context, org, app string) error {
	all, err := f.Applications.All(ctx, org)
	if err != nil {
		return err
	}
	members := []string{}
	for _, a := range all {
		if a.State == applications.Federated && a.ID != app {
			members = append(members, a.ID)
		}
	}
	if len(members) == 0 {
		return nil
	}
	are := fmt.Sprintf("%d other applications are members", len(members))
	if len(members) == 1 {
		are = members[0] + " is a member as well"
	}
	return fault.Cloud("not_last_member", "%s: the organization goes back to its last member only", are).With("members", members)
}

// wouldDemote is the answer of a dry run.
func (f *Federation) wouldDemote(ctx context.Context, org, app string, entry applications.Application) (*Demoted, error) {
	root, err := f.Roots.Of(ctx, org)
	if err != nil {
		return nil, err
	}
	s, err := root.ExportOrgSnapshot(ctx)
	if err != nil {
		return nil, refused(err)
	}
	s, out, err := f.leaving(ctx, org, entry, s)
	if err != nil {
		return nil, err
	}
	if _, err := f.encoded(s); err != nil {
		return nil, err
	}
	o, err := f.Applications.Org(ctx, org)
	out.DryRun, out.Application, out.Org = true, &entry, &o
	return out, err
}

func (f *Federation) demoted(ctx context.Context, org, app string, m applications.Move) (*Demoted, error) {
	out := &Demoted{}
	if err := decode(m.Answer, out); err != nil {
		return nil, err
	}
	a, o, err := f.now(ctx, org, app)
	out.Application, out.Org = &a, &o
	return out, err
}

func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.Internal(fmt.Errorf("the answer of a move: %w", err))
	}
	return nil
}

// leaving is what the application gets, and what the answer tells of it. Vocabulary of
// cloud stays: account data keeps it.
func (f *Federation) leaving(ctx context.Context, org string, app applications.Application, s provider.OrgSnapshot) (provider.OrgSnapshot, *Demoted, error) {
	out := &Demoted{LeftBehind: LeftBehind{Roles: []authz.Role{}, Grants: []authz.Grant{}}, Warnings: []string{}}
	for row, err := range account.Roles.All(ctx, f.Store, org) {
		if err != nil {
			return s, nil, err
		}
		out.LeftBehind.Roles = append(out.LeftBehind.Roles, row.Value)
	}
	for row, err := range account.Grants.All(ctx, f.Store, org) {
		if err != nil {
			return s, nil, err
		}
		out.LeftBehind.Grants = append(out.LeftBehind.Grants, row.Value)
	}
	s, err := f.forMembers(ctx, org, s)
	if err != nil {
		return s, nil, err
	}
	out.Exported = orgmerge.CountsOf(s)
	out.Warnings = append(out.Warnings, foreign(app, s)...)
	return s, out, nil
}

// foreign warns of vocabulary of other applications, which travels as well.
func foreign(app applications.Application, s provider.OrgSnapshot) (warnings []string) {
	seen := map[string]int{}
	note := func(patterns ...string) {
		for _, p := range patterns {
			ns := authz.NamespaceOf(p)
			if p != "" && p != "*" && ns != authz.InternalNamespace && !slices.Contains(app.Namespaces, ns) {
				seen[ns]++
			}
		}
	}
	for _, r := range s.Roles {
		note(r.Patterns...)
	}
	for _, g := range s.GlobalGrants {
		note(g.Pattern)
	}
	for _, r := range s.GlobalRevokes {
		note(r.Pattern)
	}
	for _, q := range s.PendingGlobalRequests {
		note(q.Pattern)
	}
	for _, ns := range sortedKeys(seen) {
		warnings = append(warnings, fmt.Sprintf("%d patterns of the namespace %s, which is not of %s, travel as well", seen[ns], spell.Quote(ns), app.ID))
	}
	return warnings
}

// stageDemotion brings the member up to date, then makes the dataset that it becomes the
// root with. A sync that is still on its way is refused from then on: it has a lower
// position than this one.
func (r *run) stageDemotion(ctx context.Context) error {
	app, err := r.asked(ctx)
	if err != nil {
		return r.nothingSent(ctx, err)
	}
	s, err := r.root.ExportOrgSnapshot(ctx)
	if err != nil {
		return refused(err)
	}
	s, out, err := r.leaving(ctx, r.org, app.Application, s)
	if err != nil {
		return err
	}
	head, err := r.root.Head(ctx)
	if err != nil {
		return err
	}
	if err := r.Store.Exclusive(ctx, syncSection(r.org, r.app), func(ctx context.Context) error { return r.pushTo(ctx, r.org, app, s, head) }); err != nil {
		return r.nothingSent(ctx, err)
	}
	return r.stage(ctx, s, nil, struct {
		LeftBehind any      `json:"leftBehind"`
		Exported   any      `json:"exported"`
		Warnings   []string `json:"warnings"`
	}{out.LeftBehind, out.Exported, out.Warnings})
}

// release ends the authority of the hosted root, whose copy stays and is no longer served.
func (r *run) release(ctx context.Context) error {
	m := r.row.Value
	if err := refused(r.root.MoveOrg(ctx, application.OrgMove{ID: m.ID, Held: true, OrgRoot: new(false), Source: m.Source, Position: m.Position})); err != nil {
		return err
	}
	if err := r.at("released"); err != nil {
		return err
	}
	return r.taken(ctx, "application.demote", func(_ int64, a *applications.Application, o *account.Org) {
		a.State, a.FederatedAt = applications.Linked, nil
		o.Mode, o.PrimaryApplication = account.ModeLinked, &a.ID
	})
}

// ofCloud tells whether a pattern is of account vocabulary, which no application knows.
func ofCloud(pattern string) bool { return cloud.IsPattern(pattern) }
