package federation

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Federate makes the hosted service the home of a linked application's organization, or
// merges it into the one that is there. a has passed the endpoint's gate.
func (f *Federation) Federate(ctx context.Context, a *service.Access, app string, in Input) (*Federated, error) {
	org := a.Org.ID
	move, joined, err := f.joined(ctx, org, app, applications.MoveFederate, in.DryRun)
	if err != nil {
		return nil, err
	}
	if joined {
		return f.federated(ctx, org, app, move)
	}
	p, found, err := f.promotable(ctx, org, app)
	if err != nil {
		return nil, err
	}
	p.resolutions, p.fingerprint = in.Resolutions, in.Fingerprint
	if !p.first {
		for _, key := range mergeKeys {
			if err := a.RequireOrg(ctx, key, true); err != nil {
				return nil, err
			}
		}
	}
	planned, err := f.plan(ctx, p)
	var confers []string
	if err == nil {
		confers, err = f.mayConfer(ctx, a, planned.gained)
	}
	if in.DryRun {
		return dryRun(planned, err)
	}
	if err != nil {
		return nil, err
	}
	m := applications.Move{
		Operation: applications.Operation{Kind: applications.MoveFederate, Step: stepFreeze, StartedAt: f.Store.Now(ctx)},
		ID:        uuid.NewString(), Actor: a.Caller.Actor(), Source: p.source, First: p.first,
		Resolutions: in.Resolutions, Fingerprint: in.Fingerprint, Confers: confers,
	}
	if err := f.begin(ctx, org, app, m, func(now applications.Application, o account.Org) error {
		if now.State != applications.Linked || now.Etag != found.Etag || o.Mode == account.ModeFederated == p.first {
			return fault.Cloud("org_changed", "the application or the org has changed meanwhile: repeat the call")
		}
		return f.Meters.Check(ctx, org, billing.FederatedApplications)
	}); err != nil {
		return nil, err
	}
	if move, err = f.await(ctx, org, app, m.ID); err != nil {
		return nil, err
	}
	return f.federated(ctx, org, app, move)
}

// mergeKeys are what a merge writes at the hosted root.
var mergeKeys = []string{"authz_internal.access.manage_grants", "authz_internal.access.manage_roles", "authz_internal.access.manage_groups"}

// promotable judges what has to be so before anything is asked of the application's
// organization.
func (f *Federation) promotable(ctx context.Context, org, app string) (p planning, entry applications.Application, err error) {
	if entry, err = f.Applications.Get(ctx, org, app); err != nil {
		return p, entry, err
	}
	o, err := f.Applications.Org(ctx, org)
	if err != nil {
		return p, entry, err
	}
	if entry.State != applications.Linked {
		return p, entry, transition(entry.State, "federate")
	}
	p.org, p.first, p.source = org, o.Mode != account.ModeFederated, sourceMerge+org
	if p.first {
		p.source = sourcePromotion + org
		if o.PrimaryApplication == nil || *o.PrimaryApplication != app {
			return p, entry, transition(entry.State, "federate").With("primaryApplication", o.PrimaryApplication)
		}
	}
	if err := f.Meters.Check(ctx, org, billing.FederatedApplications); err != nil {
		return p, entry, err
	}
	if err := f.healthy(ctx, org, app, true); err != nil {
		return p, entry, err
	}
	heads, err := registry.Heads(ctx, f.Store, org, entry.Namespaces...)
	if err != nil {
		return p, entry, err
	}
	missing := slices.DeleteFunc(slices.Clone(entry.Namespaces), func(ns string) bool { _, published := heads[ns]; return published })
	if len(missing) > 0 {
		return p, entry, fault.Cloud("catalog_not_published", "publish the catalog of %s first: the hosted root knows no key of it", app).With("namespaces", missing)
	}
	if p.app, err = f.Applications.Linked(ctx, org, app); err != nil {
		return p, entry, err
	}
	p.root, err = f.Roots.Of(ctx, org)
	return p, entry, err
}

// healthy probes the application: it must answer, be the one of the entry, and be the org
// root or not.
func (f *Federation) healthy(ctx context.Context, org, app string, orgRoot bool) error {
	h, err := f.Applications.Probe(ctx, org, app)
	if err != nil {
		return err
	}
	switch {
	case h.Status == "mismatch" && h.Detail != nil && *h.Detail == "version":
		return fault.Cloud("provider_version_mismatch", "%s speaks another version of the provider API", app).With("health", h)
	case h.Status == "mismatch":
		return fault.Cloud("application_mismatch", "another application answers for %s", app).With("health", h)
	case h.Status != "healthy":
		return fault.Cloud("probe_failed", "%s is %s: make it answer first", app, h.Status).With("health", h)
	}
	if h.OrgRoot == nil || *h.OrgRoot != orgRoot {
		is := "is not an org root of its own"
		if !orgRoot {
			is = "says that it is the org root already"
		}
		return fault.Cloud("probe_failed", "%s %s", app, is).With("health", h)
	}
	return nil
}

func transition(from applications.State, operation string) *fault.Error {
	message := "an application that is %s does not take %s"
	if from == applications.Linked {
		message = "the first application to move is the primary one: of one that is %s and not primary, %s is for later"
	}
	return fault.Cloud("invalid_transition", message, from, operation).With("from", from).With("operation", operation)
}

// mayConfer judges the account rows that come to reach somebody by the merge: escalation_refused.
func (f *Federation) mayConfer(ctx context.Context, a *service.Access, gained []string) ([]string, error) {
	granted, err := f.Account.Granted(ctx, a.Org.ID, authz.SubjectGroup, authz.SubjectOrg, authz.SubjectDirects, authz.SubjectOrgOf)
	if err != nil {
		return nil, err
	}
	reach := slices.DeleteFunc(slices.Clone(gained), func(subject string) bool { return !granted[subject] })
	return reach, f.Account.MayReach(ctx, a, reach)
}

// dryRun tells what a move would do. Conflicts that have no resolution yet are no error
// here: they are what the caller wants to know.
func dryRun(p plan, err error) (*Federated, error) {
	out := &Federated{DryRun: true, Conflicts: []authz.Conflict{}, Fingerprint: p.fingerprint, Imported: p.counts, VirtualParents: p.virtual, Warnings: p.warnings}
	var conflicts *authz.PromotionConflictError
	switch {
	case errors.As(err, &conflicts) && conflicts.Code == authz.UnresolvedConflicts:
		out.Conflicts = conflicts.Conflicts
	case err != nil:
		return nil, err
	}
	out.VirtualParents, out.Warnings = orNone(out.VirtualParents), orNone(out.Warnings)
	return out, nil
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// federated is the answer of a move that is done.
func (f *Federation) federated(ctx context.Context, org, app string, m applications.Move) (*Federated, error) {
	out := &Federated{}
	if err := decode(m.Answer, out); err != nil {
		return nil, err
	}
	a, o, err := f.now(ctx, org, app)
	out.Application, out.Org = &a, &o
	return out, err
}

// now reads the objects of an answer as they are.
func (f *Federation) now(ctx context.Context, org, app string) (a applications.Application, o account.Org, err error) {
	ctx = account.Remember(ctx)
	if a, err = f.Applications.Get(ctx, org, app); err != nil {
		return a, o, err
	}
	o, err = f.Applications.Org(ctx, org)
	return a, o, err
}

// stagePromotion makes the dataset anew, now that nobody writes the hosted root.
func (r *run) stagePromotion(ctx context.Context) error {
	m := r.row.Value
	app, err := r.asked(ctx)
	if err != nil {
		return r.nothingSent(ctx, err)
	}
	in := planning{org: r.org, app: app, root: r.root, first: m.First, source: m.Source, resolutions: m.Resolutions, fingerprint: m.Fingerprint}
	if m.Again { // what the application had is in the hosted root already: some conflicts are gone
		in.resolutions, in.fingerprint = nil, ""
	}
	p, err := r.plan(ctx, in)
	var open *authz.PromotionConflictError
	if m.Again && errors.As(err, &open) {
		in.resolutions = map[string]authz.Resolution{}
		for _, c := range open.Conflicts {
			if decided, ok := m.Resolutions[c.ID]; ok {
				in.resolutions[c.ID] = decided
			}
		}
		p, err = r.plan(ctx, in)
	}
	if err != nil {
		return r.nothingSent(ctx, err)
	}
	granted, err := r.Account.Granted(ctx, r.org, authz.SubjectGroup, authz.SubjectOrg, authz.SubjectDirects, authz.SubjectOrgOf)
	if err != nil {
		return err
	}
	for _, subject := range p.gained {
		if granted[subject] && !slices.Contains(m.Confers, subject) {
			return r.undo(ctx, fault.Cloud("org_changed", "since the call was judged, more account rights would come to reach somebody by the merge: repeat it"))
		}
	}
	return r.stage(ctx, p.snapshot, p.head, struct {
		Imported       any                       `json:"imported"`
		VirtualParents []directory.VirtualParent `json:"virtualParents"`
		Warnings       []string                  `json:"warnings"`
	}{p.counts, orNone(p.virtual), orNone(p.warnings)})
}

// receive makes the hosted root the org root, over the dataset that the application has
// taken, then the application a member.
func (r *run) receive(ctx context.Context) error {
	s, err := r.staged(ctx)
	if err != nil {
		return err
	}
	m := r.row.Value
	if err := refused(r.root.MoveOrg(ctx, application.OrgMove{ID: m.ID, Held: true, OrgRoot: new(true), Source: m.Source, Position: m.Position, Snapshot: &s})); err != nil {
		return err
	}
	if err := r.at("received"); err != nil {
		return err
	}
	return r.taken(ctx, "application.federate", func(now int64, a *applications.Application, o *account.Org) {
		a.State, a.FederatedAt = applications.Federated, &now
		o.Mode = account.ModeFederated
	})
}

// taken commits what the application and the org are from now on.
func (r *run) taken(ctx context.Context, action string, change func(now int64, a *applications.Application, o *account.Org)) error {
	return r.save(ctx, func(tx *account.Tx, m *applications.Move) error {
		now := r.Store.Now(ctx)
		if err := r.unstage(ctx, tx, m); err != nil {
			return err
		}
		m.Step, m.Trouble = stepVerify, ""
		if _, _, err := r.Applications.Change(ctx, tx, r.org, r.app, func(a *applications.Application, o *account.Org) error {
			change(now, a, o)
			return nil
		}); err != nil {
			return err
		}
		tx.Audit(r.org, m.Actor, action, r.app, struct {
			Source   string `json:"source"`
			Position int64  `json:"position"`
		}{m.Source, m.Position})
		return r.Meters.Add(ctx, tx, r.org, billing.ReadModelSyncs, r.app, 1)
	})
}
