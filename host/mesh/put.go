package mesh

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// sectionRegistry is the exclusive section of every change to the registry.
const sectionRegistry = "registry"

// Put is a registry as it shall be (spec: mesh §2.3).
type Put struct {
	Members []authz.MeshMember `json:"members"`
	Edges   []authz.MeshEdge   `json:"edges"`

	// Org names the partition that holds the organization's data already. nil leaves
	// the designation as it is; a designation that stands moves by promotion alone.
	Org *string `json:"org,omitempty"`

	// Expect is the version of the registry that this one replaces, 0 for none; nil
	// replaces whatever stands.
	Expect *int64 `json:"expect,omitempty"`
}

// PutRegistry replaces the registry. It is MeshRegistryInvalid with every issue where
// the rules of a registry are broken, MeshRegistryConflict where another version
// stands or a promotion is under way; nothing is stored then.
//
// Where it designates an org partition, every other member stops being its own org
// root before the registry says so (spec: mesh §2.2, §2.3).
func (c *Connection) PutRegistry(ctx context.Context, in Put, prov authz.Provenance) (authz.Mesh, error) {
	prov, err := prov.Normalize()
	if err != nil {
		return authz.Mesh{}, err
	}
	var next authz.Mesh
	err = c.exclusively(ctx, func(ctx context.Context, s storage.Store) error {
		stored, err := c.read(ctx, s)
		if err != nil {
			return err
		}
		if next, err = c.succeed(stored, in); err != nil {
			return err
		}
		next.UpdatedAt, next.UpdatedBy = c.clock(), prov.Actor()
		if next.Org != nil && next.Org.Since == 0 {
			next.Org.Since = next.UpdatedAt
		}
		if err := c.release(ctx, stored.Mesh, &next, prov); err != nil {
			return err
		}
		return c.putRegistry(ctx, s, stored, &next, "mesh.registry_put", registryID, changed(stored.Mesh, &next))
	})
	if err != nil {
		return authz.Mesh{}, failed("putRegistry", err)
	}
	return next, nil
}

// exclusively runs fn in the section of the registry.
func (c *Connection) exclusively(ctx context.Context, fn func(ctx context.Context, s storage.Store) error) error {
	s, err := c.store(ctx, Partition)
	if err != nil {
		return err
	}
	return storage.RunExclusive(ctx, s, sectionRegistry, func(ctx context.Context) error { return fn(ctx, s) })
}

// succeed is the registry that follows the stored one.
func (c *Connection) succeed(stored *registry, in Put) (authz.Mesh, error) {
	before := stored.Mesh
	if before == nil {
		before = &authz.Mesh{}
	}
	if in.Expect != nil && *in.Expect != before.Version {
		return authz.Mesh{}, &authz.MeshError{Code: authz.MeshRegistryConflict, Expected: in.Expect, Current: &before.Version,
			Message: fmt.Sprintf("the registry is at version %d, not %d: read it and change that", before.Version, *in.Expect)}
	}
	if p := before.Promoting; p != nil {
		return authz.Mesh{}, &authz.MeshError{Code: authz.MeshRegistryConflict, Current: &before.Version,
			Message: "the organization is being moved to " + spell.Quote(p.To) + ": finish or undo that first"}
	}
	next := authz.Mesh{FormatVersion: formatVersion, Version: before.Version + 1, Org: before.Org,
		Members: make([]authz.MeshMember, len(in.Members)), Edges: append([]authz.MeshEdge{}, in.Edges...)}
	for i, m := range in.Members {
		next.Members[i] = authz.MeshMember{Partition: m.Partition, Namespaces: append([]string{}, m.Namespaces...)}
	}
	if in.Org != nil && before.Org == nil {
		next.Org = &authz.OrgDesignation{Partition: *in.Org}
	}
	issues := Check(next.Members, next.Edges, next.Org)
	if in.Org != nil && before.Org != nil && *in.Org != before.Org.Partition {
		issues = append(issues, authz.Issue{Severity: authz.SeverityError, Path: "org.partition",
			Message: spell.Quote(before.Org.Partition) + " holds the organization's data: the designation moves by promotion alone"})
	}
	if len(issues) > 0 {
		return authz.Mesh{}, &authz.MeshError{Code: authz.MeshRegistryInvalid, Issues: issues,
			Message: fmt.Sprintf("the registry is not valid: %s: %s", issues[0].Path, issues[0].Message) + others(len(issues)-1)}
	}
	return next, nil
}

func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " (and one issue more)"
	}
	return fmt.Sprintf(" (and %d issues more)", n)
}

// registryChange is what the audit log keeps of a put.
type registryChange struct {
	Version        int64                 `json:"version"`
	MembersAdded   []string              `json:"membersAdded"`
	MembersRemoved []string              `json:"membersRemoved"`
	EdgesAdded     []string              `json:"edgesAdded"`
	EdgesRemoved   []string              `json:"edgesRemoved"`
	Org            *authz.OrgDesignation `json:"org"`
}

func changed(before, after *authz.Mesh) registryChange {
	if before == nil {
		before = &authz.Mesh{}
	}
	change := registryChange{Version: after.Version, Org: after.Org}
	change.MembersAdded, change.MembersRemoved = compared(memberTexts(before), memberTexts(after))
	change.EdgesAdded, change.EdgesRemoved = compared(edgeTexts(before), edgeTexts(after))
	return change
}

func memberTexts(m *authz.Mesh) map[string]bool {
	texts := map[string]bool{}
	for _, member := range m.Members {
		texts[member.Partition] = true
	}
	return texts
}

func edgeTexts(m *authz.Mesh) map[string]bool {
	texts := map[string]bool{}
	for _, e := range m.Edges {
		texts[e.From+" -> "+e.To+" ("+string(e.Mode)+")"] = true
	}
	return texts
}

func compared(before, after map[string]bool) (added, removed []string) {
	added, removed = []string{}, []string{}
	for text := range after {
		if !before[text] {
			added = append(added, text)
		}
	}
	for text := range before {
		if !after[text] {
			removed = append(removed, text)
		}
	}
	return sorted(added), sorted(removed)
}

// putRegistry commits the registry inside its section. Its log is chained by hashes
// from the first entry on.
func (c *Connection) putRegistry(ctx context.Context, s storage.Store, stored *registry, next *authz.Mesh, action, target string, detail any) error {
	data, err := authz.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the registry: %w", err)
	}
	return c.land(ctx, s, landing{
		changes: []storage.Change{storage.PutRecord{Expect: stored.record, Record: storage.Record{
			Collection: collection, ID: registryID, Data: data, UpdatedAt: next.UpdatedAt}}},
		at: next.UpdatedAt, actor: next.UpdatedBy, action: action, target: target, detail: detail, chained: true,
		stale: func() error { return c.moved(ctx, stored) },
	})
}

// moved is a registry that somebody changed without the section.
func (c *Connection) moved(ctx context.Context, stored *registry) error {
	conflict := &authz.MeshError{Code: authz.MeshRegistryConflict, Message: "the registry changed meanwhile: read it and change that"}
	if now, err := c.Registry(ctx); err == nil && now != nil {
		conflict.Current = &now.Version
	}
	if stored.Mesh != nil {
		conflict.Expected = &stored.Version
	}
	return conflict
}

// landing is one commit of this package: changes, one audit entry where it has an
// action, and the event all.
type landing struct {
	id       string // "" is a new one
	requires []storage.Requirement
	changes  []storage.Change
	at       int64

	actor, action, target string
	detail                any
	chained               bool // whatever the log's newest entry has; false follows it

	stale func() error // what a failed condition means
}

func (c *Connection) land(ctx context.Context, s storage.Store, l landing) error {
	entries, err := c.entries(ctx, s, l)
	if err != nil {
		return err
	}
	if l.id == "" {
		l.id = uuid.NewString()
	}
	commit := storage.Commit{ID: l.id, At: l.at, Incarnation: s.Info().Incarnation, Fences: storage.Held(ctx, s), Requires: l.requires, Changes: l.changes, Audit: entries}
	if s.Info().Capabilities.Has(storage.CapEvents) {
		commit.Events = []authz.Event{{Type: authz.EventAll}}
	}
	_, err = s.Commit(ctx, commit)
	if storage.CodeOf(err) == storage.CodeConflict && l.stale != nil {
		return l.stale()
	}
	return fate(l.action, err)
}

// fate is what became of an action whose commit ended with err.
func fate(action string, err error) error {
	switch code := storage.CodeOf(err); {
	case err == nil:
		return nil
	case code == storage.CodeStaleFence:
		return &authz.UnavailableError{Outcome: authz.OutcomeNotApplied, Cause: err, Message: action + " lost its exclusive section to another writer"}
	case code == storage.CodeUnavailable || code == "":
		return &authz.UnavailableError{Outcome: outcome(err), Cause: err, Message: "storage did not say whether " + action + " was applied"}
	}
	return err
}

// entries is the audit entry of a landing, linked to the log where the log is.
func (c *Connection) entries(ctx context.Context, s storage.Store, l landing) ([]authz.AuditEntry, error) {
	if l.action == "" {
		return nil, nil
	}
	raw, err := authz.Marshal(l.detail)
	if err != nil {
		return nil, fmt.Errorf("encode the detail of %s: %w", l.action, err)
	}
	entries := []authz.AuditEntry{{ID: c.ids(), At: l.at, Actor: l.actor, Action: l.action, Target: l.target, Detail: raw}}
	newest, err := newestAudit(ctx, s)
	if err != nil || !l.chained && (newest == nil || newest.Hash == "") {
		return entries, err
	}
	return authz.LinkHashChain(newest, entries)
}

func outcome(err error) authz.Outcome {
	var e *storage.Error
	if errors.As(err, &e) && e.Outcome == authz.OutcomeNotApplied {
		return authz.OutcomeNotApplied
	}
	return authz.OutcomeUnknown
}

func newestAudit(ctx context.Context, s storage.Store) (*authz.AuditEntry, error) {
	one := int64(1)
	for entry, err := range s.ListAudit(ctx, storage.AuditFilter{Limit: &one}) {
		return &entry, err
	}
	return nil, nil
}
