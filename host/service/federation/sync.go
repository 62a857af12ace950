package federation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Synced is what became of a push at a member. Seq is the position that it has then, Code
// and Message say why it did not take the push.
type Synced struct {
	Application string `json:"application"`
	Applied     bool   `json:"applied"`
	Seq         *int64 `json:"seq,omitempty"`
	DurationMs  *int64 `json:"durationMs,omitempty"`
	Code        string `json:"code,omitempty"`
	Message     string `json:"message,omitempty"`
}

func (s *Synced) failed(e *fault.Error) { s.Code, s.Message = e.Code, e.Message }

func notFederated(mode string) *fault.Error {
	return fault.Cloud("invalid_transition", "an org that is %s has no members to sync", mode).With("from", mode).With("operation", "sync")
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
		return nil, notFederated(o.Mode)
	}
	members, err := f.Applications.Members(ctx, org)
	if err != nil {
		return nil, err
	}
	if application != "" {
		entry, err := f.Applications.Get(ctx, org, application)
		if err != nil {
			return nil, err
		}
		if entry.State != applications.Federated {
			return nil, fault.Cloud("invalid_transition", "an application that is %s does not take sync", entry.State).With("from", entry.State).With("operation", "sync")
		}
		members = slices.DeleteFunc(members, func(m applications.Asked) bool { return m.ID != application })
	}
	if o.Moving != "" {
		return nil, relay.ErrMoving(o.Moving)
	}
	if err := f.mayByHand(ctx, org); err != nil {
		return nil, err
	}
	results, err := f.syncAll(account.WithWork(ctx, nil), org, members) // whose commits are many
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

// SyncDue begins to push to the members that lack something of the org: at once, and
// every 15 minutes over a cap unless it takes something away. It does not wait for them:
// a member that is slow keeps no other from its turn.
func (f *Federation) SyncDue(ctx context.Context, org string) error {
	behind, root, err := f.behind(ctx, org)
	if err != nil {
		return err
	}
	for _, m := range behind {
		f.background("sync/"+org+"/"+m.ID, func(ctx context.Context) error {
			_, _, err := f.syncOne(ctx, org, m, root, f.due(org, root))
			return err
		})
	}
	return nil
}

// due judges whether a member is to be pushed to by itself.
func (f *Federation) due(org string, root *hostedroot.Root) func(context.Context, applications.Synced, authz.Position) (bool, error) {
	return func(ctx context.Context, last applications.Synced, head authz.Position) (bool, error) {
		now := f.Store.Now(ctx)
		switch {
		case last.Position == head:
			return false, nil
		case last.FailedAt > 0 && now-last.FailedAt < retryAfter(last.Failures):
			return false, nil
		case now-last.At >= slowSync:
			return true, nil
		}
		slow, err := f.reached(ctx, org)
		if err != nil || !slow {
			return err == nil, err
		}
		return f.takesAway(ctx, root, last.At)
	}
}

// retryAfter is how long a member that failed is left alone, in milliseconds: a minute at
// most, the longest that a write may be unknown to a member that answers.
func retryAfter(failures int) int64 {
	return min(int64(2000)<<min(failures, 10), 55_000)
}

// behind are the members whose last dataset is not the root's newest; none while the
// org's root is moved.
func (f *Federation) behind(ctx context.Context, org string) ([]applications.Asked, *hostedroot.Root, error) {
	o, err := f.Applications.Org(ctx, org)
	if err != nil || o.Mode != account.ModeFederated || o.Moving != "" {
		return nil, nil, err
	}
	root, err := f.Roots.Of(ctx, org)
	if err != nil {
		return nil, nil, err
	}
	head, err := root.Head(ctx)
	if err != nil {
		return nil, nil, err
	}
	members, err := f.Applications.Members(ctx, org)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]authz.Position{}
	for row, err := range applications.Syncs.All(ctx, f.Store, org) {
		if err != nil {
			return nil, nil, err
		}
		known[row.ID] = row.Value.Position
	}
	return slices.DeleteFunc(members, func(m applications.Asked) bool { return known[m.ID] == head }), root, nil
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

func syncSection(org, app string) string { return "sync:" + org + "/" + app }

// atOnce is how many members are pushed to at the same time by hand.
const atOnce = 8

// syncAll pushes to members, whatever they have.
func (f *Federation) syncAll(ctx context.Context, org string, members []applications.Asked) ([]Synced, error) {
	root, err := f.Roots.Of(ctx, org)
	if err != nil {
		return nil, err
	}
	results, errs := make([]Synced, len(members)), make([]error, len(members))
	room := make(chan struct{}, atOnce)
	var pushing sync.WaitGroup
	for i, m := range members {
		room <- struct{}{}
		pushing.Go(func() {
			defer func() { <-room }()
			results[i], _, errs[i] = f.syncOne(ctx, org, m, root, func(context.Context, applications.Synced, authz.Position) (bool, error) { return true, nil })
		})
	}
	pushing.Wait()
	return results, cmp.Or(errs...)
}

// dataset is what members get, and the position of the root's log that it is at least of.
// Those who want the same one at the same time share it.
func (f *Federation) dataset(ctx context.Context, org string, root *hostedroot.Root) (provider.OrgSnapshot, authz.Position, error) {
	head, err := root.Head(ctx)
	if err != nil {
		return provider.OrgSnapshot{}, head, err
	}
	shared := f.datasets.DoChan(fmt.Sprintf("%s@%s", org, head), func() (any, error) {
		ctx, cancel := context.WithTimeout(f.life, carryTime)
		defer cancel()
		s, err := root.ExportOrgSnapshot(ctx)
		if err != nil {
			return s, refused(err)
		}
		return f.forMembers(ctx, org, s)
	})
	select {
	case done := <-shared:
		s, _ := done.Val.(provider.OrgSnapshot)
		return s, head, done.Err
	case <-ctx.Done():
		return provider.OrgSnapshot{}, head, fault.Storage(ctx.Err())
	}
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

// syncOne pushes to a member when wanted says so, one host at a time, and notes what
// became of it. What the member says is no error here: it keeps enforcing the dataset
// that it has.
func (f *Federation) syncOne(ctx context.Context, org string, m applications.Asked, root *hostedroot.Root,
	wanted func(context.Context, applications.Synced, authz.Position) (bool, error)) (result Synced, pushed bool, err error) {
	result = Synced{Application: m.ID}
	err = f.Store.Exclusive(ctx, syncSection(org, m.ID), func(ctx context.Context) error {
		switch o, err := f.Applications.Org(ctx, org); {
		case err != nil:
			return err
		case o.Moving != "":
			result.failed(relay.ErrMoving(o.Moving))
			return nil
		case o.Mode != account.ModeFederated:
			result.failed(notFederated(o.Mode))
			return nil
		}
		last, _, err := applications.Syncs.Get(ctx, f.Store, org, m.ID)
		if err != nil {
			return err
		}
		head, err := root.Head(ctx)
		if err != nil {
			return err
		}
		if pushed, err = wanted(ctx, last.Value, head); err != nil || !pushed {
			return err
		}
		return f.send(ctx, org, m, root, last, &result)
	})
	return result, pushed, err
}

func (f *Federation) send(ctx context.Context, org string, m applications.Asked, root *hostedroot.Root, last account.Row[applications.Synced], result *Synced) error {
	began, now := time.Now(), f.Store.Now(ctx)
	s, head, err := f.dataset(ctx, org, root)
	if err != nil {
		return err
	}
	failed := f.pushTo(ctx, org, m, s, head)
	next := last.Value
	tx := f.Store.Begin(ctx)
	if failed != nil {
		var told *fault.Error
		if !errors.As(failed, &told) {
			return failed
		}
		result.failed(told)
		next.FailedAt, next.Failures = now, next.Failures+1
	} else {
		took := time.Since(began).Milliseconds()
		result.Applied, result.Seq, result.DurationMs = true, &head.Seq, &took
		next = applications.Synced{Position: head, At: now}
		if err := f.Meters.Add(ctx, tx, org, billing.ReadModelSyncs, m.ID, 1); err != nil {
			return err
		}
	}
	applications.Syncs.Put(tx, org, m.ID, next, last.Version)
	return tx.Commit()
}

// pushTo sends a member the dataset of a position in the root's log.
func (f *Federation) pushTo(ctx context.Context, org string, m applications.Asked, s provider.OrgSnapshot, head authz.Position) error {
	return m.Relay.ApplyOrgSnapshot(ctx, provider.ApplyOrgSnapshotInput{Snapshot: s, Source: sourceSync + org, Authority: new(false), Position: &head.Seq})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
