package scim_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/directory"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func TestADirectoryIsReadAsItIs(t *testing.T) {
	server := scimtest.Start(t, small())
	o := options(server)
	o.OrgAttributes = []string{"organization", "department"}
	got, err := read(t.Context(), open(t, o))
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{
		Users:          []directory.User{{UserID: "ann", Active: yes()}, {UserID: "bob", Active: no()}, {UserID: "cyd", Active: yes()}},
		Groups:         []directory.Group{{ID: "all", Name: "Group all", Parents: []string{}}, {ID: "devs", Name: "Group devs", Parents: []string{"all"}}},
		Memberships:    map[string][]string{"ann": {"all"}, "bob": {"devs"}, "cyd": {}},
		ReportingEdges: map[string]string{"bob": "ann"},
		Orgs:           map[string][]string{"ann": {"Acme", "Sales"}, "bob": {"Acme"}, "cyd": {}},
	}
	if diff := cmp.Diff(want, got.Snapshot); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
	for _, w := range []string{`member "nobody" of group "devs"`, `member "ann" of group "devs"`, `manager "gone" of user "cyd"`} {
		if !slices.ContainsFunc(got.Warnings, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("no warning says %q: %q", w, got.Warnings)
		}
	}
	if asked := server.Stats(t); len(asked.Methods) > 0 {
		t.Errorf("the service was asked by %v", asked.Methods)
	}
}

func TestSettingsChooseWhatIsRead(t *testing.T) {
	server := scimtest.Start(t, small())
	t.Run("other ids", func(t *testing.T) {
		o := options(server)
		o.UserID, o.GroupID = "userName", "displayName"
		got, err := read(t.Context(), open(t, o))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{"ann@example.org": {"Group all"}, "bob@example.org": {"Group devs"}, "cyd@example.org": {}}, got.Memberships); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]string{"bob@example.org": "ann@example.org"}, got.ReportingEdges); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("filters", func(t *testing.T) {
		server.Set(t, scimtest.Faults{})
		o := options(server)
		o.UserFilter, o.GroupFilter = `userName sw "a" or active eq false`, `displayName eq "Group devs"`
		got, err := read(t.Context(), open(t, o))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Users) != 2 || len(got.Groups) != 1 || !slices.Equal(got.Memberships["bob"], []string{"devs"}) {
			t.Errorf("%+v", got.Snapshot)
		}
		if asked := server.Stats(t); !slices.Contains(asked.Filters, o.UserFilter) || !slices.Contains(asked.Filters, o.GroupFilter) {
			t.Errorf("filters %q", asked.Filters)
		}
	})
	t.Run("a filter that the service does not take", func(t *testing.T) {
		o := options(server)
		o.UserFilter = `shoeSize gt 44`
		fails(t, open(t, o), true, "Users", "400")
	})
	t.Run("people only", func(t *testing.T) {
		o := options(server)
		o.Groups, o.Manager = false, false
		i := open(t, o)
		got, err := read(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if got.Groups != nil || got.Memberships != nil || got.ReportingEdges != nil || got.Orgs != nil || len(got.Users) != 3 {
			t.Errorf("%+v", got.Snapshot)
		}
		if diff := cmp.Diff([]directory.ImporterCapability{directory.CapUsers}, i.Info().Capabilities); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an attribute that nobody has", func(t *testing.T) {
		o := options(server)
		o.OrgAttributes = []string{"division"}
		fails(t, open(t, o), true, "no user has one of", "division")
	})
}

// company is a large directory, and what it says, worked out from the tables it is
// made of and not from resources.
func company(people, groups int) (scimtest.World, directory.Snapshot) {
	random := rand.New(rand.NewPCG(7, 11))
	var world scimtest.World
	want := directory.Snapshot{Memberships: map[string][]string{}, ReportingEdges: map[string]string{}, Orgs: map[string][]string{}}
	memberOf := map[string]map[string]bool{}
	parents := map[string]map[string]bool{}
	for n := range people {
		id := fmt.Sprintf("u%05d", n)
		active := random.IntN(20) > 0
		more := map[string]any{"organization": fmt.Sprintf("org%d", n%7)}
		if n > 0 && random.IntN(10) > 0 {
			manager := fmt.Sprintf("u%05d", random.IntN(people)) // cycles and all
			more["manager"] = of(manager)
			want.ReportingEdges[id] = manager
		}
		world.Users = append(world.Users, user(id, map[string]any{"active": active, scimtest.Enterprise: more}))
		want.Users = append(want.Users, directory.User{UserID: id, Active: &active})
		want.Orgs[id] = []string{fmt.Sprintf("org%d", n%7)}
		memberOf[id] = map[string]bool{}
	}
	for n := range groups {
		id := fmt.Sprintf("g%04d", n)
		var members []map[string]any
		for range random.IntN(25) {
			u := fmt.Sprintf("u%05d", random.IntN(people))
			members = append(members, map[string]any{"value": u, "type": "User"})
			memberOf[u][id] = true
		}
		for range random.IntN(3) {
			child := fmt.Sprintf("g%04d", random.IntN(groups))
			members = append(members, of(child))
			if parents[child] == nil {
				parents[child] = map[string]bool{}
			}
			parents[child][id] = true
		}
		if n%50 == 0 {
			members = append(members, of(fmt.Sprintf("ghost%d", n)))
		}
		world.Groups = append(world.Groups, group(id, members...))
	}
	for n := range groups {
		id := fmt.Sprintf("g%04d", n)
		want.Groups = append(want.Groups, directory.Group{ID: id, Name: "Group " + id, Parents: slices.Sorted(maps.Keys(parents[id]))})
	}
	for id, in := range memberOf {
		want.Memberships[id] = slices.Sorted(maps.Keys(in))
	}
	return world, want
}

func TestTenThousandPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 10,000 people and 2,000 groups: not with -short")
	}
	t.Parallel()
	world, want := company(10_000, 2_000)
	server := scimtest.Start(t, world)
	o := options(server)
	o.PageSize, o.OrgAttributes = 500, []string{"organization"}
	for _, paging := range []string{"index", "cursor"} {
		server.Set(t, scimtest.Faults{"cursor": paging == "cursor", "every": 7, "status": 429})
		o.Paging, o.MaxRetries = paging, 5
		got, err := read(t.Context(), open(t, o))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Groups {
			got.Groups[i].Parents = sorted(got.Groups[i].Parents)
		}
		for id := range got.Memberships {
			got.Memberships[id] = sorted(got.Memberships[id])
		}
		if !reflect.DeepEqual(want, got.Snapshot) { // a comparison that explains takes seconds
			t.Errorf("%s: want − got +\n%s", paging, cmp.Diff(want, got.Snapshot))
		}
		if len(got.Warnings) != 2_000/50 {
			t.Errorf("%d warnings", len(got.Warnings))
		}
		if asked := server.Stats(t); asked.Throttled == 0 {
			t.Error("the service throttled nothing")
		}
	}
}

// sliceAsSet takes a list that is absent for one that is empty.
func sliceAsSet() cmp.Option {
	return cmp.Transformer("present", func(l []string) string { return strings.Join(l, "\x00") })
}
