package application

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// person is what an import changes of one user; a record is created as needed.
type person struct {
	patch       storage.PatchUser
	deactivated bool // by absence
	removed     int  // memberships, by absence
	cleared     bool // the manager, by absence
}

// readUsers reads every user when their absence, the guard or a report asks for it.
func (im *importing) readUsers(ctx context.Context) error {
	s := &im.snapshot
	absence := im.options.Authoritative && (s.Users != nil || s.Memberships != nil || s.ReportingEdges != nil)
	if !absence && im.options.MaxDeactivations == nil && im.report == nil {
		return nil
	}
	im.stored = map[string]authz.User{}
	for u, err := range im.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return err
		}
		im.stored[u.UserID] = u
	}
	return nil
}

// derive says what becomes of one user, as they are stored; ok is false for nothing.
func (im *importing) derive(id string) (p person, ok bool) {
	was, known := im.stored[id]
	s, sweeps := &im.snapshot, im.options.Authoritative && known
	p.patch.UserID = id
	told, listed := im.told[id]
	switch {
	case listed:
		ok = true
		if told.active != nil {
			active := *told.active
			p.patch.Active = &active
		}
	case sweeps && s.Users != nil && was.Active:
		inactive := false
		p.patch.Active, p.deactivated, ok = &inactive, true, true
	}
	if groups, listed := s.Memberships[id]; listed {
		list := distinct(groups)
		p.patch.GroupIDs, ok = &list, true
	} else if sweeps && s.Memberships != nil && len(im.managed) > 0 {
		groups := distinct(was.GroupIDs)
		left := slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return im.managed[g] })
		if p.removed = len(groups) - len(left); p.removed > 0 {
			p.patch.GroupIDs, ok = &left, true
		}
	}
	if orgs, listed := s.Orgs[id]; listed {
		list := distinct(orgs)
		p.patch.OrgIDs, ok = &list, true
	}
	if manager, listed := s.ReportingEdges[id]; listed {
		if !im.skipped[id] {
			p.patch.ManagerUserID, ok = &manager, true
		}
	} else if sweeps && s.ReportingEdges != nil && was.ManagerUserID != "" {
		none := ""
		p.patch.ManagerUserID, p.cleared, ok = &none, true, true
	}
	return p, ok && !im.changesNothing(&p.patch)
}

// planPeople plans the users after one id.
func (im *importing) planPeople(after string) {
	s := &im.snapshot
	ids := map[string]bool{}
	for id := range im.told {
		ids[id] = true
	}
	for _, lists := range []map[string][]string{s.Memberships, s.Orgs} {
		for id := range lists {
			ids[id] = true
		}
	}
	for id := range s.ReportingEdges {
		ids[id] = true
	}
	if im.options.Authoritative {
		for id := range im.stored {
			ids[id] = true
		}
	}
	im.order = im.order[:im.next]
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if id <= after {
			continue
		}
		delete(im.people, id)
		if p, ok := im.derive(id); ok {
			im.people[id] = p
			im.order = append(im.order, id)
		}
	}
}

// planReporting judges the edges in ascending order of users, each over what is stored
// and what was applied before it.
func (im *importing) planReporting(ctx context.Context) error {
	if im.snapshot.ReportingEdges == nil {
		return nil
	}
	edges, err := im.edges(ctx)
	if err != nil {
		return err
	}
	return im.judgeEdges(ctx, edges, "")
}

// judgeEdges is planReporting for the users after one id.
func (im *importing) judgeEdges(ctx context.Context, edges map[string]string, after string) error {
	ring := rings(edges, im.snapshot.ReportingEdges)
	for _, user := range slices.Sorted(maps.Keys(im.snapshot.ReportingEdges)) {
		if user <= after {
			continue
		}
		if err := ctx.Err(); err != nil { // a ring of everybody takes its time
			return err
		}
		manager := im.snapshot.ReportingEdges[user]
		var path []string
		if n := ring[user]; n > 0 && n == ring[manager] {
			path = edgeCycle(edges, user, manager)
		}
		if path == nil {
			edges[user] = manager
			delete(im.skipped, user)
			continue
		}
		if im.skipped[user] {
			continue // and told
		}
		for i := range path {
			path[i] = spell.Echo(path[i])
		}
		im.skipped[user] = true
		im.skippedEdge(user, manager)
		im.result.Warnings = append(im.result.Warnings,
			"reporting cycle skipped: "+strings.Join(path, " → ")+" — resolve in the directory")
	}
	im.reporting = fenceOf(ctx, im.app.store, sectionReporting)
	return nil
}

// edges are the stored ones.
func (im *importing) edges(ctx context.Context) (map[string]string, error) {
	if im.stored == nil {
		return im.app.reportingEdges(ctx)
	}
	edges := map[string]string{}
	for id, u := range im.stored {
		if u.ManagerUserID != "" {
			edges[id] = u.ManagerUserID
		}
	}
	return edges, nil
}

func fenceOf(ctx context.Context, store storage.Locker, key string) int64 {
	for _, f := range storage.Held(ctx, store) {
		if f.Key == key {
			return f.Fence
		}
	}
	return 0
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

// draftPeople drafts the next people, and with each the entry of one that was
// deactivated, and says who is next then. Unless they were planned inside these very
// sections they are planned again: others had their turn.
func (im *importing) draftPeople(ctx context.Context, d *draft, planned bool) (next int, err error) {
	if !planned {
		if err := im.renew(ctx, d); err != nil {
			return 0, err
		}
	}
	for next = im.next; next < len(im.order); next++ {
		id := im.order[next]
		p, changes := im.people[id]
		if !changes {
			continue
		}
		size := len(id)
		for _, id := range slices.Concat(deref(p.patch.GroupIDs), deref(p.patch.OrgIDs)) {
			size += len(id)
		}
		if !d.fill(p.patch, size) {
			break
		}
		if p.deactivated {
			d.audit("user.deactivate", id, reasonDetail{"authoritative directory import: absent from snapshot"})
		}
	}
	return next, nil
}

// renew plans the people of the next part again, over the rows as they are now, and
// judges the whole by the guard when that made a difference.
func (im *importing) renew(ctx context.Context, d *draft) error {
	after := "" // no id is empty
	if im.next > 0 {
		after = im.order[im.next-1]
	}
	differs := false
	// A fence grows with each holder: when this one is the next, nobody wrote edges.
	fence := fenceOf(ctx, im.app.store, sectionReporting)
	if im.snapshot.ReportingEdges != nil && fence != im.reporting+1 {
		edges, err := im.readAgain(ctx, after)
		if err != nil {
			return err
		}
		if err := im.judgeEdges(ctx, edges, after); err != nil {
			return err
		}
		im.planPeople(after)
		differs = true
	} else {
		im.reporting = fence
		var err error
		if differs, err = im.readPart(ctx, d, after); err != nil {
			return err
		}
	}
	if differs {
		if refusal := im.guard(); refusal != "" {
			return authz.Rejected(authz.CodeConflict, "others changed people while the import was written, and now %s", refusal)
		}
	}
	return nil
}

// readAgain reads the rows of those who are still to be written, and all edges. People who
// came meanwhile and are not in the snapshot are the next import's.
func (im *importing) readAgain(ctx context.Context, after string) (edges map[string]string, err error) {
	if im.stored == nil {
		return im.app.reportingEdges(ctx)
	}
	edges = map[string]string{}
	before := im.stored
	im.stored = make(map[string]authz.User, len(before))
	for id, u := range before {
		if id <= after {
			im.stored[id] = u // as it was: the guard counts what is lost by all parts
		}
	}
	for u, err := range im.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		if u.ManagerUserID != "" {
			edges[u.UserID] = u.ManagerUserID
		}
		if _, known := before[u.UserID]; u.UserID > after && (known || im.names(u.UserID)) {
			im.stored[u.UserID] = u
		}
	}
	return edges, nil
}

// names reports that the snapshot says something of a user.
func (im *importing) names(id string) bool {
	s := &im.snapshot
	_, told := im.told[id]
	_, member := s.Memberships[id]
	_, org := s.Orgs[id]
	_, managed := s.ReportingEdges[id]
	return told || member || org || managed
}

// readPart reads the rows of the people who may fit into the next part, and plans those
// anew that differ.
func (im *importing) readPart(ctx context.Context, d *draft, after string) (differs bool, err error) {
	if im.stored == nil || im.next == len(im.order) {
		return false, nil
	}
	ids := im.order[im.next:min(len(im.order), im.next+d.pace.size)]
	rows := make(map[string]authz.User, len(ids))
	for u, err := range im.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{After: after}) {
		if err != nil {
			return false, err
		}
		if u.UserID > ids[len(ids)-1] {
			break
		}
		rows[u.UserID] = u
	}
	for _, id := range ids {
		before, known := im.stored[id]
		now, found := rows[id]
		if known == found && sameUser(&before, &now) {
			continue
		}
		differs = true
		delete(im.people, id)
		if delete(im.stored, id); found {
			im.stored[id] = now
		}
		if p, ok := im.derive(id); ok {
			im.people[id] = p
		}
	}
	return differs, nil
}
