package apply_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const declared = `
name: team
roles:
  - {id: editor, name: Editor, patterns: ["docs.files.*"]}
  - {id: approver, patterns: [docs.bills.approve], requestable: {prompts: [{id: why, label: Reason}], stages: [{kind: named_approvers, roleId: approver}]}}
groups:
  - {id: writers, name: Writers, parents: [staff]}
  - {id: staff, description: everybody here}
grants:
  - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
  - {subject: "user:u_1", pattern: docs.files.read, expires: 2099-01-31}
  - {subject: everyone, pattern: docs.bills.read}
`

func (a *application) does(text string, prune bool, want string) *apply.Plan {
	a.t.Helper()
	p := a.apply(text, prune)
	if got := lines(p); got != want {
		a.t.Errorf("it did\n%s", got)
	}
	return p
}

func TestWhatIsNamedComesFirst(t *testing.T) {
	a := newApplication(t)
	a.does(declared, false, `+ role editor: docs.files.*
+ role approver: docs.bills.approve
+ group staff
+ group writers: parents staff
+ grant: group:writers role editor at docs.folder:f_1, expires never
+ grant: user:u_1 docs.files.read at *, expires 2099-01-31T00:00:00Z
+ grant: everyone docs.bills.read at *, expires never
`)
	if want := []string{"createRole", "createRole", "createGroup", "createGroup", "createGrants"}; !slices.Equal(a.writes, want) {
		t.Errorf("it wrote %v", a.writes)
	}
}

func TestItTakesAwayBeforeItGives(t *testing.T) {
	a := newApplication(t)
	a.apply(declared, false)
	a.writes = nil
	a.does(`
name: team
roles: [{id: editor, name: Editors, description: they edit, patterns: ["docs.files.*", docs.bills.read]}, {id: approver, patterns: [docs.bills.approve]}]
groups: [{id: writers, name: Writers}, {id: staff, parents: [writers]}]
grants:
  - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
  - {subject: "user:u_1", pattern: docs.files.read, expires: 2098-01-31}
  - {subject: everyone, pattern: docs.bills.read}
`, false, `~ group writers: parents staff → none
~ group staff: parents none → writers
~ role approver: requestable
~ role editor: name; description; patterns docs.files.* → docs.files.*, docs.bills.read
~ group staff: description
~ grant: user:u_1 docs.files.read at *, expires 2099-01-31T00:00:00Z → 2098-01-31T00:00:00Z
`)
	// The edge turns round without a cycle on the way, and the grant is never gone.
	want := []string{"setGroupParents", "updateRole", "updateRole", "updateGroup", "setGroupParents", "createGrants", "deleteGrant"}
	if !slices.Equal(a.writes, want) {
		t.Errorf("it wrote %v", a.writes)
	}

	// Somebody else made the grant that is now declared, and of the roles the last loses.
	a.grant(provider.GrantInput{Subject: "user:u_1", Pattern: "docs.files.read", Scope: "*"}, authz.AdminProvenance("somebody"))
	a.does(`
name: team
roles: [{id: auditor, patterns: [docs.bills.read]}, {id: approver, patterns: [docs.bills.approve, docs.bills.read]}, {id: editor, name: Editors, description: they edit, patterns: ["docs.files.*"]}]
groups: [{id: writers, name: Writers}, {id: staff, parents: [writers]}]
grants:
  - {subject: "user:u_2", pattern: docs.bills.read}
  - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
  - {subject: "user:u_1", pattern: docs.files.read}
  - {subject: everyone, pattern: docs.bills.read}
`, false, `~ role editor: patterns docs.files.*, docs.bills.read → docs.files.*
+ role auditor: docs.bills.read
~ role approver: patterns docs.bills.approve → docs.bills.approve, docs.bills.read
- grant: user:u_1 docs.files.read at *, which is declared with another expiry
+ grant: user:u_2 docs.bills.read at *, expires never
`)
}

func TestPruneDeletesWhatTheFileMadeAndNothingElse(t *testing.T) {
	a := newApplication(t)
	somebody := authz.AdminProvenance("somebody")
	a.roles["manual"] = authz.Role{ID: "manual", Name: "manual"}
	a.apply(declared, false)
	a.apply("name: other\ngrants: [{subject: \"user:u_9\", pattern: docs.bills.read}]\n", false)
	const less = "name: team\ngrants: [{subject: everyone, pattern: docs.bills.read}]\n"
	if p := a.does(less, false, ""); len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "6 roles, groups and grants") || !strings.Contains(p.Warnings[0], "--prune") {
		t.Errorf("it warned %q", p.Warnings)
	}
	a.grant(provider.GrantInput{Subject: "user:u_9", RoleID: "editor", Scope: "*"}, somebody)
	a.grant(provider.GrantInput{Subject: "group:staff", Pattern: "docs.files.read", Scope: "*"}, somebody)
	p := a.does(less, true, `- grant: group:writers role editor at docs.folder:f_1
- grant: user:u_1 docs.files.read at *
- group writers: its memberships go with it
- role approver
`)
	if want := []string{"group staff stays: it has 1 grants that this file did not make", "role editor stays: 1 grants that this file did not make give it"}; !slices.Equal(p.Warnings, want) {
		t.Errorf("it warned %q", p.Warnings)
	}
	in := p.Supposing()
	gone := provider.Supposed{Roles: []provider.SupposedRole{{RoleID: "approver", Patterns: []string{}}}, Groups: []provider.SupposedGroup{{GroupID: "writers", Parents: []string{}}}}
	if len(in.Without) != 2 || !reflect.DeepEqual(in.With, gone) {
		t.Errorf("it supposes %+v", in)
	}

	// A role of the same id that somebody else made is not the file's.
	a.grants = nil
	a.apply("name: team\n", true)
	a.apply(declared, false)
	a.apply("name: team\n", true)
	if err := a.Call(t.Context(), "createRole", map[string]any{"input": map[string]any{"id": "approver", "name": "a"}, "provenance": somebody}, nil); err != nil {
		t.Fatal(err)
	}
	a.does("name: team\n", true, "")
	if len(a.roles) != 2 || len(a.groups) != 0 {
		t.Errorf("left are %v and %v", a.roles, a.groups)
	}
}

// What an application is asked about a plan is every step of it that changes who may.
func TestAPlanSupposesItsSteps(t *testing.T) {
	a := newApplication(t)
	a.apply(declared, false)
	p := a.apply(strings.NewReplacer(`patterns: ["docs.files.*"]`, `patterns: [docs.files.read]`, "parents: [staff]", "parents: []", "name: Editor", "name: Writer").Replace(declared)+
		"  - {subject: \"user:u_2\", role: editor}\n", false)
	want := provider.Supposing{With: provider.Supposed{
		Roles:  []provider.SupposedRole{{RoleID: "editor", Patterns: []string{"docs.files.read"}}},
		Groups: []provider.SupposedGroup{{GroupID: "writers", Parents: []string{}}},
		Grants: []provider.GrantInput{{Subject: "user:u_2", RoleID: "editor", Scope: "*"}}}}
	if got := p.Supposing(); !reflect.DeepEqual(got, want) {
		t.Errorf("it supposes %+v", got)
	}
}

func TestAGroupStaysWithWhatBelongsToIt(t *testing.T) {
	a := newApplication(t)
	a.apply("name: team\ngroups: [{id: top}, {id: middle, parents: [top]}, {id: base, parents: [middle]}]\n", false)
	if err := a.put(authz.Group{ID: "foreign", Name: "foreign", Parents: []string{"base"}}); err != nil {
		t.Fatal(err)
	}
	p := a.does("name: team\n", true, "")
	want := []string{"group top stays: the group middle, which stays, belongs to it", "group middle stays: the group base, which stays, belongs to it",
		"group base stays: the group foreign, which this file did not make, belongs to it"}
	if !slices.Equal(p.Warnings, want) {
		t.Errorf("it warned %q", p.Warnings)
	}
	a.does("name: team\ngroups: [{id: foreign}]\n", true, `- group top: its memberships go with it
- group middle: its memberships go with it
- group base: its memberships go with it
~ group foreign: parents base → none
`)
}

func TestAFileThatNamesWhatIsNowhereIsRefused(t *testing.T) {
	a := newApplication(t)
	a.groups["base"] = authz.Group{ID: "base", Name: "base"}
	a.groups["stored"] = authz.Group{ID: "stored", Name: "stored", Parents: []string{"base"}}
	for text, want := range map[string]string{
		"name: x\nroles: [{id: editor}]\ngrants: [{subject: everyone, role: edior}]\n": `the role "edior" is neither declared nor there. Did you mean "editor"?`,
		"name: x\ngroups: [{id: g, parents: [nowhere]}]\n":                             `group g: its parent "nowhere" is neither declared nor there`,
		"name: x\ngroups: [{id: base, parents: [stored]}]\n":                           "cycle: base → stored → base",
		"name: x\ngroups: [{id: a, parents: [b]}, {id: b, parents: [a]}]\n":            "cycle: a → b → a",
	} {
		if _, err := a.plan(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsOddIsTold(t *testing.T) {
	a := newApplication(t)
	a.grant(provider.GrantInput{Subject: "user:u_1", Pattern: "docs.files.read", Scope: "*"}, authz.AdminProvenance("somebody"))
	p, err := a.plan("name: x\ngrants: [{subject: 'group:nowhere', pattern: docs.files.read}, {subject: 'user:u_1', pattern: docs.files.read, expires: 2099-01-01}, {subject: 'user:u_2', pattern: docs.files.read, expires: 2001-01-01}]\n", false)
	if err != nil || len(p.Changes) != 2 || p.Count("create") != 2 {
		t.Fatalf("%v\n%s", err, lines(p))
	}
	want := []string{"group:nowhere is neither declared nor there: what it is given reaches nobody",
		"user:u_1 docs.files.read at * is also given by grant g0, which this file did not make and which expires never",
		"user:u_2 docs.files.read at * has expired (2001-01-01T00:00:00Z (expired)) and is not made: take it out of the file"}
	if !slices.Equal(p.Warnings, want) {
		t.Errorf("it warned %q", p.Warnings)
	}
}

func TestManyGrantsAreMadeInBatches(t *testing.T) {
	var text strings.Builder
	text.WriteString("name: many\ngrants:\n")
	for i := range apply.GrantBatch + 1 {
		fmt.Fprintf(&text, "  - {subject: 'user:u_%d', pattern: docs.files.read}\n", i)
	}
	a := newApplication(t)
	if p := a.apply(text.String(), false); len(p.Changes) != apply.GrantBatch+1 || !slices.Equal(a.writes, []string{"createGrants", "createGrants"}) {
		t.Errorf("%d changes by %v", len(p.Changes), a.writes)
	}
}

// TestGrantsOfDifferentHomesAreWrittenApart: at the hosted API one write goes to one
// application, and only the scopes that the file names are read.
func TestGrantsOfDifferentHomesAreWrittenApart(t *testing.T) {
	a := newApplication(t)
	f := file(t, `
name: x
grants:
  - {subject: "user:u_1", pattern: docs.files.read, scope: "docs.folder:f_1"}
  - {subject: "user:u_2", pattern: cloud.seats.read}
  - {subject: "user:u_3", pattern: docs.files.read}
`)
	read := func() *apply.Plan {
		s, err := apply.Read(t.Context(), a, f, true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := apply.NewPlan(f, s, "acme", today, false)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := read().Run(t.Context(), a, func(int) {}); err != nil || !slices.Equal(a.writes, []string{"createGrants", "createGrants"}) {
		t.Errorf("it wrote %v, %v", a.writes, err)
	}
	if p := read(); len(p.Changes) > 0 {
		t.Errorf("left to do:\n%s", lines(p))
	}
}

func TestWhatCannotBeGrantedIsFoundBeforeAnythingIsChanged(t *testing.T) {
	for text, want := range map[string]string{
		"roles: [{id: r, patterns: [docs.files.raed]}]":                                                                         "role r: no docs.files.raed",
		"grants: [{subject: everyone, pattern: docs.files.raed}]":                                                               "grant everyone docs.files.raed at *: no docs.files.raed",
		"grants: [{subject: everyone, pattern: docs.bills.read, scope: 'docs.folder:1'}]":                                       "grant everyone docs.bills.read at docs.folder:1: no docs.bills.read",
		"roles: [{id: r, patterns: [docs.bills.read]}]\ngrants: [{subject: everyone, role: r, scope: 'docs.folder:1'}]":         "grant everyone role r at docs.folder:1: no docs.bills.read",
		"roles: [{id: r}]\ngrants: [{subject: everyone, role: r, scope: 'docs.folder:1'}]":                                      "grant everyone role r at docs.folder:1: the role r has no patterns",
		"roles: [{id: r, patterns: [docs.bills.read, docs.a]}]\ngrants: [{subject: everyone, role: r, scope: 'docs.folder:1'}]": "",
		"grants: [{subject: everyone, role: stored, scope: 'docs.folder:1'}]":                                                   "",
	} {
		a := newApplication(t)
		a.roles["stored"] = authz.Role{ID: "stored", Name: "stored", Patterns: []string{"docs.a"}}
		p, err := a.plan("name: x\n"+text, false)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Grantable(t.Context(), a)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || authz.CodeOf(err) != authz.CodeValidation) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if len(a.writes) > 0 {
			t.Errorf("%s: it wrote %v", text, a.writes)
		}
	}
	a := newApplication(t)
	p, err := a.plan("name: x\ngrants: [{subject: everyone, pattern: docs.a, scope: 'docs.folder:1'}, {subject: 'user:u', pattern: docs.a, scope: 'docs.folder:2'}]", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Grantable(t.Context(), a); err != nil || len(a.asked) != 2 {
		t.Errorf("it asked %q, %v", a.asked, err)
	}
}
