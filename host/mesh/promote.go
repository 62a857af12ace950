package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Promote says which organizations become one, and where it shall live.
type Promote struct {
	// To is the partition that shall hold the organization's data; "" is the one that
	// the registry designates, else the connection's own.
	To string `json:"to,omitempty"`

	// From are the members whose data is moved there; nil is every other one that is
	// its own org root, or that holds the organization now. A member whose data a
	// designation superseded, and nobody moved, is to be named.
	From []string `json:"from,omitempty"`

	Resolutions map[string]authz.Resolution `json:"resolutions,omitempty"`
	Fingerprint string                      `json:"fingerprint,omitempty"`

	// Expect is the version of the registry that was looked at; nil is any.
	Expect *int64 `json:"expect,omitempty"`

	// DryRun stops before anything is written.
	DryRun bool `json:"dryRun,omitempty"`
}

// Promoted is what a promotion did, or a dry run would.
type Promoted struct {
	Registry authz.Mesh      `json:"registry"`
	To       string          `json:"to"`
	From     []string        `json:"from"`
	Moved    orgmerge.Counts `json:"moved"`
	Warnings []string        `json:"warnings"`
}

// PromoteOrgPartition moves the organizations of members into one partition. While it
// runs, org-domain writes of every partition concerned are refused with CodeConflict;
// checks go on over the rows as they were. There is one writer at every instant.
//
// A call that finds another one broken off goes on with it, and one that finds
// everything where it shall be changes nothing. *authz.PromotionConflictError
// and MeshNoOrgAdministrator leave everything as it was; any other error may leave the
// move under way, to be finished by the same call or taken back by UndoPromotion
// (spec: mesh §7.1).
func (c *Connection) PromoteOrgPartition(ctx context.Context, in Promote, prov authz.Provenance) (Promoted, error) {
	prov, err := prov.Normalize()
	if err != nil {
		return Promoted{}, err
	}
	var done Promoted
	err = c.exclusively(ctx, func(ctx context.Context, s storage.Store) error {
		p, err := c.promotion(ctx, s, in, prov)
		if err != nil {
			return err
		}
		switch {
		case p.over:
			done = Promoted{Registry: *p.stored.Mesh, To: p.moving.To, From: []string{}, Warnings: []string{}}
		case in.DryRun:
			done, err = p.preview(ctx)
		default:
			done, err = p.run(ctx)
		}
		return err
	})
	if err != nil {
		return Promoted{}, failed("promoteOrgPartition", err)
	}
	return done, nil
}

// UndoPromotion takes back a promotion that is under way and has moved nothing yet.
// Whoever may promote may undo it.
func (c *Connection) UndoPromotion(ctx context.Context, prov authz.Provenance) (authz.Mesh, error) {
	prov, err := prov.Normalize()
	if err != nil {
		return authz.Mesh{}, err
	}
	var after authz.Mesh
	err = c.exclusively(ctx, func(ctx context.Context, s storage.Store) error {
		stored, err := c.read(ctx, s)
		switch {
		case err != nil:
			return err
		case stored.Mesh == nil:
			return errNoRegistry()
		case stored.Promoting == nil:
			return authz.Rejected(authz.CodeConflict, "no promotion is under way")
		}
		p := &promotion{c: c, registry: s, stored: stored, prov: prov, moving: *stored.Promoting}
		if err := p.admitted(ctx); err != nil {
			return err
		}
		err = p.holding(ctx, func(ctx context.Context) error {
			if received, err := p.received(ctx); err != nil {
				return err
			} else if received {
				return authz.Rejected(authz.CodeConflict, "%s has received the organization already: finish the promotion by promoting again", spell.Quote(p.moving.To))
			}
			return p.undo(ctx)
		})
		after = *p.stored.Mesh
		return err
	})
	if err != nil {
		return authz.Mesh{}, failed("undoPromotion", err)
	}
	return after, nil
}

// The steps of a promotion, by which its commits are named, with the version of the
// record that each replaces: a move that was taken back in part may be gone on with.
const (
	stepFreeze  = "freeze"
	stepReceive = "receive"
	stepRelease = "release"
	stepUndo    = "undo"
)

// promotion is one run of the steps, inside the registry's section.
type promotion struct {
	c        *Connection
	registry storage.Store
	stored   *registry // as it is after the last step
	in       Promote
	prov     authz.Provenance
	moving   authz.OrgPromotion
	begun    bool // the registry says so
	over     bool // everything is where it shall be
}

// promotion reads what a call asks for, or which move it goes on with.
func (c *Connection) promotion(ctx context.Context, s storage.Store, in Promote, prov authz.Provenance) (*promotion, error) {
	stored, err := c.read(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case stored.Mesh == nil:
		return nil, errNoRegistry()
	}
	p := &promotion{c: c, registry: s, stored: stored, in: in, prov: prov}
	if under := stored.Promoting; under != nil {
		if in.To != "" && in.To != under.To || in.From != nil && !slices.Equal(sorted(in.From), under.From) {
			return nil, &authz.MeshError{Code: authz.MeshRegistryConflict, Current: &stored.Version,
				Message: fmt.Sprintf("a promotion of %s to %s is under way: finish it without naming others, or undo it", spell.QuoteList(under.From), spell.Quote(under.To))}
		}
		p.moving, p.begun = *under, true
	} else if err := p.choose(ctx); err != nil {
		return nil, err
	}
	return p, p.admitted(ctx)
}

// choose settles what a new promotion moves, and where to.
func (p *promotion) choose(ctx context.Context) error {
	m := p.stored.Mesh
	if e := p.in.Expect; e != nil && *e != m.Version {
		return &authz.MeshError{Code: authz.MeshRegistryConflict, Expected: e, Current: &m.Version,
			Message: fmt.Sprintf("the registry is at version %d, not %d: look at it again", m.Version, *e)}
	}
	p.moving = authz.OrgPromotion{ID: uuid.NewString(), To: p.in.To, From: slices.Compact(sorted(p.in.From))}
	if p.moving.To == "" {
		p.moving.To = p.c.partition
		if m.Org != nil {
			p.moving.To = m.Org.Partition
		}
	}
	for _, partition := range append([]string{p.moving.To}, p.moving.From...) {
		if _, ok := m.Member(partition); !ok {
			return notAMember(partition)
		}
	}
	if slices.Contains(p.moving.From, p.moving.To) {
		return authz.Validation("an organization is not moved from %s to itself", spell.Quote(p.moving.To))
	}
	if p.in.From != nil {
		return p.unmoved(ctx)
	}
	for _, member := range m.Members {
		root, err := p.c.isRoot(ctx, member.Partition)
		if err != nil {
			return err
		}
		if root && member.Partition != p.moving.To {
			p.moving.From = append(p.moving.From, member.Partition)
		}
	}
	slices.Sort(p.moving.From)
	p.over = len(p.moving.From) == 0 && p.designated()
	return nil
}

// designated reports that the organization lives where it is to be moved.
func (p *promotion) designated() bool {
	return p.stored.Org != nil && p.stored.Org.Partition == p.moving.To
}

// unmoved refuses a source whose organization was moved before: what its partition still
// has of it is of that time. Where all of them were moved to where they are to go, the
// promotion is over.
func (p *promotion) unmoved(ctx context.Context) error {
	var refused error
	moved := 0
	for _, partition := range p.moving.From {
		s, err := p.c.store(ctx, partition)
		if err != nil {
			return err
		}
		held, err := application.ReadAuthority(ctx, s)
		if err != nil {
			return err
		}
		if !holdsRows(held) {
			moved++
			refused = authz.Rejected(authz.CodeConflict, "the organization of %s was moved already (%s): nothing of it is left to move", spell.Quote(partition), held.Source)
		}
	}
	if moved == len(p.moving.From) && p.designated() {
		p.over = true
		return nil
	}
	return refused
}

// isRoot reports whether a partition's organization is its own, as it is for one that
// was never opened.
func (c *Connection) isRoot(ctx context.Context, partition string) (bool, error) {
	s, err := c.store(ctx, partition)
	if err != nil {
		return false, err
	}
	held, err := application.ReadAuthority(ctx, s)
	return held == nil || held.OrgRoot, err
}

// admitted judges who calls, and what the partitions owe to writers in several
// processes.
func (p *promotion) admitted(ctx context.Context) error {
	for _, partition := range p.partitions() {
		if partition != p.c.partition && p.moving.To != p.c.partition {
			if err := permitted(p.stored.Mesh, p.c.partition, partition, authz.MeshWrite); err != nil {
				return err
			}
		}
		s, err := p.c.store(ctx, partition)
		if err != nil {
			return err
		}
		persists, err := persisted(ctx, s)
		if err != nil {
			return err
		}
		if missing := p.c.lacking(partition, persists); len(missing) > 0 {
			return missing[0]
		}
	}
	return nil
}

// partitions are all that are concerned, in the order in which they are taken.
func (p *promotion) partitions() []string {
	return sorted(append([]string{p.moving.To}, p.moving.From...))
}

func (p *promotion) run(ctx context.Context) (Promoted, error) {
	if !p.begun {
		if err := p.begin(ctx); err != nil {
			return Promoted{}, err
		}
	}
	var done Promoted
	err := p.holding(ctx, func(ctx context.Context) (err error) {
		done, err = p.steps(ctx)
		return err
	})
	return done, err
}

// holding takes the sections of the organization in every partition, and keeps them to
// the end: late commits of a call that died are stale then. The registry is read again
// once all are held. Whoever stood still before that may have been overtaken by a call
// that took the sections, ended and gave them back.
func (p *promotion) holding(ctx context.Context, fn func(context.Context) error) error {
	type taken struct {
		s   storage.Store
		key string
	}
	var all []taken
	for _, partition := range p.partitions() {
		s, err := p.c.store(ctx, partition)
		if err != nil {
			return err
		}
		for _, key := range application.OrgSections() {
			all = append(all, taken{s, key})
		}
	}
	var take func(ctx context.Context, rest []taken) error
	take = func(ctx context.Context, rest []taken) error {
		if len(rest) == 0 {
			if err := p.stands(ctx); err != nil {
				return err
			}
			return fn(ctx)
		}
		return storage.RunExclusive(ctx, rest[0].s, rest[0].key, func(ctx context.Context) error { return take(ctx, rest[1:]) })
	}
	return take(ctx, all)
}

// stands refuses to go on by a registry that is no longer the stored one.
func (p *promotion) stands(ctx context.Context) error {
	now, err := p.c.read(ctx, p.registry)
	if err != nil {
		return err
	}
	if now.record != p.stored.record {
		return p.c.moved(ctx, p.stored)
	}
	return nil
}

func (p *promotion) steps(ctx context.Context) (Promoted, error) {
	received, err := p.received(ctx)
	if err != nil {
		return Promoted{}, err
	}
	var outcome orgmerge.Result
	if !received {
		if err := p.freeze(ctx); err != nil {
			return Promoted{}, err
		}
		if outcome, err = p.merge(ctx); err != nil {
			return Promoted{}, p.given(ctx, err)
		}
		if err := p.receive(ctx, outcome); err != nil {
			return Promoted{}, p.given(ctx, err)
		}
	} else if outcome, err = p.arrived(ctx); err != nil {
		return Promoted{}, err
	}
	for _, from := range p.moving.From {
		if err := p.release(ctx, from); err != nil {
			return Promoted{}, err
		}
	}
	if err := p.releaseOthers(ctx); err != nil {
		return Promoted{}, err
	}
	if err := p.designate(ctx, outcome.Counts); err != nil {
		return Promoted{}, err
	}
	return Promoted{Registry: *p.stored.Mesh, To: p.moving.To, From: p.moving.From, Moved: outcome.Counts, Warnings: outcome.Warnings}, nil
}

// given is the error of a move that cannot be: everything is taken back first.
func (p *promotion) given(ctx context.Context, cause error) error {
	var conflict *authz.PromotionConflictError
	var refused *authz.WriteRejectedError
	var none *authz.MeshError
	if errors.As(cause, &conflict) || errors.As(cause, &refused) || errors.As(cause, &none) && none.Code == authz.MeshNoOrgAdministrator {
		if err := p.undo(ctx); err != nil {
			return errors.Join(cause, err)
		}
	}
	return cause
}

// preview merges what stands now, and writes nothing. What has arrived is not merged
// again.
func (p *promotion) preview(ctx context.Context) (Promoted, error) {
	look := p.merge
	if p.begun {
		received, err := p.received(ctx)
		if err != nil {
			return Promoted{}, err
		}
		if received {
			look = p.arrived
		}
	}
	outcome, err := look(ctx)
	return Promoted{Registry: *p.stored.Mesh, To: p.moving.To, From: p.moving.From, Moved: outcome.Counts, Warnings: outcome.Warnings}, err
}
