package application

import (
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// count fills the plan of the report from what is about to be drafted.
func (im *importing) count() {
	if im.report == nil {
		return
	}
	p := &im.report.Plan
	for _, u := range im.stored {
		p.Memberships += len(u.GroupIDs)
		if u.Active {
			p.ActivePeople++
		}
	}
	for _, id := range im.order {
		im.countPerson(id)
	}
	for _, v := range im.result.VirtualParents {
		p.CondensedGroups.Add(v)
	}
	for _, w := range im.result.Warnings {
		p.Warnings.Add(w)
	}
}

// countPerson tells one patch apart from what is stored.
func (im *importing) countPerson(id string) {
	p, patch := &im.report.Plan, im.people[id].patch
	was, known := im.stored[id]
	if !known {
		p.CreatedPeople.Add(id)
	}
	if patch.Active != nil && known && *patch.Active != was.Active {
		if *patch.Active {
			p.ReactivatedPeople.Add(id)
		} else {
			p.DeactivatedPeople.Add(id)
		}
	}
	if patch.GroupIDs != nil {
		for _, g := range lacking(*patch.GroupIDs, was.GroupIDs) {
			p.AddedMemberships.Add(directory.MembershipChange{UserID: id, GroupID: g})
		}
		for _, g := range lacking(was.GroupIDs, *patch.GroupIDs) {
			p.RemovedMemberships.Add(directory.MembershipChange{UserID: id, GroupID: g})
		}
	}
	switch m := patch.ManagerUserID; {
	case m == nil || *m == was.ManagerUserID:
	case *m == "":
		p.ClearedReportingEdges.Add(id)
	default:
		p.SetReportingEdges.Add(directory.ReportingEdge{UserID: id, ManagerID: *m})
	}
}

func (im *importing) skippedEdge(user, manager string) {
	if im.report != nil {
		im.report.Plan.SkippedReportingEdges.Add(directory.ReportingEdge{UserID: user, ManagerID: manager})
	}
}

func (im *importing) countGroup(g authz.Group, known bool) {
	if im.report == nil {
		return
	}
	if known {
		im.report.Plan.ChangedGroups.Add(g.ID)
	} else {
		im.report.Plan.CreatedGroups.Add(g.ID)
	}
}

// countAudit notes the entries of a commit that stands.
func (im *importing) countAudit(at int64, entries []authz.AuditEntry) {
	if im.report == nil {
		return
	}
	to := &im.report.Audit
	to.At = at
	for _, e := range entries {
		to.Entries.Add(e.ID)
		to.Import = e.ID
	}
}

// tell says how far the import is.
func (im *importing) tell(p *pace) {
	now := directory.Progress{People: im.next, OfPeople: len(im.order), Commits: p.commits, Failures: p.failed, Failure: p.reason}
	if done := float64(im.next); done > 0 && im.next < len(im.order) {
		now.Left = time.Duration(float64(time.Since(im.began)) * float64(len(im.order)-im.next) / done).Milliseconds()
	}
	if im.watch != nil {
		im.watch(now)
	}
}

// lacking are the elements of list that other does not have.
func lacking(list, other []string) (out []string) {
	if slices.Equal(list, other) {
		return nil
	}
	has := make(map[string]bool, len(other))
	for _, v := range other {
		has[v] = true
	}
	for _, v := range list {
		if !has[v] {
			out = append(out, v)
		}
	}
	return out
}
