package mesh

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// release makes every member but the org partition no org root, before a registry that
// designates one is stored. Whoever judged a write by the record of before is refused
// by storage. It is repeated where it ended in the middle: a member that is no org root
// stays as it is (spec: mesh §2.3).
//
// A call that stood still may come back when others have put another registry. Commits
// in members are not fenced by the registry's section. So a release proves that section
// inside one of the member, and every put takes that of each member which stays an org
// root: what came before it is stale, and what comes after it has no proof.
func (c *Connection) release(ctx context.Context, before, next *authz.Mesh, prov authz.Provenance) error {
	released := func(partition string) bool { return next.Org != nil && partition != next.Org.Partition }
	for _, m := range next.Members {
		if !released(m.Partition) {
			if err := c.overtake(ctx, m.Partition); err != nil {
				return err
			}
		}
	}
	if next.Org != nil && (before == nil || before.Org == nil) {
		if err := c.holdsOrg(ctx, next.Org.Partition); err != nil {
			return err
		}
	}
	for _, m := range next.Members {
		if released(m.Partition) {
			if err := c.releaseMember(ctx, m.Partition, next, prov); err != nil {
				return err
			}
		}
	}
	return nil
}

// overtake takes the section in which a member is released, and gives it back: a release
// under way there is refused by storage from then on.
func (c *Connection) overtake(ctx context.Context, partition string) error {
	s, err := c.store(ctx, partition)
	if err != nil {
		return err
	}
	return storage.RunExclusive(ctx, s, application.SectionAudit, func(context.Context) error { return nil })
}

// proved is a commit of nothing, which storage refuses where another call has taken the
// registry's section.
func (c *Connection) proved(ctx context.Context) error {
	s, err := c.store(ctx, Partition)
	if err != nil {
		return err
	}
	_, err = s.Commit(ctx, storage.Commit{ID: uuid.NewString(), At: c.clock(), Incarnation: s.Info().Incarnation, Fences: storage.Held(ctx, s)})
	return fate("org.authority_released", err)
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

func (c *Connection) releaseMember(ctx context.Context, partition string, next *authz.Mesh, prov authz.Provenance) error {
	s, err := c.store(ctx, partition)
	if err != nil {
		return err
	}
	for range maxRaces {
		held, err := application.ReadAuthority(ctx, s)
		if err != nil || held != nil && !held.OrgRoot {
			return err
		}
		source := fmt.Sprintf("mesh:%d", next.Version)
		change, err := held.Moved(false, fmt.Sprintf("%s%d", releasedUnmoved, next.Version)).Change(next.UpdatedAt)
		if err != nil {
			return err
		}
		raced := false
		err = storage.RunExclusive(ctx, s, application.SectionAudit, func(ctx context.Context) error {
			if err := c.proved(ctx); err != nil {
				return err
			}
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
