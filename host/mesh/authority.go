package mesh

import (
	"context"
	"fmt"
	"strings"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// release makes every member but the org partition no org root, before a registry that
// designates one is stored. Whoever judged a write by the record of before is refused
// by storage. It is repeated where it ended in the middle: a member that is no org root
// stays as it is (spec: mesh §2.3).
func (c *Connection) release(ctx context.Context, stored *registry, next *authz.Mesh, prov authz.Provenance) error {
	if next.Org == nil {
		return nil
	}
	if before := stored.Mesh; before == nil || before.Org == nil {
		if err := c.holdsOrg(ctx, next.Org.Partition); err != nil {
			return err
		}
		if err := c.claim(ctx, next.Org.Partition, next.UpdatedAt); err != nil {
			return err
		}
	}
	for _, m := range next.Members {
		if m.Partition == next.Org.Partition {
			continue
		}
		if err := c.releaseMember(ctx, m.Partition, stored, next, prov); err != nil {
			return err
		}
	}
	return nil
}

// holdsOrg refuses a designation of a partition that gave its authority away.
func (c *Connection) holdsOrg(ctx context.Context, partition string) error {
	s, err := c.store(ctx, partition)
	if err != nil {
		return err
	}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil || held == nil || held.OrgRoot {
		return err
	}
	issue := authz.Issue{Severity: authz.SeverityError, Path: "org.partition",
		Message: spell.Quote(partition) + " holds no organization's data: it is a read model of " + spell.Quote(held.Source)}
	return &authz.MeshError{Code: authz.MeshRegistryInvalid, Issues: []authz.Issue{issue}, Message: "the registry is not valid: org.partition: " + issue.Message}
}

// StoredOrgRoot is whether the own partition is recorded as an org root; nil before its
// application was first opened.
func (c *Connection) StoredOrgRoot(ctx context.Context) (*bool, error) {
	s, err := c.store(ctx, c.partition)
	if err != nil {
		return nil, err
	}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil || held == nil {
		return nil, orFailed("read the authority record", err)
	}
	return &held.OrgRoot, nil
}

// claim writes the authority record of a partition that is about to be designated as it
// is. A put that judged an older registry, and stood still since, finds another version of
// the record, and does not release what is designated now.
func (c *Connection) claim(ctx context.Context, partition string, at int64) error {
	s, err := c.store(ctx, partition)
	if err != nil {
		return err
	}
	for range maxRaces {
		held, err := application.ReadAuthority(ctx, s)
		if err != nil {
			return err
		}
		if held == nil {
			held = &application.Authority{OrgRoot: true}
		}
		change, err := held.Change(at)
		if err != nil {
			return err
		}
		raced := false
		err = c.land(ctx, s, landing{changes: []storage.Change{change}, at: at, stale: func() error { raced = true; return nil }})
		if err != nil || !raced {
			return err
		}
	}
	return &authz.MeshError{Code: authz.MeshRegistryConflict, Message: "the authority of " + spell.Quote(partition) + " kept changing meanwhile"}
}

// still refuses to go on from a registry that another put has replaced.
func (c *Connection) still(ctx context.Context, judged *registry) error {
	s, err := c.store(ctx, Partition)
	if err != nil {
		return err
	}
	now, err := c.read(ctx, s)
	if err == nil && now.record != judged.record {
		err = c.moved(ctx, judged)
	}
	return err
}

func (c *Connection) releaseMember(ctx context.Context, partition string, stored *registry, next *authz.Mesh, prov authz.Provenance) error {
	s, err := c.store(ctx, partition)
	if err != nil {
		return err
	}
	for range maxRaces {
		held, err := application.ReadAuthority(ctx, s)
		if err != nil || held != nil && !held.OrgRoot {
			return err
		}
		if err := c.still(ctx, stored); err != nil { // after the record was read: whoever designates the partition writes it first
			return err
		}
		source := fmt.Sprintf("mesh:%d", next.Version)
		change, err := held.Moved(false, fmt.Sprintf("%s%d", releasedUnmoved, next.Version)).Change(next.UpdatedAt)
		if err != nil {
			return err
		}
		raced := false
		err = storage.RunExclusive(ctx, s, application.SectionAudit, func(ctx context.Context) error {
			return c.land(ctx, s, landing{
				changes: []storage.Change{change},
				at:      next.UpdatedAt, actor: actor(c.partition, prov.Actor()), action: "org.authority_released", target: source,
				detail: struct {
					To string `json:"to"`
				}{next.Org.Partition},
				stale: func() error { raced = true; return nil },
			})
		})
		if err != nil || !raced {
			return err
		}
	}
	return &authz.MeshError{Code: authz.MeshRegistryConflict, Message: "the authority of " + spell.Quote(partition) + " kept changing meanwhile"}
}

// releasedUnmoved begins the source of a record whose organization a designation
// superseded and nobody has moved. A promotion that names the member lifts it.
const releasedUnmoved = "registry:"

// holdsRows reports that a partition's organization is its own, or was never moved to
// where another one lives.
func holdsRows(held *application.Authority) bool {
	return held == nil || held.OrgRoot || strings.HasPrefix(held.Source, releasedUnmoved)
}

// maxRaces is how often a condition of a commit may fail before an operation gives up.
const maxRaces = 3

// actor is who is answerable in a partition's audit log for what a neighbour did.
func actor(from, whom string) string { return "mesh:" + from + "/" + whom }
