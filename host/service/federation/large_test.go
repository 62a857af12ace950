package federation_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// large is an organization of the size that one commit takes.
func large(name string, people, groups, grants int) provider.OrgSnapshot {
	prov := authz.ImportProvenance("large")
	s := provider.OrgSnapshot{GlobalRevokes: []authz.Revoke{}, PendingGlobalRequests: []authz.Request{}, Roles: []authz.Role{{ID: name + "-reader", Name: "Reader", Patterns: []string{name + ".files.read"}}}}
	for i := range groups {
		g := authz.Group{ID: fmt.Sprintf("%s-g%05d", name, i), Name: fmt.Sprintf("%s group %d", name, i), Parents: []string{}}
		if i > 0 {
			g.Parents = []string{fmt.Sprintf("%s-g%05d", name, (i-1)/3)}
		}
		s.Groups = append(s.Groups, g)
	}
	for i := range people {
		u := authz.User{UserID: fmt.Sprintf("u%05d", i), Active: true, GroupIDs: []string{s.Groups[i%groups].ID}, OrgIDs: []string{}}
		if i > 0 {
			u.ManagerUserID = fmt.Sprintf("u%05d", (i-1)/8)
		}
		s.Users = append(s.Users, u)
	}
	for i := range grants {
		s.GlobalGrants = append(s.GlobalGrants, authz.Grant{ID: fmt.Sprintf("%s-%06d", name, i), Subject: authz.SubjectOf(authz.SubjectUser, fmt.Sprintf("u%05d", i%people)),
			RoleID: name + "-reader", Scope: authz.Global, Provenance: prov, CreatedAt: int64(1000 + i)})
	}
	return s
}

// A promotion and a merge of organizations as large as one commit takes, timed. It runs
// with AUTHZ_FULL=1.
func TestALargeOrganization(t *testing.T) {
	if os.Getenv("AUTHZ_FULL") == "" {
		t.Skip("a large organization takes minutes under the race detector: AUTHZ_FULL=1 runs it")
	}
	w := newWorld(t, "docs")
	w.host = w.hostWaiting(federation.Times{Answer: 10 * time.Minute}, time.Minute)
	docs := w.far["docs"]
	must(t, docs.ApplyOrgSnapshot(ctx, provider.ApplyOrgSnapshotInput{Source: "fill", Snapshot: large("docs", 10_000, 2_000, 30_000)}))
	docs.administered(t)
	timed := func(what string, do func() error) {
		t.Helper()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		must(t, do())
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		t.Logf("%s: %s, %d MiB allocated", what, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
	}
	timed("dry run", func() error { _, err := w.federate("docs", federation.Input{DryRun: true}); return err })
	timed("promotion", func() error { _, err := w.federate("docs", federation.Input{}); return err })
	timed("one grant", func() error { w.give(t, "user:new", "docs.admin.read"); return nil })
	timed("its sync", func() error { w.syncDue(t); return nil })
	mail := w.link("mail")
	must(t, mail.ApplyOrgSnapshot(ctx, provider.ApplyOrgSnapshotInput{Source: "fill", Snapshot: large("mail", 5_000, 1_000, 10_000)}))
	mail.administered(t)
	timed("dry run of a merge", func() error { w.settle(t, "mail"); return nil })
	t.Logf("%d conflicts", len(w.settled))
}
