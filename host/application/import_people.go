package application

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// patch is what the import changes of one user; a record is created as needed.
func (im *importing) patch(userID string) *storage.PatchUser {
	p := im.patches[userID]
	if p == nil {
		p = &storage.PatchUser{UserID: userID}
		im.patches[userID] = p
	}
	return p
}

// readUsers reads every user when their absence, the guard or a report asks for it.
func (im *importing) readUsers(ctx context.Context) error {
	absence := im.options.Authoritative && (im.snapshot.Users != nil || im.snapshot.Memberships != nil)
	if !absence && im.options.MaxDeactivations == nil && im.report == nil {
		return nil
	}
	im.stored = map[string]authz.User{}
	for u, err := range im.d.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return err
		}
		im.stored[u.UserID] = u
	}
	return nil
}

// users creates and updates the listed users and returns those that their absence
// deactivates.
func (im *importing) users() (deactivated []string) {
	listed := make(map[string]bool, len(im.snapshot.Users))
	for _, u := range im.snapshot.Users {
		listed[u.UserID] = true
		p := im.patch(u.UserID)
		if u.Active != nil {
			active := *u.Active
			p.Active = &active
		}
	}
	if !im.options.Authoritative || im.snapshot.Users == nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(im.stored)) {
		if im.stored[id].Active && !listed[id] {
			inactive := false
			im.patch(id).Active = &inactive
			deactivated = append(deactivated, id)
		}
	}
	return deactivated
}

func (im *importing) memberships() {
	for user, groups := range im.snapshot.Memberships {
		list := distinct(groups)
		im.patch(user).GroupIDs = &list
	}
	if !im.options.Authoritative || im.snapshot.Memberships == nil {
		return
	}
	if len(im.managed) == 0 {
		im.result.Warnings = append(im.result.Warnings, skippedSweep)
		return
	}
	for id, u := range im.stored {
		if _, listed := im.snapshot.Memberships[id]; listed {
			continue
		}
		groups := distinct(u.GroupIDs)
		left := slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return im.managed[g] })
		if gone := len(groups) - len(left); gone > 0 {
			im.removed += gone
			im.patch(id).GroupIDs = &left
		}
	}
}

// reporting applies the edges in ascending order of users, each over what is
// stored and applied so far.
func (im *importing) reporting(ctx context.Context) error {
	edges, err := im.edges(ctx)
	if err != nil {
		return err
	}
	stored := slices.Sorted(maps.Keys(edges))
	ring := rings(edges, im.snapshot.ReportingEdges)
	for _, user := range slices.Sorted(maps.Keys(im.snapshot.ReportingEdges)) {
		if err := ctx.Err(); err != nil { // a ring of everybody takes its time
			return err
		}
		manager := im.snapshot.ReportingEdges[user]
		var path []string
		if n := ring[user]; n > 0 && n == ring[manager] {
			path = edgeCycle(edges, user, manager)
		}
		if path != nil {
			for i := range path {
				path[i] = authz.Echo(path[i])
			}
			im.skippedEdge(user, manager)
			im.result.Warnings = append(im.result.Warnings,
				"reporting cycle skipped: "+strings.Join(path, " → ")+" — resolve in the directory")
			continue
		}
		edges[user] = manager
		im.patch(user).ManagerUserID = &manager
	}
	if !im.options.Authoritative {
		return nil
	}
	for _, user := range stored {
		if _, listed := im.snapshot.ReportingEdges[user]; !listed {
			none := ""
			im.patch(user).ManagerUserID = &none
			im.cleared++
		}
	}
	return nil
}

// edges are the stored ones.
func (im *importing) edges(ctx context.Context) (map[string]string, error) {
	if im.stored == nil {
		return im.d.app.reportingEdges(ctx)
	}
	edges := map[string]string{}
	for id, u := range im.stored {
		if u.ManagerUserID != "" {
			edges[id] = u.ManagerUserID
		}
	}
	return edges, nil
}

// rings numbers the users who could be on a cycle of edges, whichever of the stored and
// of the told ones stand, by the cycles that they share: nobody else is looked at, for
// the way up a deep directory is long.
func rings(stored, told map[string]string) map[string]int {
	graph := make(map[string][]string, len(stored)+len(told))
	for _, edges := range []map[string]string{stored, told} {
		for user, manager := range edges {
			graph[user] = append(graph[user], manager)
		}
	}
	ring := map[string]int{}
	for i, members := range cyclicComponents(graph) {
		for _, user := range members {
			ring[user] = i + 1
		}
	}
	return ring
}

// edgeCycle is the way from the user over a new manager back to the user, nil
// when there is none.
func edgeCycle(edges map[string]string, user, manager string) []string {
	path := []string{user}
	seen := map[string]bool{}
	for next := manager; next != "" && !seen[next]; next = edges[next] {
		seen[next] = true
		path = append(path, next)
		if next == user {
			return path
		}
	}
	return nil
}

// changesNothing reports that the row is stored as it would be. Leaving it out is
// the same as having written it before whatever another writer does to it.
func (im *importing) changesNothing(p *storage.PatchUser) bool {
	was, known := im.stored[p.UserID]
	return known &&
		(p.Active == nil || *p.Active == was.Active) &&
		(p.GroupIDs == nil || slices.Equal(*p.GroupIDs, was.GroupIDs)) &&
		(p.OrgIDs == nil || slices.Equal(*p.OrgIDs, was.OrgIDs)) &&
		(p.ManagerUserID == nil || *p.ManagerUserID == was.ManagerUserID)
}

// writeUsers drafts one change for each user who is not as they should be, and with
// it the entry of one that was deactivated.
func (im *importing) writeUsers(deactivated []string) {
	gone := make(map[string]bool, len(deactivated))
	for _, u := range deactivated {
		gone[u] = true
	}
	for _, user := range slices.Sorted(maps.Keys(im.patches)) {
		p := im.patches[user]
		if im.changesNothing(p) {
			continue
		}
		size := len(user)
		for _, id := range slices.Concat(deref(p.GroupIDs), deref(p.OrgIDs)) {
			size += len(id)
		}
		im.add(*p, size)
		if gone[user] {
			im.d.audit("user.deactivate", user, reasonDetail{"authoritative directory import: absent from snapshot"})
		}
	}
}
