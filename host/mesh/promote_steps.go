package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func (p *promotion) commitID(step, partition string, replaces int64) string {
	return fmt.Sprintf("%s/%s/%s/%d", p.moving.ID, step, partition, replaces)
}

// received tells whether the organization has arrived, by whichever call.
func (p *promotion) received(ctx context.Context) (bool, error) {
	s, err := p.c.store(ctx, p.moving.To)
	if err != nil {
		return false, err
	}
	held, err := application.ReadAuthority(ctx, s)
	return p.holds(held), err
}

// holds reports that a record was written by the receiving step.
func (p *promotion) holds(held *application.Authority) bool {
	return held != nil && held.OrgRoot && held.Source == p.source()
}

// register replaces the registry by what change makes of it.
func (p *promotion) register(ctx context.Context, action, target string, detail func(*authz.Mesh) any, change func(*authz.Mesh)) error {
	next := *p.stored.Mesh
	change(&next)
	next.Version, next.UpdatedAt, next.UpdatedBy = next.Version+1, p.c.clock(), p.prov.Actor()
	if err := p.c.putRegistry(ctx, p.registry, p.stored, &next, action, target, detail(&next)); err != nil {
		return err
	}
	stored, err := p.c.read(ctx, p.registry)
	if err == nil {
		p.stored = stored
		p.c.keep(stored)
	}
	return err
}

// begin is the first step: the registry says what is moved, and whoever comes after a
// death here knows it.
func (p *promotion) begin(ctx context.Context) error {
	p.moving.Since = p.c.clock()
	err := p.register(ctx, "mesh.registry_put", registryID, func(m *authz.Mesh) any {
		return struct {
			Version   int64               `json:"version"`
			Promoting *authz.OrgPromotion `json:"promoting"`
		}{m.Version, m.Promoting}
	}, func(m *authz.Mesh) { m.Promoting = &p.moving })
	p.begun = err == nil
	return err
}

// freeze makes every org-domain write that was judged before now a refused one: each
// requires the version of the record that is written here.
func (p *promotion) freeze(ctx context.Context) error {
	for _, partition := range p.partitions() {
		err := p.authority(ctx, stepFreeze, partition, landing{}, func(held *application.Authority) *application.Authority {
			if held == nil {
				held = &application.Authority{OrgRoot: true}
			}
			next := *held
			next.Moving = p.moving.ID
			return &next
		}, func(held *application.Authority) bool { return held != nil && held.Moving == p.moving.ID })
		if err != nil {
			return err
		}
	}
	return nil
}

// authority commits what change makes of a partition's record, with what else the
// landing holds. It does nothing where done says that it stands.
func (p *promotion) authority(ctx context.Context, step, partition string, l landing, change func(*application.Authority) *application.Authority,
	done func(*application.Authority) bool) error {
	s, err := p.c.store(ctx, partition)
	if err != nil {
		return err
	}
	judged := int64(-1)
	for range maxRaces {
		held, err := application.ReadAuthority(ctx, s)
		if err != nil || done(held) {
			return err
		}
		version := int64(0)
		if held != nil {
			version = held.Version
		}
		if version == judged { // the record stood still: another condition of the commit does not hold
			return authz.Rejected(authz.CodeConflict, "%s cannot take what is moved: an id of it names another row there", spell.Quote(partition))
		}
		judged = version
		l, raced := l, false
		l.at = p.c.clock()
		next := change(held)
		write, err := next.Change(l.at)
		if err != nil {
			return err
		}
		l.id, l.actor = p.commitID(step, partition, next.Version), actor(p.c.partition, p.prov.Actor())
		if partition == p.c.partition {
			l.actor = p.prov.Actor()
		}
		l.changes = append(slices.Clip(l.changes), write)
		l.stale = func() error { raced = true; return nil }
		err = storage.RunExclusive(ctx, s, application.SectionAudit, func(ctx context.Context) error { return p.c.land(ctx, s, l) })
		if err != nil || !raced {
			return err
		}
	}
	return &authz.MeshError{Code: authz.MeshRegistryConflict, Message: "the authority of " + spell.Quote(partition) + " kept changing meanwhile"}
}

// merge reads every organization and makes one of them. Nobody writes them meanwhile.
func (p *promotion) merge(ctx context.Context) (orgmerge.Result, error) {
	current, err := p.side(ctx, p.moving.To)
	if err != nil {
		return orgmerge.Result{}, err
	}
	incoming := make([]orgmerge.Side, 0, len(p.moving.From))
	for _, from := range p.moving.From {
		side, err := p.side(ctx, from)
		if err != nil {
			return orgmerge.Result{}, err
		}
		incoming = append(incoming, side)
	}
	if current.Taken, err = p.taken(ctx, incoming); err != nil {
		return orgmerge.Result{}, err
	}
	outcome, err := orgmerge.Merge(current, incoming, p.in.Resolutions, p.in.Fingerprint)
	if err != nil {
		return orgmerge.Result{}, err
	}
	if !orgmerge.Administered(outcome.Snapshot, p.c.clock()) {
		return orgmerge.Result{}, &authz.MeshError{Code: authz.MeshNoOrgAdministrator, Partition: p.moving.To,
			Message: "nobody active would hold " + orgmerge.AdministratorKey + " at \"*\" afterwards: grant it to somebody first"}
	}
	return outcome, nil
}

// side is the organization of a partition; none where it is another's read model.
func (p *promotion) side(ctx context.Context, partition string) (orgmerge.Side, error) {
	s, err := p.c.store(ctx, partition)
	if err != nil {
		return orgmerge.Side{}, err
	}
	member, _ := p.stored.Member(partition)
	org := p.stored.Org
	side := orgmerge.Side{Name: partition, Namespaces: member.Namespaces, Whole: org != nil && org.Partition == partition, Snapshot: emptyOrg()}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil {
		return side, err
	}
	if holdsRows(held) {
		if side.Snapshot, err = application.ReadOrg(ctx, s); err != nil {
			return side, err
		}
	}
	concerned := []string{partition}
	if org != nil && held != nil && !held.OrgRoot {
		concerned = nil // its rows mean groups and roles of the org partition, whose side names them
	}
	if side.Whole {
		for _, m := range p.stored.Members {
			concerned = append(concerned, m.Partition)
		}
	}
	for _, app := range concerned {
		named, err := p.named(ctx, app)
		if err != nil {
			return side, err
		}
		side.Named = append(side.Named, named)
	}
	return side, nil
}

// taken are the ids of what is moved that other rows of the receiving partition have:
// instance rows, and requests that were decided or are for an instance.
func (p *promotion) taken(ctx context.Context, incoming []orgmerge.Side) (orgmerge.Taken, error) {
	s, err := p.c.store(ctx, p.moving.To)
	if err != nil {
		return orgmerge.Taken{}, err
	}
	grants, revokes := map[string]bool{}, map[string]bool{}
	taken := orgmerge.Taken{Grants: map[string]bool{}, Revokes: map[string]bool{}, Requests: map[string]bool{}}
	for _, side := range incoming {
		for _, g := range side.Snapshot.GlobalGrants {
			grants[g.ID] = true
		}
		for _, r := range side.Snapshot.GlobalRevokes {
			revokes[r.ID] = true
		}
		for _, q := range side.Snapshot.PendingGlobalRequests {
			before, found, err := s.GetRequest(ctx, q.ID)
			if err != nil {
				return taken, err
			}
			if found && (before.Scope != authz.Global || before.State != authz.RequestPending) {
				taken.Requests[q.ID] = true
			}
		}
	}
	for g, err := range s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			return taken, err
		}
		if g.Scope != authz.Global && grants[g.ID] {
			taken.Grants[g.ID] = true
		}
	}
	for r, err := range s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}) {
		if err != nil {
			return taken, err
		}
		if r.Scope != authz.Global && revokes[r.ID] {
			taken.Revokes[r.ID] = true
		}
	}
	return taken, nil
}

func emptyOrg() provider.OrgSnapshot {
	return provider.OrgSnapshot{Groups: []authz.Group{}, Roles: []authz.Role{}, GlobalGrants: []authz.Grant{}, GlobalRevokes: []authz.Revoke{},
		Users: []authz.User{}, PendingGlobalRequests: []authz.Request{}}
}

// named counts what of a partition names roles and groups outside its organization's
// data.
func (p *promotion) named(ctx context.Context, partition string) (orgmerge.Named, error) {
	named := orgmerge.Named{Application: partition}
	s, err := p.c.store(ctx, partition)
	if err != nil {
		return named, err
	}
	for g, err := range s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			return named, err
		}
		if g.Scope != authz.Global {
			named.Grant(g)
		}
	}
	pending := authz.RequestPending
	for r, err := range s.ListRequests(ctx, storage.RequestFilter{State: &pending}, storage.RequestPage{}) {
		if err != nil {
			return named, err
		}
		if r.Scope != authz.Global {
			named.Request(r)
		}
	}
	head, published, err := s.GetCatalog(ctx)
	if err != nil || !published {
		return named, err
	}
	vocabulary, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
	if err != nil {
		return named, catalogInvalid(partition, err)
	}
	for _, t := range vocabulary.ScopeTypes() {
		if t.Requestable != nil {
			named.Policy(t.Requestable.Stages)
		}
	}
	return named, nil
}

// receive is the commit by which the merged organization stands.
func (p *promotion) receive(ctx context.Context, outcome orgmerge.Result) error {
	s, err := p.c.store(ctx, p.moving.To)
	if err != nil {
		return err
	}
	changes, err := application.OrgChanges(ctx, s, outcome.Snapshot)
	if err != nil {
		return err
	}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil {
		return err
	}
	if held != nil && !held.OrgRoot {
		if changes, err = superseded(ctx, s, outcome.Snapshot, changes); err != nil {
			return err
		}
	}
	if n := len(changes); n >= storage.MaxCommitChanges {
		return authz.Validation("the merged organization differs from what %s holds in %d rows, and %d go into the one commit that it is", spell.Quote(p.moving.To), n, storage.MaxCommitChanges-1)
	}
	return p.authority(ctx, stepReceive, p.moving.To,
		landing{changes: changes, action: "org.authority_received", target: p.source(), detail: struct {
			From []string `json:"from"`
			orgmerge.Counts
		}{p.moving.From, outcome.Counts}},
		func(held *application.Authority) *application.Authority { return held.Moved(true, p.source()) },
		func(held *application.Authority) bool {
			return held != nil && held.OrgRoot && held.Source == p.source()
		})
}

// superseded adds the deletion of people and requests that a read model kept from an
// earlier organization.
func superseded(ctx context.Context, s storage.Store, wanted provider.OrgSnapshot, changes []storage.Change) ([]storage.Change, error) {
	stored, err := application.ReadOrg(ctx, s)
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{}
	for _, u := range wanted.Users {
		keep["user "+u.UserID] = true
	}
	for _, r := range wanted.PendingGlobalRequests {
		keep["request "+r.ID] = true
	}
	for _, u := range stored.Users {
		if !keep["user "+u.UserID] {
			changes = append(changes, storage.DeleteUser{UserID: u.UserID})
		}
	}
	for _, r := range stored.PendingGlobalRequests {
		if !keep["request "+r.ID] {
			changes = append(changes, storage.DeleteRequest{ID: r.ID})
		}
	}
	return changes, nil
}

// source names the move in authority records, by the version of the registry that began
// it: that version stands until the last step.
func (p *promotion) source() string { return fmt.Sprintf("mesh:%d", p.stored.Version) }

// arrived is what a call before this one moved.
func (p *promotion) arrived(ctx context.Context) (orgmerge.Result, error) {
	s, err := p.c.store(ctx, p.moving.To)
	if err != nil {
		return orgmerge.Result{}, err
	}
	snapshot, err := application.ReadOrg(ctx, s)
	return orgmerge.Result{Snapshot: snapshot, Counts: orgmerge.CountsOf(snapshot), Warnings: []string{}}, err
}

// release ends the authority of a source.
func (p *promotion) release(ctx context.Context, from string) error {
	s, err := p.c.store(ctx, from)
	if err != nil {
		return err
	}
	left, err := application.ReadOrg(ctx, s)
	if err != nil {
		return err
	}
	return p.authority(ctx, stepRelease, from,
		landing{action: "org.authority_released", target: p.source(), detail: struct {
			To string `json:"to"`
			orgmerge.Counts
		}{p.moving.To, orgmerge.CountsOf(left)}},
		func(held *application.Authority) *application.Authority { return held.Moved(false, p.source()) },
		func(held *application.Authority) bool {
			return held != nil && !held.OrgRoot && held.Source == p.source()
		})
}

// releaseOthers ends the authority of every other member that is its own org root:
// there is one once the registry designates it. Their organizations stay where they are,
// inert, until a promotion names them.
func (p *promotion) releaseOthers(ctx context.Context) error {
	next := *p.stored.Mesh
	next.Version, next.UpdatedAt, next.Org = next.Version+1, p.c.clock(), &authz.OrgDesignation{Partition: p.moving.To}
	for _, m := range next.Members {
		if slices.Contains(p.partitions(), m.Partition) {
			continue
		}
		if err := p.c.releaseMember(ctx, m.Partition, &next, p.prov); err != nil {
			return err
		}
	}
	return nil
}

// designate is the last step: the registry says where the organization lives.
func (p *promotion) designate(ctx context.Context, counts orgmerge.Counts) error {
	previous := p.stored.Org
	return p.register(ctx, "mesh.org_promoted", p.moving.To, func(*authz.Mesh) any {
		return struct {
			From     []string              `json:"from"`
			Counts   orgmerge.Counts       `json:"counts"`
			Previous *authz.OrgDesignation `json:"previous"`
		}{p.moving.From, counts, previous}
	}, func(m *authz.Mesh) {
		if m.Org == nil || m.Org.Partition != p.moving.To {
			m.Org = &authz.OrgDesignation{Partition: p.moving.To, Since: p.c.clock()}
		}
		m.Promoting = nil
	})
}

// undo lifts the freeze, the registry last: a death before that is found by it.
func (p *promotion) undo(ctx context.Context) error {
	var errs []error
	for _, partition := range p.partitions() {
		errs = append(errs, p.authority(ctx, stepUndo, partition, landing{},
			func(held *application.Authority) *application.Authority {
				next := *held
				next.Moving = ""
				return &next
			},
			func(held *application.Authority) bool { return held == nil || held.Moving != p.moving.ID }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.register(ctx, "mesh.registry_put", registryID, func(m *authz.Mesh) any {
		return struct {
			Version int64  `json:"version"`
			Undone  string `json:"undone"`
		}{m.Version, p.moving.ID}
	}, func(m *authz.Mesh) { m.Promoting = nil })
}
