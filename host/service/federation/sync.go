package federation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Synced is what became of a push at a member. Seq is the position that it has then.
type Synced struct {
	Application string `json:"application"`
	Applied     bool   `json:"applied"`
	Seq         *int64 `json:"seq,omitempty"`
	DurationMs  *int64 `json:"durationMs,omitempty"`
	Code        string `json:"code,omitempty"`
}

// Slowed cadences, in milliseconds (spec: hosted-api §16).
const (
	slowSync   = 15 * 60_000
	slowByHand = 60_000
)

// Sync pushes the hosted root's dataset to every member, or to one. a has passed the
// endpoint's gate: invalid_transition, application_not_found, rate_limited.
func (f *Federation) Sync(ctx context.Context, a *service.Access, application string) ([]Synced, error) {
	org := a.Org.ID
	o, err := f.Applications.Org(ctx, org)
	if err != nil {
		return nil, err
	}
	if o.Mode != account.ModeFederated {
		return nil, fault.Cloud("invalid_transition", "an org that is %s has no members to sync", o.Mode).With("from", o.Mode).With("operation", "sync")
	}
	if application != "" {
		entry, err := f.Applications.Get(ctx, org, application)
		if err != nil {
			return nil, err
		}
		if entry.State != applications.Federated {
			return nil, fault.Cloud("invalid_transition", "an application that is %s does not take sync", entry.State).With("from", entry.State).With("operation", "sync")
		}
	}
	if err := f.mayByHand(ctx, org); err != nil {
		return nil, err
	}
	results, err := f.sync(ctx, org, func(id string, _ applications.Synced, _ authz.Position) (bool, error) {
		return application == "" || id == application, nil
	})
	if err != nil {
		return nil, err
	}
	tx := f.Store.Begin(ctx)
	tx.Audit(org, a.Caller.Actor(), "org.sync", cmp.Or(application, org), map[string]any{"results": results})
	return results, tx.Commit()
}

// mayByHand is rate_limited for a second sync within a minute over the cap.
func (f *Federation) mayByHand(ctx context.Context, org string) error {
	reached, err := f.reached(ctx, org)
	if err != nil || !reached {
		return err
	}
	now := f.Store.Now(ctx)
	var newest int64
	for row, err := range applications.Syncs.All(ctx, f.Store, org) {
		if err != nil {
			return err
		}
		newest = max(newest, row.Value.At)
	}
	if wait := newest + slowByHand - now; newest > 0 && wait > 0 {
		return fault.Limited(billing.ReadModelSyncs, min(wait, slowByHand))
	}
	return nil
}

// reached tells whether regular syncs are slowed.
func (f *Federation) reached(ctx context.Context, org string) (bool, error) {
	for _, dimension := range []string{billing.ReadModelSyncs, billing.FederatedApplications} {
		d, err := f.Meters.Read(ctx, org, dimension)
		if err != nil {
			return false, err
		}
		if d.State != billing.Under {
			return true, nil
		}
	}
	return false, nil
}

// SyncDue pushes to the members that lack something of the org: at once, and every 15
// minutes over a cap unless it takes something away.
func (f *Federation) SyncDue(ctx context.Context, org string) error {
	o, err := f.Applications.Org(ctx, org)
	if err != nil || o.Mode != account.ModeFederated || o.Moving != "" {
		return err
	}
	root, err := f.Roots.Of(ctx, org)
	if err != nil {
		return err
	}
	behind, err := f.behind(ctx, org, root)
	if err != nil || len(behind) == 0 {
		return err
	}
	slow, err := f.reached(ctx, org)
	if err != nil {
		return err
	}
	_, err = f.sync(ctx, org, func(_ string, last applications.Synced, head authz.Position) (bool, error) {
		switch {
		case last.Position == head:
			return false, nil
		case last.FailedAt > 0 && f.Store.Now(ctx)-last.FailedAt < retryAfter(last.Failures):
			return false, nil
		case slow && f.Store.Now(ctx)-last.At < slowSync:
			return f.takesAway(ctx, root, last.At)
		}
		return true, nil
	})
	return err
}

// retryAfter is how long a member that failed is left alone, in milliseconds: a minute at
// most, the longest that a write may be unknown to a member that answers.
func retryAfter(failures int) int64 {
	return min(int64(2000)<<min(failures, 10), 55_000)
}

// behind are the members whose last dataset is not the root's newest.
func (f *Federation) behind(ctx context.Context, org string, root *hostedroot.Root) ([]string, error) {
	head, err := root.Head(ctx)
	if err != nil {
		return nil, err
	}
	all, err := f.Applications.All(ctx, org)
	if err != nil {
		return nil, err
	}
	var behind []string
	for _, a := range all {
		if a.State != applications.Federated {
			continue
		}
		last, _, err := applications.Syncs.Get(ctx, f.Store, org, a.ID)
		if err != nil {
			return nil, err
		}
		if last.Value.Position != head {
			behind = append(behind, a.ID)
		}
	}
	return behind, nil
}

// additive are the actions of an org's log that take nothing from anybody.
var additive = map[string]bool{"grant.create": true, "grant.create_bulk": true, "revoke.delete": true, "role.create": true,
	"group.create": true, "group.update": true, "request.submit": true, "request.approved": true, "request.denied": true, "request.cancel": true}

// clockMargin is by how much the clocks of two hosts may differ, in milliseconds.
const clockMargin = 60_000

// takesAway tells whether something was written at the root since an instant that may
// have taken something from somebody. Such a push is never slowed.
func (f *Federation) takesAway(ctx context.Context, root *hostedroot.Root, since int64) (bool, error) {
	from := max(since-clockMargin, 0)
	for e, err := range root.ListAuditEvents(ctx, provider.AuditQuery{From: &from}) {
		if err != nil {
			return false, refused(err)
		}
		if !additive[e.Action] {
			return true, nil
		}
	}
	return false, nil
}

// sync pushes to the members that want says, one host at a time.
func (f *Federation) sync(ctx context.Context, org string, want func(id string, last applications.Synced, head authz.Position) (bool, error)) (results []Synced, err error) {
	results = []Synced{}
	err = f.Store.Exclusive(ctx, syncSection(org), func(ctx context.Context) error {
		o, err := f.Applications.Org(ctx, org)
		if err != nil || o.Mode != account.ModeFederated {
			return err
		}
		if o.Moving != "" {
			return fault.Cloud("org_root_moving", "the org root is being moved: its members are synced when it stands")
		}
		root, err := f.Roots.Of(ctx, org)
		if err != nil {
			return err
		}
		members, err := f.Applications.Members(ctx, org)
		if err != nil {
			return err
		}
		var s *provider.OrgSnapshot // read once somebody wants it
		var head authz.Position
		if head, err = root.Head(ctx); err != nil {
			return err
		}
		for _, m := range members {
			last, _, err := applications.Syncs.Get(ctx, f.Store, org, m.ID)
			if err != nil {
				return err
			}
			wanted, err := want(m.ID, last.Value, head)
			if err != nil {
				return err
			}
			if !wanted {
				continue
			}
			if s == nil {
				if s, head, err = f.dataset(ctx, org, root); err != nil {
					return err
				}
			}
			result, err := f.syncOne(ctx, org, m, *s, head, last)
			if err != nil {
				return err
			}
			results = append(results, result)
		}
		return nil
	})
	return results, err
}

func syncSection(org string) string { return "sync:" + org }

// dataset is what members get, and the position of the root's log that it is at least of.
func (f *Federation) dataset(ctx context.Context, org string, root *hostedroot.Root) (*provider.OrgSnapshot, authz.Position, error) {
	head, err := root.Head(ctx)
	if err != nil {
		return nil, head, err
	}
	s, err := root.ExportOrgSnapshot(ctx)
	if err != nil {
		return nil, head, refused(err)
	}
	s, err = f.forMembers(ctx, org, s)
	return &s, head, err
}

// forMembers is a dataset of the root as members get it: without vocabulary of account
// data, and with everybody who was deleted as somebody with nothing, because a member
// keeps people whom a dataset does not list.
func (f *Federation) forMembers(ctx context.Context, org string, s provider.OrgSnapshot) (provider.OrgSnapshot, error) {
	s.Catalog = nil
	gone := map[string]bool{}
	s.Roles = slices.Clone(s.Roles)
	s.Roles = slices.DeleteFunc(s.Roles, func(r authz.Role) bool {
		if len(r.Patterns) > 0 && !slices.ContainsFunc(r.Patterns, func(p string) bool { return !ofCloud(p) }) {
			gone[r.ID] = true
		}
		return gone[r.ID]
	})
	for i := range s.Roles {
		s.Roles[i].Patterns = slices.DeleteFunc(slices.Clone(s.Roles[i].Patterns), ofCloud)
	}
	s.GlobalGrants = slices.DeleteFunc(slices.Clone(s.GlobalGrants), func(g authz.Grant) bool { return ofCloud(g.Pattern) || gone[g.RoleID] })
	s.GlobalRevokes = slices.DeleteFunc(slices.Clone(s.GlobalRevokes), func(r authz.Revoke) bool { return ofCloud(r.Pattern) })
	listed := make(map[string]bool, len(s.Users))
	for _, u := range s.Users {
		listed[u.UserID] = true
	}
	s.Users = slices.Clone(s.Users)
	for row, err := range applications.Deleted.All(ctx, f.Store, org) {
		if err != nil {
			return s, err
		}
		if id := row.Value.UserID; !listed[id] {
			s.Users = append(s.Users, authz.User{UserID: id, Active: true, GroupIDs: []string{}, OrgIDs: []string{}})
		}
	}
	return s, nil
}

// syncOne pushes to a member and notes what became of it. What the member says is no
// error here: it keeps enforcing the dataset that it has.
func (f *Federation) syncOne(ctx context.Context, org string, m applications.Asked, s provider.OrgSnapshot, head authz.Position, last account.Row[applications.Synced]) (Synced, error) {
	began, now := time.Now(), f.Store.Now(ctx)
	result := Synced{Application: m.ID}
	failed := f.pushTo(ctx, org, m, s, head)
	next := last.Value
	tx := f.Store.Begin(ctx)
	if failed != nil {
		var told *fault.Error
		if !errors.As(failed, &told) {
			return result, failed
		}
		result.Code = told.Code
		next.FailedAt, next.Failures = now, next.Failures+1
	} else {
		took := time.Since(began).Milliseconds()
		result.Applied, result.Seq, result.DurationMs = true, &head.Seq, &took
		next = applications.Synced{Position: head, At: now}
		if err := f.Meters.Add(ctx, tx, org, billing.ReadModelSyncs, m.ID, 1); err != nil {
			return result, err
		}
	}
	applications.Syncs.Put(tx, org, m.ID, next, last.Version)
	if err := tx.Commit(); err != nil && err != error(account.ErrMoved) {
		return result, err
	}
	return result, nil
}

// pushTo sends a member the dataset of a position in the root's log.
func (f *Federation) pushTo(ctx context.Context, org string, m applications.Asked, s provider.OrgSnapshot, head authz.Position) error {
	return m.Relay.ApplyOrgSnapshot(ctx, provider.ApplyOrgSnapshotInput{Snapshot: s, Source: "sync:" + org, Authority: new(false), Position: &head.Seq})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
