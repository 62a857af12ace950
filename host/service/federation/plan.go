package federation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// plan is what a promotion or merge would make of an application's organization.
type plan struct {
	head        *authz.Position      // of the application's log, before it was read; nil: it keeps none
	snapshot    provider.OrgSnapshot // what both sides hold afterwards
	counts      orgmerge.Counts      // of what the application brings
	virtual     []directory.VirtualParent
	warnings    []string
	fingerprint string   // of the conflicts
	gained      []string // subjects that come to reach somebody whom they did not
}

// planning is what the plan depends on beside what both sides hold.
type planning struct {
	org         string
	app         applications.Asked
	root        *hostedroot.Root
	first       bool
	source      string
	resolutions map[string]authz.Resolution
	fingerprint string
}

// plan exports, validates and merges. What it cannot settle is an
// *authz.PromotionConflictError beside the warnings and counts.
func (f *Federation) plan(ctx context.Context, in planning) (plan, error) {
	var p plan
	incoming, err := f.exported(ctx, in, &p)
	if err != nil {
		return p, err
	}
	current, err := f.current(ctx, in)
	if err != nil {
		return p, err
	}
	result, err := orgmerge.Merge(current, []orgmerge.Side{incoming}, in.resolutions, in.fingerprint)
	p.counts, p.warnings, p.fingerprint = orgmerge.CountsOf(incoming.Snapshot), append(p.warnings, result.Warnings...), result.Fingerprint
	if err != nil {
		return p, refused(err)
	}
	p.snapshot = result.Snapshot
	if err := refused(in.root.CheckOrgMove(ctx, application.OrgMove{Snapshot: &p.snapshot, Source: in.source})); err != nil {
		return p, err
	}
	if !orgmerge.Administered(p.snapshot, f.Store.Now(ctx)) {
		return p, fault.Cloud("no_org_administrator", "nobody active would hold %s at \"*\" afterwards: grant it to somebody first", orgmerge.AdministratorKey)
	}
	if _, err := f.encoded(p.snapshot); err != nil {
		return p, err
	}
	if !in.first {
		p.gained = gained(current.Snapshot, p.snapshot)
	}
	return p, nil
}

// exported is the application's side. Groups that reach each other are condensed, as a
// directory import does; managers who do are conflicts, which the merge tells.
func (f *Federation) exported(ctx context.Context, in planning, p *plan) (orgmerge.Side, error) {
	var err error
	if p.head, err = headOf(ctx, in.app); err != nil {
		return orgmerge.Side{}, err
	}
	s, err := in.app.Relay.ExportOrgSnapshot(ctx)
	if isRejected(err, authz.CodeUnsupported) {
		return orgmerge.Side{}, fault.Cloud("snapshot_unsupported", "%s serves no org snapshots, by which an organization is moved", in.app.ID)
	} else if err != nil {
		return orgmerge.Side{}, err
	}
	var warnings []string
	s.Groups, p.virtual, warnings = application.CondenseGroups(s.Groups)
	p.warnings = append(p.warnings, warnings...)
	if err := application.CheckOrgSnapshot(provider.ApplyOrgSnapshotInput{Snapshot: unmanaged(s), Source: in.source}); err != nil {
		return orgmerge.Side{}, refused(err)
	}
	if s.PendingGlobalRequests, err = f.undecided(ctx, in, s.PendingGlobalRequests, p); err != nil {
		return orgmerge.Side{}, err
	}
	side := orgmerge.Side{Name: in.app.ID, Namespaces: in.app.Namespaces, Whole: in.first, Snapshot: s}
	if in.first {
		return side, nil
	}
	named, err := f.named(ctx, in.app)
	side.Named = []orgmerge.Named{named}
	return side, err
}

// undecided leaves out requests that the hosted root has decided at an earlier time: an
// application that was restored has them pending again, and what was decided stands.
func (f *Federation) undecided(ctx context.Context, in planning, pending []authz.Request, p *plan) ([]authz.Request, error) {
	kept := make([]authz.Request, 0, len(pending))
	for _, q := range pending {
		decided, err := in.root.Decided(ctx, q.ID)
		if err != nil {
			return nil, err
		}
		if decided {
			p.warnings = append(p.warnings, fmt.Sprintf("the request %s was decided already at the hosted root: it is not pending there again", spell.Quote(q.ID)))
			continue
		}
		kept = append(kept, q)
	}
	return kept, nil
}

// unmanaged is a snapshot without its reporting tree.
func unmanaged(s provider.OrgSnapshot) provider.OrgSnapshot {
	s.Users = slices.Clone(s.Users)
	for i := range s.Users {
		s.Users[i].ManagerUserID = ""
	}
	return s
}

// headOf is the head of an application's log, nil where it keeps none.
func headOf(ctx context.Context, app applications.Asked) (*authz.Position, error) {
	log := app.Relay.EventLog()
	if log == nil {
		return nil, nil
	}
	head, err := log.Head(ctx)
	switch {
	case isRejected(err, authz.CodeUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &head.Position, nil
}

// current is the hosted root's side; of a first promotion nothing, where everything keeps
// the meaning that it has.
func (f *Federation) current(ctx context.Context, in planning) (orgmerge.Side, error) {
	if in.first {
		return orgmerge.Side{Name: hostedName, Whole: true, Snapshot: emptyOrg()}, nil
	}
	s, err := in.root.ExportOrgSnapshot(ctx)
	if err != nil {
		return orgmerge.Side{}, refused(err)
	}
	side := orgmerge.Side{Name: hostedName, Snapshot: s}
	members, err := f.Applications.Members(ctx, in.org)
	if err != nil {
		return side, err
	}
	source, err := in.root.Source(ctx)
	if err != nil {
		return side, err
	}
	side.Whole = source == sourceMerge+in.org
	for _, m := range members {
		side.Namespaces = append(side.Namespaces, m.Namespaces...)
		named, err := f.named(ctx, m)
		if err != nil {
			return side, err
		}
		side.Named = append(side.Named, named)
	}
	return side, nil
}

const hostedName = "the hosted root"

// What datasets are sent as, with the org's id.
const (
	sourcePromotion = "promotion:"
	sourceMerge     = "merge:"
	sourceDemotion  = "demotion:"
	sourceSync      = "sync:"
)

func emptyOrg() provider.OrgSnapshot {
	return provider.OrgSnapshot{Groups: []authz.Group{}, Roles: []authz.Role{}, GlobalGrants: []authz.Grant{}, GlobalRevokes: []authz.Revoke{},
		Users: []authz.User{}, PendingGlobalRequests: []authz.Request{}}
}

// named counts what of an application names roles and groups outside its organization's
// data: what no merge rewrites.
func (f *Federation) named(ctx context.Context, app applications.Asked) (orgmerge.Named, error) {
	named := orgmerge.Named{Application: app.ID}
	for g, err := range app.Relay.ListGrants(ctx, provider.GrantQuery{}) {
		if err != nil {
			return named, err
		}
		if g.Scope != authz.Global {
			named.Grant(g)
		}
	}
	for r, err := range app.Relay.ListRequests(ctx, provider.RequestQuery{State: new(authz.RequestPending)}) {
		if err != nil {
			return named, err
		}
		if r.Scope != authz.Global {
			named.Request(r)
		}
	}
	head, err := app.Relay.GetPublishedCatalog(ctx)
	if err != nil || head == nil {
		return named, err
	}
	vocabulary, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
	if err != nil {
		return named, fault.Transport("application_protocol_error", app.ID, "", "the application's published catalog cannot be read")
	}
	for _, t := range vocabulary.ScopeTypes() {
		if t.Requestable != nil {
			named.Policy(t.Requestable.Stages)
		}
	}
	return named, nil
}

// gained are the subjects that are in somebody's closure afterwards and were not before:
// account rows of theirs come to reach that user.
func gained(before, after provider.OrgSnapshot) []string {
	was := closures(before)
	found := map[string]bool{}
	for user, closure := range closures(after) {
		for _, subject := range closure {
			if subject != authz.SubjectOf(authz.SubjectUser, user) && !slices.Contains(was[user], subject) {
				found[subject] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func closures(s provider.OrgSnapshot) map[string][]string {
	users, parents := make(map[string]*authz.User, len(s.Users)), make(map[string][]string, len(s.Groups))
	for i := range s.Users {
		users[s.Users[i].UserID] = &s.Users[i]
	}
	for _, g := range s.Groups {
		parents[g.ID] = g.Parents
	}
	managerOf := func(id string) (string, error) {
		if u := users[id]; u != nil {
			return u.ManagerUserID, nil
		}
		return "", nil
	}
	all := make(map[string][]string, len(users))
	for id, u := range users {
		chain, err := storage.ManagerChain(id, u.ManagerUserID, managerOf)
		if err != nil {
			chain = nil // managerOf never fails
		}
		all[id] = storage.Closure(id, u, chain, func(group string) []string { return parents[group] })
	}
	return all
}

// refused names what judges a dataset here.
func refused(err error) error {
	var conflicts *authz.PromotionConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflicts):
		e := &fault.Error{Name: conflicts.ErrorName(), Code: conflicts.ErrorCode(), Message: conflicts.Message, Cause: conflicts}
		return e.With("conflicts", conflicts.Conflicts).With("fingerprint", conflicts.Fingerprint)
	}
	if told := relay.Refusal(err); told != nil {
		return told
	}
	return fault.Storage(err)
}

func isRejected(err error, code authz.Code) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Name == "ProviderWriteRejectedError" && e.Code == string(code)
}
