package application

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/authzhost/authz/sdk/authz"
)

// New ids hold no control characters. Ids that were stored before this rule stay
// readable, and what deletes, updates or switches them off still takes them.
func checkNewID(field, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return authz.Validation("%s must not contain control characters", field)
	}
	return nil
}

func (s *shape) newID(field, value string) {
	if s.err == nil {
		s.err = checkNewID(field, value)
	}
}

// newUsers judges ids of users, whose records may come into being with the write.
func (d *draft) newUsers(ctx context.Context, field string, ids ...string) error {
	for _, id := range ids {
		refusal := checkNewID(field, id)
		if refusal == nil {
			continue
		}
		if _, stored, err := d.app.store.GetUser(ctx, id); err != nil {
			return err
		} else if !stored {
			return refusal
		}
	}
	return nil
}

func (d *draft) newGroups(ctx context.Context, field string, ids ...string) error {
	for _, id := range ids {
		refusal := checkNewID(field, id)
		if refusal == nil {
			continue
		}
		if _, stored, err := d.app.store.GetGroup(ctx, id); err != nil {
			return err
		} else if !stored {
			return refusal
		}
	}
	return nil
}

// newIDs judges what a directory names: users, groups, and the orgs that a user is
// not in yet.
func (im *importing) newIDs(ctx context.Context) error {
	in, d := im.snapshot, im.d
	for _, g := range in.Groups {
		if err := d.newGroups(ctx, "group id", append([]string{g.ID}, g.Parents...)...); err != nil {
			return err
		}
	}
	for _, u := range in.Users {
		if err := d.newUsers(ctx, "userId", u.UserID); err != nil {
			return err
		}
	}
	for _, user := range slices.Sorted(maps.Keys(in.Memberships)) {
		if err := d.newUsers(ctx, "userId", user); err != nil {
			return err
		}
		if err := d.newGroups(ctx, "group id", in.Memberships[user]...); err != nil {
			return err
		}
	}
	for _, user := range slices.Sorted(maps.Keys(in.ReportingEdges)) {
		if err := d.newUsers(ctx, "userId", user, in.ReportingEdges[user]); err != nil {
			return err
		}
	}
	for _, user := range slices.Sorted(maps.Keys(in.Orgs)) {
		if err := d.newUsers(ctx, "userId", user); err != nil {
			return err
		}
		if err := d.newOrgs(ctx, user, in.Orgs[user]); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) newOrgs(ctx context.Context, user string, orgs []string) error {
	for _, org := range orgs {
		refusal := checkNewID("org id", org)
		if refusal == nil {
			continue
		}
		stored, _, err := d.app.store.GetUser(ctx, user)
		if err != nil {
			return err
		}
		if !slices.Contains(stored.OrgIDs, org) {
			return refusal
		}
	}
	return nil
}
