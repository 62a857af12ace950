package application

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
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

// importing is one run of ImportDirectory. It is planned whole and judged whole, then
// written in parts. Groups are written without giving their section up, for half of a
// parent graph may have a cycle that the whole has not. People are written in parts
// between which others have their turn, so each part is planned again over the rows as
// they are then.
type importing struct {
	app      *Application
	snapshot directory.Snapshot
	source   string // as the audit log has it
	prov     authz.Provenance
	options  directory.Options
	dry      bool

	result  directory.Result
	managed map[string]bool // groups of the directory, virtual ones included
	told    map[string]toldUser
	skipped map[string]bool // edges of the snapshot that would close a cycle

	stored map[string]authz.User // every user, nil when nobody needs them
	people map[string]person     // what is to be changed
	report *directory.Report     // nil when nobody asked for it

	d         *draft // of the attempt that the plan was made or renewed in
	life      string // of the content that was planned over
	phase     importPhase
	groups    []storage.UpsertGroup // that are left to be written
	allGroups int                   // in the graph
	order     []string              // people to be written, ascending
	next      int                   // in order: those before stand
	reporting int64                 // the fence of the section when edges were judged

	began time.Time // of the writing
	watch func(directory.Progress)
}

// importPhase is what an import does next.
type importPhase int

const (
	toPlan importPhase = iota
	toWriteGroups
	toWritePeople
	ended
)

// toldUser is a user of the snapshot.
type toldUser struct{ active *bool }

// ImportDirectory applies what an outside directory knows
// (spec: application §15). Datasets that the snapshot lacks are untouched. What
// is too large for one commit is written in several; running it again after a
// failure is safe.
func (a *Application) ImportDirectory(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Result, error) {
	im, err := a.importing(snapshot, source, o)
	if err != nil {
		return directory.Result{}, err
	}
	if err := im.write(ctx); err != nil {
		return directory.Result{}, err
	}
	return im.result, nil
}

// RunImport is ImportDirectory with a report of what it did, and of how far it came
// when it fails. watch, which may be nil, hears how far it is after each commit and each
// failed attempt at one. An import that was interrupted by another writer and started
// over reports its last attempt.
func (a *Application) RunImport(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options,
	watch func(directory.Progress)) (directory.Report, error) {
	im, err := a.importing(snapshot, source, o)
	if err != nil {
		return directory.Report{}, err
	}
	im.report, im.watch = &directory.Report{}, watch
	err = im.write(ctx)
	im.report.Result = im.result
	return *im.report, err
}

// PlanImport says what ImportDirectory would do now, and changes nothing. What the
// guard would refuse is no error here: the plan says so.
func (a *Application) PlanImport(ctx context.Context, snapshot directory.Snapshot, source string, o directory.Options) (directory.Plan, error) {
	im, err := a.importing(snapshot, source, o)
	if err != nil {
		return directory.Plan{}, err
	}
	im.report, im.dry = &directory.Report{}, true
	err = a.run(ctx, write{op: "planImport", prov: im.prov, rootOnly: nounIngestion, dry: true, plan: im.judge})
	return im.report.Plan, err
}

func (a *Application) importing(snapshot directory.Snapshot, source string, o directory.Options) (*importing, error) {
	prov, err := provenance(authz.ImportProvenance(source))
	if err != nil {
		return nil, err
	}
	if err := checkSnapshot(snapshot); err != nil {
		return nil, err
	}
	if err := checkGuard(o); err != nil {
		return nil, err
	}
	im := &importing{app: a, snapshot: snapshot, source: spell.EchoN(source, maxSourceEcho), prov: prov, options: o, told: map[string]toldUser{}}
	for _, u := range snapshot.Users {
		before := im.told[u.UserID]
		if u.Active != nil {
			before.active = u.Active
		}
		im.told[u.UserID] = before
	}
	return im, nil
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

func (im *importing) write(ctx context.Context) error {
	p := im.app.newPace(firstPart)
	p.told = func() { im.tell(p) }
	return im.app.inParts(ctx, write{op: "importDirectory", prov: im.prov, rootOnly: nounIngestion,
		sections: []string{sectionGroups, sectionReporting}, plan: im.part}, p, func() bool { return im.phase == ended })
}

// judge plans the whole import over the rows as they are, or refuses it.
func (im *importing) judge(ctx context.Context, d *draft) error {
	im.d = d
	im.life = d.life
	im.managed, im.people, im.skipped, im.stored = map[string]bool{}, map[string]person{}, map[string]bool{}, nil
	im.groups, im.order, im.next = nil, nil, 0
	im.result = directory.Result{Warnings: []string{}, VirtualParents: []directory.VirtualParent{}}
	if im.report != nil {
		im.report.Plan = directory.Plan{}
	}
	if err := im.newIDs(ctx); err != nil {
		return err
	}
	if err := im.readUsers(ctx); err != nil {
		return err
	}
	if im.snapshot.Groups != nil {
		if err := im.planGroups(ctx); err != nil {
			return err
		}
	}
	if im.options.Authoritative && im.snapshot.Memberships != nil && len(im.managed) == 0 {
		im.result.Warnings = append(im.result.Warnings, skippedSweep)
	}
	if err := im.planReporting(ctx); err != nil {
		return err
	}
	im.planPeople("")
	im.count()
	if refusal := im.guard(); refusal != "" {
		if !im.dry {
			return authz.Rejected(authz.CodeConflict, "%s", refusal)
		}
		im.report.Plan.Refusal = refusal
	}
	im.conclude()
	return nil
}

// part drafts as much as fits into the next commit.
func (im *importing) part(ctx context.Context, d *draft) error {
	planned := im.d == d // inside these very sections
	if im.phase == toPlan || im.phase == toWriteGroups && !planned {
		if err := im.judge(ctx, d); err != nil {
			return err
		}
		planned, im.phase = true, toWriteGroups
		if im.began.IsZero() {
			im.began = time.Now()
		}
	}
	im.d = d
	if d.life != im.life {
		return &authz.UnavailableError{Outcome: authz.OutcomeUnknown, Message: "the content was replaced while the import was written"}
	}
	phase, groups, next := im.phase, 0, im.next
	if phase == toWriteGroups {
		if groups = im.draftGroups(d); groups == len(im.groups) {
			phase = toWritePeople
			if im.snapshot.Groups != nil {
				d.audit("directory.import_groups", im.source, struct {
					Groups    int `json:"groups"`
					Condensed int `json:"condensed"`
				}{im.allGroups, len(im.result.VirtualParents)})
			}
		}
	}
	if phase == toWritePeople {
		var err error
		if next, err = im.draftPeople(ctx, d, planned); err != nil {
			return err
		}
		if next == len(im.order) {
			phase = ended
			im.conclude()
			im.audit(d)
		}
	}
	d.emit(authz.Event{Type: authz.EventAll}) // caches must not keep what only a later part would bust
	d.more = phase == toWriteGroups
	at, audit := d.now, d.page.audit
	d.landed = func() {
		im.phase, im.groups, im.next = phase, im.groups[groups:], next
		im.countAudit(at, audit)
	}
	return nil
}

// conclude counts what absence took away.
func (im *importing) conclude() {
	if !im.options.Authoritative {
		return
	}
	gone, removed, cleared := []string{}, 0, 0
	for _, id := range im.order {
		p := im.people[id]
		if p.deactivated {
			gone = append(gone, id)
		}
		if p.cleared {
			cleared++
		}
		removed += p.removed
	}
	im.result.DeactivatedUsers, im.result.RemovedMemberships, im.result.ClearedReportingEdges = gone, &removed, &cleared
}

func (im *importing) audit(d *draft) {
	detail := struct {
		Warnings      int  `json:"warnings"`
		Authoritative bool `json:"authoritative,omitempty"`
		Deactivated   *int `json:"deactivatedUsers,omitempty"`
		Removed       *int `json:"removedMemberships,omitempty"`
		Cleared       *int `json:"clearedReportingEdges,omitempty"`
	}{Warnings: len(im.result.Warnings), Authoritative: im.options.Authoritative}
	if im.options.Authoritative {
		n := len(im.result.DeactivatedUsers)
		detail.Deactivated, detail.Removed, detail.Cleared = &n, im.result.RemovedMemberships, im.result.ClearedReportingEdges
	}
	d.audit("directory.import", im.source, detail)
}

// draftGroups drafts the first of the groups that are left, and says how many.
func (im *importing) draftGroups(d *draft) (drafted int) {
	for _, row := range im.groups {
		size := len(row.Group.ID) + len(row.Group.Name) + len(row.Group.Description)
		for _, p := range row.Group.Parents {
			size += len(p)
		}
		if !d.fill(row, size) {
			break
		}
		drafted++
	}
	return drafted
}

// condensedWarning names the groups that were found to be one pool.
func condensedWarning(id string, members []string) string {
	echoed := make([]string, len(members))
	for i, m := range members {
		echoed[i] = spell.Echo(m)
	}
	return fmt.Sprintf("directory cycle condensed: %s collapsed under virtual parent %s (these were effectively one pool)",
		strings.Join(echoed, " ↔ "), spell.Quote(id))
}
