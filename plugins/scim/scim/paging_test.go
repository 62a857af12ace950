package scim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/scim/scimtest"
)

func people(n int) scimtest.World {
	var w scimtest.World
	for i := range n {
		w.Users = append(w.Users, user(fmt.Sprintf("u%02d", i), nil))
	}
	return w
}

// Every list that the service might tell wrongly is an error, whatever it does to the
// pages: none is taken for the whole.
func TestAListThatCannotBeKnownWholeIsNotTold(t *testing.T) {
	t.Parallel() // most of it waits
	server := scimtest.Start(t, people(9))
	const moved = "could not be read whole in 3 attempts"
	for _, c := range []struct {
		name     string
		faults   scimtest.Faults
		paging   string
		rejected bool
		words    []string
	}{
		{"a total that changes", scimtest.Faults{"totalGrows": true}, "index", false, []string{moved, "totalResults was"}},
		{"a total that is too high", scimtest.Faults{"total": 12}, "index", false, []string{moved, "ends after 9 of 12"}},
		{"a total that is too low", scimtest.Faults{"total": 6}, "index", false, []string{moved, "but there are more"}},
		{"a total that is too low, at the end of a page", scimtest.Faults{"total": 5}, "index", false, []string{moved, "but there are more"}},
		{"the same page for ever", scimtest.Faults{"samePage": true}, "index", false, []string{moved, "begins at 1"}},
		{"pages in fixed steps", scimtest.Faults{"fixedStep": 3}, "index", false, []string{moved}},
		{"a page that lacks a resource", scimtest.Faults{"dropLast": true}, "index", false, []string{moved, "says that it has 3 resources, and has 2"}},
		{"no resources", scimtest.Faults{"empty": true}, "index", false, []string{moved, "ends after 0 of 9"}},
		{"resources that do not move on", scimtest.Faults{"set": `{"id":"same"}`}, "index", false, []string{moved, `"same" is told twice`}},
		{"no total", scimtest.Faults{"body": `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"Resources":[]}`}, "index", true, []string{"totalResults"}},
		{"a negative total", scimtest.Faults{"body": `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":-1}`}, "index", true, []string{"negative"}},
		{"too many", scimtest.Faults{"total": 1_000_000}, "index", true, []string{"max_entries"}},
		{"a cursor that leads back", scimtest.Faults{"cursor": true, "oneCursor": true, "set": nil}, "cursor", false, []string{moved}},
		{"a cursor that ends early", scimtest.Faults{"cursor": true, "total": 12}, "cursor", false, []string{moved, "totalResults is 12"}},
		{"empty pages by cursor", scimtest.Faults{"cursor": true, "oneCursor": true, "empty": true}, "cursor", false, []string{moved, "gave before"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.faults["only"] = "Users"
			server.Set(t, c.faults)
			o := options(server)
			o.Paging, o.PageSize = c.paging, 3
			fails(t, open(t, o), c.rejected, append(c.words, "Users")...)
			if asked := server.Stats(t); asked.Lists > 40 {
				t.Errorf("the service was asked for %d pages", asked.Lists)
			}
		})
	}
}

// A person who goes while the list is read moves those behind to a page that was
// read; another who comes keeps the total. Without the overlap one would be missing.
func TestAListThatMovedIsReadAgain(t *testing.T) {
	server := scimtest.Start(t, people(9))
	server.Set(t, scimtest.Faults{"deleteFirst": true, "only": "Users"})
	o := options(server)
	o.PageSize, o.Groups = 4, false
	got, err := read(t.Context(), open(t, o))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, u := range got.Users {
		ids = append(ids, u.UserID)
	}
	if diff := cmp.Diff([]string{"u01", "u02", "u03", "u04", "u05", "u06", "u07", "u08", "late"}, ids); diff != "" {
		t.Error(diff)
	}
}

// What is empty is more likely trouble than a directory.
func TestAnEmptyDirectoryIsNotTold(t *testing.T) {
	server := scimtest.Start(t, people(2))
	const none = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":null}`
	for _, cursor := range []bool{false, true} {
		server.Set(t, scimtest.Faults{"cursor": cursor, "only": "Users", "body": none})
		fails(t, open(t, options(server)), true, "tells nobody")
		server.Set(t, scimtest.Faults{"cursor": cursor})
		fails(t, open(t, options(server)), true, "tells no group", "groups to false")
	}
}

func TestPagesInFixedStepsCanBeRead(t *testing.T) {
	server := scimtest.Start(t, people(9))
	server.Set(t, scimtest.Faults{"fixedStep": 3})
	o := options(server)
	o.PageSize, o.PageOverlap, o.Groups = 3, false, false
	if got, err := read(t.Context(), open(t, o)); err != nil || len(got.Users) != 9 {
		t.Errorf("%d people, %v", len(got.Users), err)
	}
}

func TestUnchangedPagesAreNotSentAgain(t *testing.T) {
	server := scimtest.Start(t, small())
	i := open(t, options(server))
	server.Set(t, scimtest.Faults{"etags": true})
	first, err := read(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	server.Set(t, scimtest.Faults{"etags": true})
	second, err := read(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Snapshot, second.Snapshot); diff != "" {
		t.Error(diff)
	}
	if asked := server.Stats(t); asked.NotModified == 0 || asked.NotModified != asked.Lists {
		t.Errorf("%d of %d pages were not sent again", asked.NotModified, asked.Lists)
	}
	server.Set(t, scimtest.Faults{"etags": true, "set": `{"active":false}`, "only": "Users"})
	third, err := read(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	if *third.Users[0].Active {
		t.Error("a change was not seen")
	}
}

// A service that says nothing of members must not take everybody out of their groups.
func TestGroupsWithoutMembersThatPeopleContradict(t *testing.T) {
	w := small()
	w.Users[0].Attributes["groups"] = []any{map[string]any{"value": "all", "type": "direct"}}
	server := scimtest.Start(t, w)
	server.Set(t, scimtest.Faults{"only": "Groups", "set": `{"members":null}`})
	fails(t, open(t, options(server)), true, "no group has a member", `"ann"`)
}
