package application

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounIngestion = "directory ingestion"

	// maxSourceEcho bounds what an audit target keeps of a source.
	maxSourceEcho = 200

	skippedSweep = "authoritative memberships skipped: the snapshot carries no groups, " +
		"so groups of the directory cannot be told from local ones"
)

// importing is one run of ImportDirectory's plan.
type importing struct {
	d        *draft
	snapshot directory.Snapshot
	options  directory.Options
	result   directory.Result
	patches  map[string]*storage.PatchUser
	managed  map[string]bool // groups of the directory, virtual ones included
	removed  int
	cleared  int
}

// ImportDirectory applies what an outside directory knows (contract: application
// §15). Datasets that the snapshot lacks are untouched. A snapshot too large for
// one commit is written in several; running it again after a failure is safe.
func (a *Application) ImportDirectory(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Result, error) {
	prov, err := provenance(authz.ImportProvenance(source))
	if err != nil {
		return directory.Result{}, err
	}
	if err := checkSnapshot(snapshot); err != nil {
		return directory.Result{}, err
	}
	var result directory.Result
	plan := func(ctx context.Context, d *draft) error {
		im := &importing{d: d, snapshot: snapshot, options: o, patches: map[string]*storage.PatchUser{}, managed: map[string]bool{}}
		im.result = directory.Result{Warnings: []string{}, VirtualParents: []directory.VirtualParent{}}
		if err := im.apply(ctx, authz.EchoN(source, maxSourceEcho)); err != nil {
			return err
		}
		result = im.result
		return nil
	}
	err = a.run(ctx, write{op: "importDirectory", prov: prov, gate: nounIngestion,
		sections: []string{sectionGroups, sectionReporting}, plan: plan})
	if err != nil {
		return directory.Result{}, err
	}
	return result, nil
}

func checkSnapshot(in directory.Snapshot) error {
	var s shape
	for _, g := range in.Groups {
		s.id("group id", g.ID)
		s.text("name", g.Name, maxName)
		s.text("description", g.Description, maxText)
		s.ids("parent", g.Parents)
	}
	for _, u := range in.Users {
		s.id("userId", u.UserID)
	}
	for _, user := range slices.Sorted(maps.Keys(in.Memberships)) {
		s.id("userId", user)
		s.ids("group id", in.Memberships[user])
	}
	for _, user := range slices.Sorted(maps.Keys(in.Orgs)) {
		s.id("userId", user)
		s.ids("org id", in.Orgs[user])
	}
	for _, user := range slices.Sorted(maps.Keys(in.ReportingEdges)) {
		s.id("userId", user)
		s.id("managerUserId", in.ReportingEdges[user])
	}
	return s.err
}

func (im *importing) apply(ctx context.Context, source string) error {
	if im.snapshot.Groups != nil {
		if err := im.groups(ctx, source); err != nil {
			return err
		}
	}
	deactivated, err := im.users(ctx)
	if err != nil {
		return err
	}
	if err := im.memberships(ctx); err != nil {
		return err
	}
	for user, orgs := range im.snapshot.Orgs {
		list := distinct(orgs)
		im.patch(user).OrgIDs = &list
	}
	if im.snapshot.ReportingEdges != nil {
		if err := im.reporting(ctx); err != nil {
			return err
		}
	}
	im.writeUsers(deactivated)

	detail := struct {
		Warnings      int   `json:"warnings"`
		Authoritative *bool `json:"authoritative,omitempty"`
		Deactivated   *int  `json:"deactivatedUsers,omitempty"`
		Removed       *int  `json:"removedMemberships,omitempty"`
		Cleared       *int  `json:"clearedReportingEdges,omitempty"`
	}{Warnings: len(im.result.Warnings)}
	if im.options.Authoritative {
		n := len(deactivated)
		im.result.DeactivatedUsers = deactivated
		im.result.RemovedMemberships, im.result.ClearedReportingEdges = &im.removed, &im.cleared
		detail.Authoritative, detail.Deactivated, detail.Removed, detail.Cleared =
			&im.options.Authoritative, &n, &im.removed, &im.cleared
	}
	im.d.audit("directory.import", source, detail)
	im.d.emit(authz.Event{Type: authz.EventAll})
	return nil
}

// patch is what the import changes of one user; a record is created as needed.
func (im *importing) patch(userID string) *storage.PatchUser {
	p := im.patches[userID]
	if p == nil {
		p = &storage.PatchUser{UserID: userID}
		im.patches[userID] = p
	}
	return p
}

// users creates and updates the listed users and returns those that their absence
// deactivates.
func (im *importing) users(ctx context.Context) (deactivated []string, err error) {
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
		return nil, nil
	}
	active := true
	for u, err := range im.d.app.store.ListUsers(ctx, storage.UserFilter{Active: &active}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		if !listed[u.UserID] {
			inactive := false
			im.patch(u.UserID).Active = &inactive
			deactivated = append(deactivated, u.UserID)
		}
	}
	return deactivated, nil
}

func (im *importing) memberships(ctx context.Context) error {
	for user, groups := range im.snapshot.Memberships {
		list := distinct(groups)
		im.patch(user).GroupIDs = &list
	}
	if !im.options.Authoritative || im.snapshot.Memberships == nil {
		return nil
	}
	if len(im.managed) == 0 {
		im.result.Warnings = append(im.result.Warnings, skippedSweep)
		return nil
	}
	for u, err := range im.d.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return err
		}
		if _, listed := im.snapshot.Memberships[u.UserID]; listed {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(u.GroupIDs), func(g string) bool { return im.managed[g] })
		if gone := len(u.GroupIDs) - len(left); gone > 0 {
			im.removed += gone
			im.patch(u.UserID).GroupIDs = &left
		}
	}
	return nil
}

// reporting applies the edges in ascending order of users, each over what is
// stored and applied so far.
func (im *importing) reporting(ctx context.Context) error {
	edges, err := im.d.app.reportingEdges(ctx)
	if err != nil {
		return err
	}
	stored := slices.Sorted(maps.Keys(edges))
	for _, user := range slices.Sorted(maps.Keys(im.snapshot.ReportingEdges)) {
		manager := im.snapshot.ReportingEdges[user]
		if path := edgeCycle(edges, user, manager); path != nil {
			for i := range path {
				path[i] = authz.Echo(path[i])
			}
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

// writeUsers drafts one change for each user, and with it the entry of one that
// was deactivated.
func (im *importing) writeUsers(deactivated []string) {
	gone := make(map[string]bool, len(deactivated))
	for _, u := range deactivated {
		gone[u] = true
	}
	for _, user := range slices.Sorted(maps.Keys(im.patches)) {
		p := im.patches[user]
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

// Bounds of one commit of an import, well below those of storage: each change
// costs more than the text that is counted.
const (
	maxImportChanges = 20_000
	maxImportBytes   = 16 << 20
)

// add drafts a change, in another commit when this one is full. Each commit
// announces itself: caches must not keep what only a later one would bust.
func (im *importing) add(c storage.Change, size int) {
	p := im.d.page()
	if len(p.changes) >= maxImportChanges || p.size+size > maxImportBytes {
		im.d.emit(authz.Event{Type: authz.EventAll})
		im.d.turnPage()
		p = im.d.page()
	}
	p.size += size
	im.d.change(c)
}

// condensedWarning names the groups that were found to be one pool.
func condensedWarning(id string, members []string) string {
	echoed := make([]string, len(members))
	for i, m := range members {
		echoed[i] = authz.Echo(m)
	}
	return fmt.Sprintf("directory cycle condensed: %s collapsed under virtual parent %s (these were effectively one pool)",
		strings.Join(echoed, " ↔ "), authz.Quote(id))
}
