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

	stored map[string]authz.User // every user, nil when nobody needs them
	report *directory.Report     // nil when nobody asked for it
}

// ImportDirectory applies what an outside directory knows (contract: application
// §15). Datasets that the snapshot lacks are untouched. A snapshot too large for
// one commit is written in several; running it again after a failure is safe.
func (a *Application) ImportDirectory(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Result, error) {
	report, err := a.importDirectory(ctx, snapshot, source, o, write{op: "importDirectory"}, false)
	return report.Result, err
}

// RunImport is ImportDirectory with a report of what it did. An import that was
// interrupted by another writer and started over reports its last attempt.
func (a *Application) RunImport(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Report, error) {
	return a.importDirectory(ctx, snapshot, source, o, write{op: "importDirectory"}, true)
}

// PlanImport says what ImportDirectory would do now, and changes nothing. What the
// guard would refuse is no error here: the plan says so.
func (a *Application) PlanImport(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Plan, error) {
	report, err := a.importDirectory(ctx, snapshot, source, o, write{op: "planImport", dry: true}, true)
	return report.Plan, err
}

func (a *Application) importDirectory(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options, w write, report bool) (directory.Report, error) {
	prov, err := provenance(authz.ImportProvenance(source))
	if err != nil {
		return directory.Report{}, err
	}
	if err := checkSnapshot(snapshot); err != nil {
		return directory.Report{}, err
	}
	if err := checkGuard(o); err != nil {
		return directory.Report{}, err
	}
	var done directory.Report
	w.prov, w.gate = prov, nounIngestion
	if !w.dry {
		w.sections = []string{sectionGroups, sectionReporting}
	}
	w.plan = func(ctx context.Context, d *draft) error {
		im := &importing{d: d, snapshot: snapshot, options: o, patches: map[string]*storage.PatchUser{}, managed: map[string]bool{}}
		im.result = directory.Result{Warnings: []string{}, VirtualParents: []directory.VirtualParent{}}
		if report {
			im.report = &directory.Report{}
		}
		if err := im.apply(ctx, authz.EchoN(source, maxSourceEcho), w.dry); err != nil {
			return err
		}
		if report {
			done = *im.report
		}
		done.Result = im.result
		return nil
	}
	if err := a.run(ctx, w); err != nil {
		return directory.Report{}, err
	}
	return done, nil
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

// apply drafts everything, or refuses before anything is drafted that lands.
func (im *importing) apply(ctx context.Context, source string, dry bool) error {
	if err := im.newIDs(ctx); err != nil {
		return err
	}
	if err := im.readUsers(ctx); err != nil {
		return err
	}
	if im.snapshot.Groups != nil {
		if err := im.groups(ctx, source); err != nil {
			return err
		}
	}
	deactivated := im.users()
	im.memberships()
	for user, orgs := range im.snapshot.Orgs {
		list := distinct(orgs)
		im.patch(user).OrgIDs = &list
	}
	if im.snapshot.ReportingEdges != nil {
		if err := im.reporting(ctx); err != nil {
			return err
		}
	}
	im.count()
	if refusal := im.guard(); refusal != "" {
		if !dry {
			return authz.Rejected(authz.CodeConflict, "%s", refusal)
		}
		im.report.Plan.Refusal = refusal
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
		im.result.DeactivatedUsers = append([]string{}, deactivated...)
		im.result.RemovedMemberships, im.result.ClearedReportingEdges = &im.removed, &im.cleared
		detail.Authoritative, detail.Deactivated, detail.Removed, detail.Cleared =
			&im.options.Authoritative, &n, &im.removed, &im.cleared
	}
	im.d.audit("directory.import", source, detail)
	im.d.emit(authz.Event{Type: authz.EventAll})
	im.countAudit()
	return nil
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
