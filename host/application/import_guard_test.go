package application_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// tenPeople are ten active people and two inactive ones; the first four are in
// group a, the local one of the first two is local.
func tenPeople(t testing.TB, store storage.Store) {
	t.Helper()
	c := storage.Commit{ID: "people", At: now, Changes: []storage.Change{
		storage.UpsertGroup{Group: authz.Group{ID: "a", Name: "A"}}, storage.UpsertGroup{Group: authz.Group{ID: "local", Name: "L"}}}}
	for i := range 12 {
		u := authz.User{UserID: fmt.Sprintf("p%02d", i), Active: i < 10}
		if i < 4 {
			u.GroupIDs = append(u.GroupIDs, "a")
		}
		if i < 2 {
			u.GroupIDs = append(u.GroupIDs, "local")
		}
		c.Changes = append(c.Changes, storage.UpsertUser{User: u})
	}
	_, err := store.Commit(t.Context(), c)
	must(t, err)
}

func people(n int) (list []directory.User) {
	list = []directory.User{}
	for i := range n {
		list = append(list, directory.User{UserID: fmt.Sprintf("p%02d", i)})
	}
	return list
}

func guarded(most float64, authoritative bool) directory.Options {
	return directory.Options{Authoritative: authoritative, MaxDeactivations: &most}
}

func TestAnImportThatWouldLoseTooManyPeopleChangesNothing(t *testing.T) {
	inactive := func(n int) (list []directory.User) {
		for _, u := range people(n) {
			u.Active = ptr(false)
			list = append(list, u)
		}
		return list
	}
	for _, c := range []struct {
		sentence string
		snapshot directory.Snapshot
		options  directory.Options
		refusal  string // "" when it goes through
	}{
		{"one of ten may go at a tenth", directory.Snapshot{Users: people(9)}, guarded(0.1, true), ""},
		{"two of ten may not", directory.Snapshot{Users: people(8)}, guarded(0.1, true), "make 2 of 10 (20 %) active people inactive, and at most 10 % is allowed"},
		{"told inactive counts as absent does", directory.Snapshot{Users: inactive(2)}, guarded(0.1, false), "2 of 10"},
		{"so does one of each", directory.Snapshot{Users: append(inactive(1), people(9)[1:]...)}, guarded(0.1, true), "2 of 10"},
		{"absence means nothing where it does not", directory.Snapshot{Users: people(1)}, guarded(0, false), ""},
		{"who is inactive already does not count", directory.Snapshot{Users: append(people(10), directory.User{UserID: "p10", Active: ptr(false)})}, guarded(0, true), ""},
		{"nor who comes inactive", directory.Snapshot{Users: append(people(10), directory.User{UserID: "new", Active: ptr(false)})}, guarded(0, true), ""},
		{"a share that binary fractions cannot hold", directory.Snapshot{Users: people(7)}, guarded(0.3, true), ""},
		{"an empty directory is refused whatever the share", directory.Snapshot{Users: people(0)}, guarded(1, true), "no people at all: the import would make all 10"},
		{"but for nobody is lost where absence means nothing", directory.Snapshot{Users: people(0)}, guarded(0, false), ""},
		{"memberships of the directory's groups swept", directory.Snapshot{Groups: []directory.Group{{ID: "a", Name: "A"}}, Memberships: map[string][]string{"p00": {"a", "local"}, "p01": {"a", "local"}, "p02": {"a"}}},
			guarded(0.2, true), "remove 1 of 4 (25 %) memberships in groups of the directory, and at most 20 %"},
		{"memberships that shorter lists take", directory.Snapshot{Memberships: map[string][]string{"p00": {}}}, guarded(0.3, true), "remove 2 of 6 (33.33 %) memberships, and"},
		{"which only an authoritative import is held to", directory.Snapshot{Memberships: map[string][]string{"p00": {}}}, guarded(0.1, false), ""},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			tenPeople(t, store)
			app := newApp(t, application.Options{Store: store})
			before := everything(t, store)
			plan, err := app.PlanImport(t.Context(), c.snapshot, "hr", c.options)
			must(t, err)
			if !strings.Contains(plan.Refusal, c.refusal) || (plan.Refusal == "") != (c.refusal == "") {
				t.Errorf("the plan says %q, want %q", plan.Refusal, c.refusal)
			}
			var heard []authz.Event
			defer app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })()
			_, err = app.ImportDirectory(t.Context(), c.snapshot, "hr", c.options)
			if c.refusal == "" {
				must(t, err)
				return
			}
			if authz.CodeOf(err) != authz.CodeConflict || !strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "confirm") {
				t.Fatalf("%v, want %q", err, c.refusal)
			}
			if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" || len(heard) > 0 {
				t.Errorf("a refused import left something, events %v:\n%s", heard, diff)
			}
			c.options.Confirmed = true
			_, err = app.ImportDirectory(t.Context(), c.snapshot, "hr", c.options)
			must(t, err)
		})
	}
}

func TestAGuardIsAShare(t *testing.T) {
	app := newApp(t, application.Options{})
	for _, share := range []float64{-0.1, 1.01} {
		_, err := app.ImportDirectory(t.Context(), directory.Snapshot{}, "hr", guarded(share, false))
		if authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%v: %v", share, err)
		}
	}
}

// TestAPlanIsWhatHappens: planning changes nothing, the run does what the plan said,
// the rows differ by exactly what it counts, and a second run has nothing to do.
func TestAPlanIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := openStore(t)
		app := newApp(t, application.Options{Store: store})
		_, err := app.ImportDirectory(context.Background(), drawnSnapshot(rt, "first"), "hr", directory.Options{})
		must(t, err)
		next, o := drawnSnapshot(rt, "next"), optionsOf(rapid.Bool().Draw(rt, "authoritative"))
		before := everything(t, store)
		plan, err := app.PlanImport(context.Background(), next, "hr", o)
		must(t, err)
		if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
			rt.Fatalf("planning changed rows:\n%s", diff)
		}
		users, groups := usersOf(t, store), parentsOf(t, store)
		report, err := app.RunImport(context.Background(), next, "hr", o, nil)
		must(t, err)
		if diff := cmp.Diff(plan, report.Plan); diff != "" {
			rt.Fatalf("the run is not its plan:\n%s", diff)
		}
		after := usersOf(t, store)
		var created, lost, back, added, removed, set, cleared int
		for id, u := range after {
			was, known := users[id]
			if !known {
				created++
			}
			lost += btoi(known && was.Active && !u.Active)
			back += btoi(known && !was.Active && u.Active)
			set += btoi(u.ManagerUserID != was.ManagerUserID && u.ManagerUserID != "")
			cleared += btoi(was.ManagerUserID != "" && u.ManagerUserID == "")
			for _, g := range u.GroupIDs {
				added += btoi(!slices.Contains(was.GroupIDs, g))
			}
			for _, g := range was.GroupIDs {
				removed += btoi(!slices.Contains(u.GroupIDs, g))
			}
		}
		got := []int{plan.CreatedPeople.Count, plan.DeactivatedPeople.Count, plan.ReactivatedPeople.Count, plan.AddedMemberships.Count,
			plan.RemovedMemberships.Count, plan.SetReportingEdges.Count, plan.ClearedReportingEdges.Count, plan.CreatedGroups.Count}
		if diff := cmp.Diff([]int{created, lost, back, added, removed, set, cleared, len(parentsOf(t, store)) - len(groups)}, got); diff != "" {
			rt.Fatalf("the plan counts otherwise than the rows differ (-rows +plan):\n%s", diff)
		}
		if n := report.Audit.Entries.Count; report.Audit.At != now || n < 1 || report.Audit.Import == "" {
			rt.Fatalf("audit %+v", report.Audit)
		}
		if plan.SkippedReportingEdges.Count+plan.CondensedGroups.Count > 0 {
			return // rings with what was stored: this run may have taken away what closed them
		}
		stored := usersOf(t, store)
		again, err := app.RunImport(context.Background(), next, "hr", o, nil)
		must(t, err)
		p := again.Plan
		for _, id := range p.DeactivatedPeople.First { // made by a list other than that of the people
			if _, known := users[id]; known || !o.Authoritative {
				rt.Fatalf("a second run deactivated %s", id)
			}
			u := stored[id]
			u.Active = false
			stored[id] = u
		}
		if n := p.CreatedPeople.Count + p.ReactivatedPeople.Count + p.AddedMemberships.Count + p.RemovedMemberships.Count +
			p.SetReportingEdges.Count + p.ClearedReportingEdges.Count + p.CreatedGroups.Count; n > 0 || !cmp.Equal(stored, usersOf(t, store), unexported) {
			rt.Fatalf("a second run found something to do: %+v", p)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func usersOf(t testing.TB, s storage.Store) map[string]authz.User {
	t.Helper()
	found := map[string]authz.User{}
	for _, u := range rows(t, s.ListUsers(context.Background(), storage.UserFilter{}, storage.Page{})) {
		found[u.UserID] = u
	}
	return found
}

// drawnSnapshot is of few people and groups, so that rings and changes are common.
func drawnSnapshot(t *rapid.T, label string) (s directory.Snapshot) {
	person := rapid.Map(rapid.IntRange(0, 5), func(i int) string { return fmt.Sprintf("p%d", i) })
	group := rapid.Map(rapid.IntRange(0, 4), func(i int) string { return fmt.Sprintf("g%d", i) })
	if rapid.Bool().Draw(t, label+" groups") {
		s.Groups = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) directory.Group {
			return directory.Group{ID: group.Draw(t, "id"), Name: "n", Parents: rapid.SliceOfN(group, 0, 2).Draw(t, "parents")}
		}), 0, 5, func(g directory.Group) string { return g.ID }).Draw(t, label+" group list")
	}
	if rapid.Bool().Draw(t, label+" users") {
		s.Users = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) directory.User {
			return directory.User{UserID: person.Draw(t, "id"), Active: rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false)}).Draw(t, "active")}
		}), 0, 6, func(u directory.User) string { return u.UserID }).Draw(t, label+" user list")
	}
	if rapid.Bool().Draw(t, label+" memberships") {
		s.Memberships = rapid.MapOfN(person, rapid.SliceOfN(group, 0, 3), 0, 5).Draw(t, label+" membership lists")
	}
	if rapid.Bool().Draw(t, label+" edges") {
		s.ReportingEdges = rapid.MapOfN(person, person, 0, 5).Draw(t, label+" edge list")
	}
	return s
}

func TestAReadingThatCollectTakesIsASnapshotThatAnImportTakes(t *testing.T) {
	app := newApp(t, application.Options{})
	read := func(yield func(directory.Entry, error) bool) {
		_ = yield(directory.Begin{Datasets: directory.Datasets()}, nil) &&
			yield(directory.Group{ID: strings.Repeat("g", directory.MaxID), Name: strings.Repeat("n", directory.MaxName), Description: strings.Repeat("d", directory.MaxText)}, nil) &&
			yield(directory.User{UserID: strings.Repeat("u", directory.MaxID)}, nil) &&
			yield(directory.Membership{UserID: "u", Groups: []string{strings.Repeat("g", directory.MaxID)}}, nil) &&
			yield(directory.ReportingEdge{UserID: "u", ManagerID: strings.Repeat("m", directory.MaxID)}, nil) &&
			yield(directory.End{}, nil)
	}
	collected, err := directory.Collect(read, nil)
	must(t, err)
	_, err = app.ImportDirectory(t.Context(), collected.Snapshot, "hr", directory.Options{})
	must(t, err)
}
