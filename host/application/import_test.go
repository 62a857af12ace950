package application_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func snapshotOf(text string) (s directory.Snapshot) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	return s
}

func optionsOf(authoritative bool) directory.Options {
	return directory.Options{Authoritative: authoritative}
}

// parentsOf maps every stored group to its parents.
func parentsOf(t testing.TB, s storage.Store) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, g := range rows(t, s.ListGroups(context.Background(), storage.Page{})) {
		found[g.ID] = append([]string{}, g.Parents...)
	}
	return found
}

func TestCondensingOverStoredGroups(t *testing.T) {
	for _, c := range []struct {
		sentence string
		stored   map[string][]string
		snapshot string
		want     map[string][]string
		virtual  []string
	}{
		{"parents outside the cycle pass to the virtual group, edges into it are redirected",
			map[string][]string{"top": nil, "kid": {"a"}},
			`{"groups":[{"id":"a","parents":["b"]},{"id":"b","parents":["a","top"]}]}`,
			map[string][]string{"top": {}, "kid": {"virtual:a+b"}, "a": {"virtual:a+b"}, "b": {"virtual:a+b"}, "virtual:a+b": {"top"}},
			[]string{"virtual:a+b"}},
		{"two cycles, one above the other",
			nil,
			`{"groups":[{"id":"a","parents":["b","c"]},{"id":"b","parents":["a"]},{"id":"c","parents":["d"]},{"id":"d","parents":["c"]}]}`,
			map[string][]string{"a": {"virtual:a+b"}, "b": {"virtual:a+b"}, "c": {"virtual:c+d"}, "d": {"virtual:c+d"}, "virtual:a+b": {"virtual:c+d"}, "virtual:c+d": {}},
			[]string{"virtual:a+b", "virtual:c+d"}},
		{"the same cycle again reuses the virtual group and unites its parents",
			map[string][]string{"a": {"virtual:a+b"}, "b": {"virtual:a+b"}, "virtual:a+b": {"old"}, "old": nil, "new": nil},
			`{"groups":[{"id":"a","parents":["b","new"]},{"id":"b","parents":["a"]}]}`,
			map[string][]string{"a": {"virtual:a+b"}, "b": {"virtual:a+b"}, "virtual:a+b": {"old", "new"}, "old": {}, "new": {}},
			[]string{"virtual:a+b"}},
		{"a reused virtual group whose stored parents lead back is condensed with them",
			map[string][]string{"a": nil, "b": nil, "virtual:a+b": {"p"}, "p": {"a"}},
			`{"groups":[{"id":"a","parents":["b"]},{"id":"b","parents":["a"]}]}`,
			map[string][]string{"a": {"virtual:p+virtual:a+b"}, "b": {"virtual:p+virtual:a+b"},
				"p": {"virtual:p+virtual:a+b"}, "virtual:a+b": {"virtual:p+virtual:a+b"}, "virtual:p+virtual:a+b": {}},
			[]string{"virtual:a+b", "virtual:p+virtual:a+b"}},
		{"a parent that nobody knows is kept as an edge and creates no group",
			nil, `{"groups":[{"id":"a","parents":["ghost","ghost"]}]}`, map[string][]string{"a": {"ghost"}}, nil},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			commit := storage.Commit{ID: "stored", At: now}
			for id, parents := range c.stored {
				commit.Changes = append(commit.Changes, storage.UpsertGroup{Group: authz.Group{ID: id, Name: strings.ToUpper(id), Description: "kept", Parents: parents}})
			}
			_, err := store.Commit(t.Context(), commit)
			must(t, err)
			app := newApp(t, application.Options{Store: store})
			result, err := app.ImportDirectory(t.Context(), snapshotOf(c.snapshot), "hr", optionsOf(false))
			must(t, err)
			got := parentsOf(t, store)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			var virtual []string
			for _, v := range result.VirtualParents {
				virtual = append(virtual, v.ID)
				if g, _, _ := store.GetGroup(t.Context(), v.ID); !g.Virtual {
					t.Errorf("%s is not marked virtual", v.ID)
				}
			}
			if diff := cmp.Diff(c.virtual, virtual); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnImportedGraphIsAcyclicWhateverTheDirectorySays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := openStore(t)
		app := newApp(t, application.Options{Store: store})
		name := rapid.Map(rapid.IntRange(0, 7), func(i int) string { return fmt.Sprintf("g%d", i) })
		for range rapid.IntRange(1, 3).Draw(rt, "imports") {
			groups := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) directory.Group {
				return directory.Group{ID: name.Draw(t, "id"), Parents: rapid.SliceOfN(name, 0, 3).Draw(t, "parents")}
			}), 0, 8).Draw(rt, "groups")
			merged := parentsOf(t, store)
			for _, g := range groups {
				merged[g.ID] = g.Parents
			}
			result, err := app.ImportDirectory(context.Background(), directory.Snapshot{Groups: groups}, "hr", directory.Options{})
			must(t, err)
			graph := parentsOf(t, store)
			condensed := map[string]bool{}
			for _, v := range result.VirtualParents {
				for _, m := range v.Members {
					condensed[m] = true
				}
			}
			for id := range merged {
				for above := range reachable(merged, id) {
					if _, stored := graph[above]; stored && !condensed[above] && !reachable(graph, id)[above] {
						rt.Fatalf("%s was below %s and is no longer: %v became %v", id, above, merged, graph)
					}
				}
			}
			for _, g := range groups {
				if _, ok := graph[g.ID]; !ok {
					rt.Fatalf("%s is missing", g.ID)
				}
			}
			for _, v := range result.VirtualParents {
				for _, m := range v.Members {
					if len(graph[m]) != 1 {
						rt.Fatalf("%s of %s has the parents %v", m, v.ID, graph[m])
					}
				}
			}
			if cyclic(graph) {
				rt.Fatalf("stored a cycle: %v", graph)
			}
		}
	})
}

// reachable are the groups above one, itself only on a cycle.
func reachable(graph map[string][]string, from string) map[string]bool {
	seen := map[string]bool{}
	for open := graph[from]; len(open) > 0; {
		next := open[0]
		open = open[1:]
		if !seen[next] {
			seen[next] = true
			open = append(slices.Clone(open), graph[next]...)
		}
	}
	return seen
}

// cyclic removes groups whose parents are all gone until none is left, or none
// can be removed.
func cyclic(graph map[string][]string) bool {
	for len(graph) > 0 {
		removed := false
		for id, parents := range graph {
			if !slices.ContainsFunc(parents, func(p string) bool { _, there := graph[p]; return there }) {
				delete(graph, id)
				removed = true
			}
		}
		if !removed {
			return true
		}
	}
	return false
}

func TestAnAuthoritativeImportSaysThatItDeactivatedNobody(t *testing.T) {
	app := newApp(t, application.Options{})
	for authoritative, want := range map[bool]string{
		true:  `{"warnings":[],"virtualParents":[],"deactivatedUsers":[],"removedMemberships":0,"clearedReportingEdges":0}`,
		false: `{"warnings":[],"virtualParents":[]}`,
	} {
		result, err := app.ImportDirectory(t.Context(), snapshotOf(`{"users":[{"userId":"u"}]}`), "hr", optionsOf(authoritative))
		must(t, err)
		text, err := json.Marshal(result)
		must(t, err)
		if string(text) != want {
			t.Errorf("authoritative %t: %s", authoritative, text)
		}
	}
}

func TestAnAuthoritativeImportTakesAwayWhatItLeavesOut(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store, IDs: ascending()})
	must(t, app.SetReportingEdge(t.Context(), "member", "boss", root))
	e := observe(t, app, func() error {
		result, err := app.ImportDirectory(t.Context(), snapshotOf(`{"groups":[{"id":"b","name":""}],"users":[{"userId":"new","active":false}],"memberships":{"new":["b","b"]},"reportingEdges":{}}`), "hr", optionsOf(true))
		if diff := cmp.Diff([]string{"boss", "member"}, result.DeactivatedUsers); diff != "" || *result.RemovedMemberships != 1 || *result.ClearedReportingEdges != 1 {
			t.Errorf("%+v", result)
		}
		return err
	})
	want := effects{
		Audit: []string{
			`import:hr directory.import_groups hr {"groups":4,"condensed":0}`,
			`import:hr user.deactivate boss {"reason":"authoritative directory import: absent from snapshot"}`,
			`import:hr user.deactivate member {"reason":"authoritative directory import: absent from snapshot"}`,
			`import:hr directory.import hr {"warnings":0,"authoritative":true,"deactivatedUsers":2,"removedMemberships":1,"clearedReportingEdges":1}`,
		},
		Events: []authz.Event{{Type: authz.EventAll}},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	member, _, err := store.GetUser(t.Context(), "member")
	must(t, err)
	if member.Active || member.ManagerUserID != "" || !slices.Equal(member.GroupIDs, []string{"c"}) {
		t.Errorf("member %+v: local memberships stay", member)
	}
	fresh, _, err := store.GetUser(t.Context(), "new")
	must(t, err)
	if fresh.Active || !slices.Equal(fresh.GroupIDs, []string{"b"}) {
		t.Errorf("new %+v", fresh)
	}
	b, _, err := store.GetGroup(t.Context(), "b")
	must(t, err)
	if b.Name != "B" {
		t.Errorf("an unnamed group lost its name: %+v", b)
	}
}

func TestWithoutDirectoryGroupsTheSweepIsSkipped(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	result, err := app.ImportDirectory(t.Context(), snapshotOf(`{"groups":[],"memberships":{}}`), "hr", optionsOf(true))
	must(t, err)
	if len(result.Warnings) != 1 || !strings.HasPrefix(result.Warnings[0], "authoritative memberships skipped:") {
		t.Errorf("warnings %q", result.Warnings)
	}
}

func TestAnImportTooLargeForOneCommitAnnouncesEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: openStore(t)}
		app := newApp(t, application.Options{Store: f})
		opened := f.commits.Load()
		var s directory.Snapshot
		for i := range 45_000 {
			s.Users = append(s.Users, directory.User{UserID: fmt.Sprintf("u%05d", i)})
		}
		var heard []authz.Event
		app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })
		_, err := app.ImportDirectory(t.Context(), s, "hr", directory.Options{})
		must(t, err)
		commits := int(f.commits.Load() - opened)
		if diff := cmp.Diff(slices.Repeat([]authz.Event{{Type: authz.EventAll}}, commits), heard); diff != "" || commits < 2 {
			t.Errorf("%d commits:\n%s", commits, diff)
		}
		stored := 0
		for _, err := range f.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{}) {
			must(t, err)
			stored++
		}
		if stored != 45_000 {
			t.Errorf("stored %d users", stored)
		}
		if entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{})); len(entries) != 1 {
			t.Errorf("%d audit entries", len(entries))
		}
	})
}

func TestAnImportThatFailsHalfWayDoesNotClaimThatNothingHappened(t *testing.T) {
	store := openStore(t)
	f := &faulty{Store: store}
	down, pages := true, 0
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if len(c.Fences) > 0 {
			if pages++; down && pages > 1 {
				return storage.CommitResult{}, storage.Unavailable(authz.OutcomeNotApplied, nil, driverText)
			}
		}
		return store.Commit(ctx, c)
	}
	app := newApp(t, application.Options{Store: f})
	var s directory.Snapshot
	for i := range 20_001 {
		s.Users = append(s.Users, directory.User{UserID: fmt.Sprintf("u%05d", i)})
	}
	_, err := app.ImportDirectory(t.Context(), s, "hr", directory.Options{})
	isUnavailable(authz.OutcomeUnknown)(t, err)
	if said := err.Error(); pages > 10 || !strings.Contains(said, "failed 4 times in a row") || !strings.Contains(said, "1 commit stand") ||
		strings.Contains(said, driverText) {
		t.Errorf("after %d commits: %s", pages, said)
	}
	down = false
	_, err = app.ImportDirectory(t.Context(), s, "hr", directory.Options{})
	must(t, err)
}
