package directory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// drawn is any entry between Begin and End, over few ids, so that much is told
// twice.
func drawn(t *rapid.T) directory.Entry {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	ids := rapid.SliceOfN(id, 0, 4)
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return directory.Group{ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"", "n", "m"}).Draw(t, "name"), Parents: ids.Draw(t, "parents")}
	case 1:
		return directory.User{UserID: id.Draw(t, "id"), Active: rapid.SampledFrom([]*bool{nil, of(true), of(false)}).Draw(t, "active")}
	case 2:
		return directory.Membership{UserID: id.Draw(t, "id"), Groups: ids.Draw(t, "groups")}
	case 3:
		return directory.ReportingEdge{UserID: id.Draw(t, "id"), ManagerID: id.Draw(t, "manager")}
	case 4:
		return directory.OrgMembership{UserID: id.Draw(t, "id"), Orgs: ids.Draw(t, "orgs")}
	}
	return directory.Warning{Message: "w"}
}

// TestASnapshotIsTheUnionOfItsEntries computes each part of the snapshot from the
// entries of one id alone, in the order told.
func TestASnapshotIsTheUnionOfItsEntries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(drawn), 0, 30).Draw(rt, "entries")
		got, err := directory.Collect(reading(nil, slices.Concat([]directory.Entry{all}, entries, []directory.Entry{done})...), nil)
		if err != nil {
			rt.Fatal(err)
		}
		names, parents := map[string]string{}, map[string][]string{}
		active := map[string]string{}
		groups, orgs, managers := map[string][]string{}, map[string][]string{}, map[string]string{}
		warnings := 0
		twice := func(known bool) {
			if known {
				warnings++
			}
		}
		for _, e := range entries {
			switch e := e.(type) {
			case directory.Group:
				before, known := parents[e.ID]
				twice(known)
				parents[e.ID] = append(before, e.Parents...)
				if names[e.ID] == "" {
					names[e.ID] = e.Name
				}
			case directory.User:
				before, known := active[e.UserID]
				twice(known)
				told := map[bool]string{true: "no", false: ""}[e.Active != nil]
				if e.Active != nil && *e.Active {
					told = "yes"
				}
				active[e.UserID] = max(before, told) // "" < no < yes
			case directory.Membership:
				before, known := groups[e.UserID]
				twice(known)
				groups[e.UserID] = append(before, e.Groups...)
			case directory.OrgMembership:
				before, known := orgs[e.UserID]
				twice(known)
				orgs[e.UserID] = append(before, e.Orgs...)
			case directory.ReportingEdge:
				_, known := managers[e.UserID]
				twice(known)
				if !known {
					managers[e.UserID] = e.ManagerID
				}
			case directory.Warning:
				warnings++
			}
		}
		if len(got.Warnings) != warnings || got.Entries != len(entries)+2 {
			rt.Errorf("%d warnings, want %d; %d entries", len(got.Warnings), warnings, got.Entries)
		}
		s := got.Snapshot
		if diff := cmp.Diff(slices.Sorted(maps.Keys(parents)), idsOf(s.Groups, func(g directory.Group) string { return g.ID })); diff != "" {
			rt.Error(diff)
		}
		for _, g := range s.Groups {
			if g.Name != names[g.ID] || !cmp.Equal(distinct(parents[g.ID]), sorted(g.Parents)) {
				rt.Errorf("%+v", g)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(active)), idsOf(s.Users, func(u directory.User) string { return u.UserID })); diff != "" {
			rt.Error(diff)
		}
		for _, u := range s.Users {
			said := ""
			if u.Active != nil {
				said = map[bool]string{true: "yes", false: "no"}[*u.Active]
			}
			if said != active[u.UserID] {
				rt.Errorf("%s is active %q, want %q", u.UserID, said, active[u.UserID])
			}
		}
		for name, pair := range map[string][2]map[string][]string{"memberships": {groups, s.Memberships}, "orgs": {orgs, s.Orgs}} {
			if len(pair[0]) != len(pair[1]) {
				rt.Errorf("%s: %v, want %v", name, pair[1], pair[0])
			}
			for user, list := range pair[0] {
				if kept, ok := pair[1][user]; !ok || !cmp.Equal(distinct(list), sorted(kept)) {
					rt.Errorf("%s of %s: %v, want %v", name, user, kept, list)
				}
			}
		}
		if diff := cmp.Diff(managers, s.ReportingEdges); diff != "" {
			rt.Error(diff)
		}
	})
}

func idsOf[T any](rows []T, id func(T) string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, id(r))
	}
	return out
}

// sorted keeps repetitions, so that one shows.
func sorted(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}

// FuzzCollect reads entries out of text: whatever comes, a reading is refused as a
// rejected write, or is a snapshot that keeps the limits.
func FuzzCollect(f *testing.F) {
	f.Add("B\nu a\ng b c d\nm a b b\nr a b\no a x\nw hello\nE cursor")
	f.Add("u a\nB\nE")
	f.Add("B users\nu \xff\nE")
	f.Add("B\nm a \x00\n?\nE\nE")
	f.Fuzz(func(t *testing.T, text string) {
		entries, begins := parsed(text)
		got, err := directory.Collect(reading(nil, entries...), nil)
		if err != nil {
			if authz.CodeOf(err) != authz.CodeValidation || !utf8.ValidString(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		_, first := entries[0].(directory.Begin)
		_, last := entries[len(entries)-1].(directory.End)
		if !first || !last || begins != 1 {
			t.Errorf("accepted %q", text)
		}
		s := got.Snapshot
		check := func(ids ...string) {
			for _, id := range ids {
				if id == "" || len(id) > directory.MaxID || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
					t.Errorf("kept the id %q", id)
				}
			}
			if len(distinct(ids)) != len(ids) {
				t.Errorf("kept twice: %q", ids)
			}
		}
		check(idsOf(s.Users, func(u directory.User) string { return u.UserID })...)
		check(idsOf(s.Groups, func(g directory.Group) string { return g.ID })...)
		for user, list := range s.Memberships {
			check(user)
			check(list...)
		}
		for _, g := range s.Groups {
			check(g.Parents...)
		}
	})
}

func parsed(text string) (entries []directory.Entry, begins int) {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Split(line, " ")
		at := func(i int) string {
			if i < len(words) {
				return words[i]
			}
			return ""
		}
		rest := words[min(2, len(words)):]
		switch words[0] {
		case "B":
			begins++
			b := directory.Begin{Datasets: directory.Datasets()}
			for _, d := range words[1:] {
				b.Datasets = []directory.ImporterCapability{directory.ImporterCapability(d)}
			}
			entries = append(entries, b)
		case "E":
			entries = append(entries, directory.End{Cursor: at(1)})
		case "u":
			entries = append(entries, directory.User{UserID: at(1), Active: of(at(2) == "yes")})
		case "g":
			entries = append(entries, directory.Group{ID: at(1), Parents: rest})
		case "m":
			entries = append(entries, directory.Membership{UserID: at(1), Groups: rest})
		case "r":
			entries = append(entries, directory.ReportingEdge{UserID: at(1), ManagerID: at(2)})
		case "o":
			entries = append(entries, directory.OrgMembership{UserID: at(1), Orgs: rest})
		case "w":
			entries = append(entries, directory.Warning{Message: line})
		default:
			entries = append(entries, nil)
		}
	}
	if len(entries) == 0 {
		panic(fmt.Sprintf("no lines in %q", text))
	}
	return entries, begins
}
