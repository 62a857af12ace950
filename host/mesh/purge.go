package mesh

import (
	"context"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxPurged is how many rows one commit of a purge deletes.
const maxPurged = 5_000

// Superseded counts what the own partition still holds of an organization that lives
// elsewhere: rows that nobody reads.
func (c *Connection) Superseded(ctx context.Context) (orgmerge.Counts, error) {
	rows, err := c.superseded(ctx)
	if err != nil {
		return orgmerge.Counts{}, failed("count superseded rows", err)
	}
	return rows.counts, nil
}

// PurgeSupersededOrgData deletes it, in commits of bounded size, each with its audit
// entry; the last one has the counts of all. It is refused with MeshOrgNotDesignated or
// MeshOrgRootMismatch where the own partition is its own org root (spec: mesh §7).
func (c *Connection) PurgeSupersededOrgData(ctx context.Context, prov authz.Provenance) (orgmerge.Counts, error) {
	prov, err := prov.Normalize()
	if err != nil {
		return orgmerge.Counts{}, err
	}
	s, err := c.store(ctx, c.partition)
	if err != nil {
		return orgmerge.Counts{}, err
	}
	var rows supersededRows
	err = storage.RunExclusive(ctx, s, application.SectionAudit, func(ctx context.Context) error {
		if rows, err = c.superseded(ctx); err != nil {
			return err
		}
		for rest := rows.deletions; ; {
			part := rest[:min(len(rest), maxPurged)]
			rest = rest[len(part):]
			l := landing{changes: part, requires: rows.authority, at: c.clock(), stale: c.purgeRaced,
				actor: prov.Actor(), action: "org.superseded_purged", target: c.partition, detail: map[string]int{"rows": len(part)}}
			if len(rest) == 0 {
				l.detail = rows.counts
			}
			if err := c.land(ctx, s, l); err != nil || len(rest) == 0 {
				return err
			}
		}
	})
	if err != nil {
		return orgmerge.Counts{}, failed("purgeSupersededOrgData", err)
	}
	return rows.counts, nil
}

// Unmoved tells whether the own partition holds an organization that a designation
// superseded and that nobody has moved: a promotion would, and a purge loses it.
func (c *Connection) Unmoved(ctx context.Context) (bool, error) {
	s, err := c.store(ctx, c.partition)
	if err != nil {
		return false, err
	}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil {
		return false, failed("read the authority record", err)
	}
	return held != nil && !held.OrgRoot && holdsRows(held), nil
}

func (c *Connection) purgeRaced() error {
	return authz.Rejected(authz.CodeConflict, "the authority of the partition changed meanwhile: look at it again")
}

// supersededRows are what a purge deletes, grants before the revokes that narrow them.
type supersededRows struct {
	counts    orgmerge.Counts
	deletions []storage.Change
	authority []storage.Requirement // what they were judged by
}

func (c *Connection) superseded(ctx context.Context) (rows supersededRows, err error) {
	m, err := c.Registry(ctx)
	switch {
	case err != nil:
		return rows, err
	case m == nil:
		return rows, errNoRegistry()
	case m.Org == nil:
		return rows, &authz.MeshError{Code: authz.MeshOrgNotDesignated, Partition: c.partition,
			Message: "the mesh designates no partition that holds the organization's data: nothing is superseded"}
	case m.Org.Partition == c.partition:
		return rows, &authz.MeshError{Code: authz.MeshOrgRootMismatch, Partition: c.partition, Designated: c.partition,
			Message: c.partition + " holds the organization's data: nothing of it is superseded"}
	}
	s, err := c.store(ctx, c.partition)
	if err != nil {
		return rows, err
	}
	held, err := application.ReadAuthority(ctx, s)
	if err != nil {
		return rows, err
	}
	if held == nil || held.OrgRoot || held.Moving != "" {
		return rows, c.purgeRaced()
	}
	rows.authority = []storage.Requirement{held.Requirement()}
	stored, err := application.ReadOrg(ctx, s)
	if err != nil {
		return rows, err
	}
	rows.counts = orgmerge.CountsOf(stored)
	for _, g := range stored.GlobalGrants {
		rows.deletions = append(rows.deletions, storage.DeleteGrant{ID: g.ID})
	}
	for _, r := range stored.GlobalRevokes {
		rows.deletions = append(rows.deletions, storage.DeleteRevoke{ID: r.ID})
	}
	for _, r := range stored.PendingGlobalRequests {
		rows.deletions = append(rows.deletions, storage.DeleteRequest{ID: r.ID})
	}
	for _, g := range stored.Groups {
		rows.deletions = append(rows.deletions, storage.DeleteGroup{ID: g.ID})
	}
	for _, r := range stored.Roles {
		rows.deletions = append(rows.deletions, storage.DeleteRole{ID: r.ID})
	}
	for _, u := range stored.Users {
		rows.deletions = append(rows.deletions, storage.DeleteUser{UserID: u.UserID})
	}
	return rows, nil
}
