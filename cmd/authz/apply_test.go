package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const declaredAccess = `
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

// planned is a plan as JSON.
type planned struct {
	Changes  []struct{ Action, Kind, ID, What, State string }
	Warnings []string
}

func (p planned) lines() string {
	var b strings.Builder
	for _, c := range p.Changes {
		if c.Kind == "grant" {
			c.ID = "" // which is another each time
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", c.State, c.Action, c.Kind, strings.TrimSpace(c.ID+" "+c.What))
	}
	return b.String()
}

// file writes a declaration.
func (s *console) file(text string) string { return s.write("access.yaml", text) }

// apply applies a declaration and returns what became of it.
func (s *console) apply(text string, more ...string) planned {
	s.t.Helper()
	var p planned
	s.read(&p, append([]string{"apply", "-f", s.file(text), "--yes"}, more...)...)
	return p
}

func TestApplyMakesAFileTrueAndThenHasNothingToDo(t *testing.T) {
	s := newConsole(t)
	file := s.file(declaredAccess)
	out, errs, code := s.say("n\n", s.over("socket", []string{"apply", "-f", file})...)
	if code != exitUsage || !strings.Contains(out, "+ role editor: docs.files.*") || !strings.Contains(errs, "Apply these 7 changes to docs?") || !strings.Contains(errs, errDeclined.Error()) {
		t.Fatalf("declined: exit %d\n%s%s", code, out, errs)
	}
	if out, _, code := s.say("", s.over("url", []string{"apply", "-f", file, "--dry-run", "--exit-code"})...); code != exitDenied || !strings.Contains(out, "7 to create, 0 to update, 0 to delete") {
		t.Fatalf("dry run: exit %d\n%s", code, out)
	}
	if roles := s.do("role", "list", "-o", "json"); !strings.Contains(roles, `"roles": []`) {
		t.Fatalf("something was changed:\n%s", roles)
	}
	out, errs, code = s.say("yes\n", s.over("url", []string{"apply", "-f", file})...)
	if code != 0 || !strings.Contains(out, "applied 7 changes") || !strings.Contains(errs, "applied changes: 7") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for range 2 {
		if out := s.do("apply", "-f", file, "--yes", "--prune"); !strings.HasPrefix(out, "nothing to do") {
			t.Errorf("again it said\n%s", out)
		}
	}
	if out := s.do("apply", "-f", file, "--dry-run", "--exit-code"); !strings.HasPrefix(out, "nothing to do") {
		t.Errorf("the dry run said\n%s", out)
	}
	var grants struct{ Grants []authz.Grant }
	s.read(&grants, "grant", "list")
	for _, g := range grants.Grants {
		if g.Provenance != (authz.Provenance{Kind: authz.ProvenanceReconciler, IntegrationID: "apply:team"}) {
			t.Errorf("%+v", g)
		}
	}
	if out := s.do("audit", "list", "--by", "reconciler:apply:team"); !strings.Contains(out, "group.create") {
		t.Errorf("the audit log says\n%s", out)
	}
}

func TestApplyChangesWhatDiffersInASafeOrder(t *testing.T) {
	s := newConsole(t)
	s.apply(declaredAccess)
	before := s.do("grant", "list", "--subject", "user:u_1")
	p := s.apply(`
name: team
roles: [{id: editor, name: Editors, description: they edit, patterns: ["docs.files.*", docs.bills.read]}, {id: approver, patterns: [docs.bills.approve]}]
groups: [{id: writers, name: Writers}, {id: staff, parents: [writers]}]
grants:
  - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
  - {subject: "user:u_1", pattern: docs.files.read, expires: 2098-01-31}
  - {subject: everyone, pattern: docs.bills.read}
`)
	want := `applied update group writers parents staff → none
applied update group staff parents none → writers
applied update role approver requestable
applied update role editor name; description; patterns docs.files.* → docs.files.*, docs.bills.read
applied update group staff description
applied update grant user:u_1 docs.files.read at *, expires 2099-01-31T00:00:00Z → 2098-01-31T00:00:00Z
`
	if p.lines() != want {
		t.Errorf("it did\n%s", p.lines())
	}
	after := s.do("grant", "list", "--subject", "user:u_1")
	if strings.Count(after, "\n") != 2 || !strings.Contains(after, "2098-01-31") || after == before {
		t.Errorf("u_1 has\n%s", after)
	}
	if out := s.do("role", "show", "approver"); strings.Contains(out, "approval") {
		t.Errorf("it can be requested still:\n%s", out)
	}

	// Somebody else made the grant that is now declared, and of the roles the last loses.
	s.do("grant", "create", "user:u_1", "--pattern", "docs.files.read")
	p = s.apply(`
name: team
roles: [{id: auditor, patterns: [docs.bills.read]}, {id: approver, patterns: [docs.bills.approve, docs.bills.read]}, {id: editor, name: Editors, description: they edit, patterns: ["docs.files.*"]}]
groups: [{id: writers, name: Writers}, {id: staff, parents: [writers]}]
grants:
  - {subject: "user:u_2", pattern: docs.bills.read}
  - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
  - {subject: "user:u_1", pattern: docs.files.read}
  - {subject: everyone, pattern: docs.bills.read}
`)
	want = `applied update role editor patterns docs.files.*, docs.bills.read → docs.files.*
applied create role auditor docs.bills.read
applied update role approver patterns docs.bills.approve → docs.bills.approve, docs.bills.read
applied delete grant user:u_1 docs.files.read at *, which is declared with another expiry
applied create grant user:u_2 docs.bills.read at *, expires never
`
	if p.lines() != want {
		t.Errorf("it did\n%s", p.lines())
	}
}

func TestApplyPrunesWhatItMadeAndNothingElse(t *testing.T) {
	s := newConsole(t)
	s.do("role", "create", "manual", "--pattern", "docs.files.read")
	s.apply(declaredAccess)
	s.do("user", "groups", "u_9", "writers")
	s.do("grant", "create", "user:u_9", "--pattern", "docs.files.read")
	other := "name: other\ngrants: [{subject: \"user:u_9\", pattern: docs.bills.read}]\n"
	s.apply(other)
	const less = "name: team\ngrants: [{subject: everyone, pattern: docs.bills.read}]\n"
	p := s.apply(less)
	if len(p.Changes) != 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "--prune") {
		t.Fatalf("without --prune: %+v", p)
	}

	// What others built on stays, and is named.
	s.do("grant", "create", "user:u_9", "--role", "editor")
	s.do("grant", "create", "group:staff", "--pattern", "docs.files.read")
	p = s.apply(less, "--prune")
	if got := p.lines(); got != `applied delete grant group:writers role editor at docs.folder:f_1
applied delete grant user:u_1 docs.files.read at *
applied delete group writers its memberships go with it
applied delete role approver
` {
		t.Errorf("it did\n%s", got)
	}
	said := strings.Join(p.Warnings, "\n")
	if !strings.Contains(said, "role editor stays: 1 grants") || !strings.Contains(said, "group staff stays: it has 1 grants") {
		t.Errorf("it warned\n%s", said)
	}
	if out := s.do("grant", "list"); strings.Contains(out, "group:writers") || !strings.Contains(out, "apply:other") || !strings.Contains(out, "user:u_9") || !strings.Contains(out, "everyone") {
		t.Errorf("left are\n%s", out)
	}
	if out := s.do("role", "list"); !strings.Contains(out, "manual") || !strings.Contains(out, "editor") {
		t.Errorf("left are\n%s", out)
	}

	// A role of the same id that somebody else made is not the file's.
	s.apply(declaredAccess, "--prune")
	s.do("apply", "-f", s.file("name: team\n"), "--prune", "--yes")
	s.do("role", "create", "approver", "--pattern", "docs.bills.read")
	if p := s.apply("name: team\n", "--prune"); len(p.Changes) != 0 {
		t.Errorf("it did\n%s", p.lines())
	}
}

func TestApplyRefusesBeforeItChangesAnything(t *testing.T) {
	s := newConsole(t)
	s.do("group", "create", "stored", "--parent", newGroupIn(s, "base"))
	s.do("grant", "create", "user:u_1", "--pattern", "docs.files.read")
	for name, c := range map[string]struct {
		text string
		code int
		want []string
	}{
		"a misspelt member":                {"name: x\nrole: []\n", exitUsage, []string{`access.yaml:2:1: role: is no member that is known here — did you mean "roles"?`}},
		"no YAML":                          {"name: [\n", exitUsage, []string{"neither JSON nor YAML"}},
		"a second document":                {"name: x\n---\nname: y\n", exitUsage, []string{"more than one YAML document"}},
		"everything at once":               {"roles: [{id: a}, {id: a, patterns: [docs.*.x]}]\ngroups: [{name: x}]\ngrants: [{subject: bob, scope: docs}, {subject: everyone, role: a}, {subject: everyone, role: a, scope: '*'}]\n", exitUsage, []string{"name: give", `roles[1]: id "a" is declared twice`, `roles[1]: pattern "docs.*.x"`, "groups[0]: id is missing", `grants[0]: subject "bob"`, "grants[0]: give exactly one", `grants[0]: scope "docs"`, "grants[2]: says the same as grants[1]"}},
		"a time from now":                  {"name: x\ngrants: [{subject: everyone, pattern: docs.bills.read, expires: 30d}]\n", exitUsage, []string{"30d", "2027-01-31"}},
		"a role that is nowhere":           {"name: x\nroles: [{id: r, patterns: [docs.files.read]}]\ngrants: [{subject: everyone, role: nobody}]\n", exitFailure, []string{`"nobody" is neither declared nor there`}},
		"a parent that is nowhere":         {"name: x\ngroups: [{id: g, parents: [nowhere]}]\n", exitFailure, []string{`"nowhere" is neither`}},
		"a cycle with a stored group":      {"name: x\ngroups: [{id: base, parents: [stored]}]\n", exitFailure, []string{"cycle: base → stored → base"}},
		"a grant that cannot be there":     {"name: x\nroles: [{id: r, patterns: [docs.files.read]}]\ngrants: [{subject: everyone, pattern: docs.bills.read, scope: 'docs.folder:1'}]\n", exitFailure, []string{"not grantable at scope type"}},
		"a role that gives nothing there":  {"name: x\nroles: [{id: r, patterns: [docs.bills.read]}]\ngrants: [{subject: everyone, role: r, scope: 'docs.folder:1'}]\n", exitFailure, []string{"not grantable at scope type"}},
		"a misspelt key everywhere":        {"name: x\nroles: [{id: r, patterns: [docs.files.read]}]\ngrants: [{subject: everyone, pattern: docs.files.raed}]\n", exitFailure, []string{`pattern "docs.files.raed" references nothing`, `did you mean "docs.files.read"`}},
		"a role of a misspelt key":         {"name: x\ngroups: [{id: g}]\nroles: [{id: r, patterns: [docs.files.read, docs.bils.read]}]\n", exitFailure, []string{`role r: pattern "docs.bils.read" references nothing`}},
		"standard input without an answer": {"-", exitUsage, []string{"--yes or --dry-run"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() {
				if groups := s.do("group", "list"); strings.Contains(groups, "\ng ") {
					t.Errorf("something was changed:\n%s", groups)
				}
			})
			file := "-"
			args := []string{"apply", "-f", "-"}
			if c.text != "-" {
				file = s.file(c.text)
				args = []string{"apply", "-f", file, "--yes"}
			}
			out, errs, code := s.say("", s.over("socket", args)...)
			if code != c.code {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}
		})
	}
	if out := s.do("role", "list", "-o", "json"); !strings.Contains(out, `"roles": []`) {
		t.Errorf("something was changed:\n%s", out)
	}

	// Over the network the write itself refuses; again it would be refused again.
	misspelt := s.file("name: x\ngrants: [{subject: everyone, pattern: docs.files.raed}]\n")
	_, errs, code := s.say("", s.over("url", []string{"apply", "-f", misspelt, "--yes"})...)
	if code != exitFailure || !strings.Contains(errs, "0 of 1 changes were applied") || !strings.Contains(errs, "Correct that") || strings.Contains(errs, "Run the same command") {
		t.Errorf("over the network: exit %d\n%s", code, errs)
	}

	// What is odd is done, and told.
	p := s.apply("name: x\ngrants: [{subject: 'group:nowhere', pattern: docs.files.read}, {subject: 'user:u_1', pattern: docs.files.read, expires: 2099-01-01}, {subject: 'user:u_2', pattern: docs.files.read, expires: 2001-01-01}]\n")
	said := strings.Join(p.Warnings, "\n")
	for _, want := range []string{"group:nowhere is neither declared nor there", "which this file did not make and which expires never", "has expired (2001-01-01T00:00:00Z (expired))"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not warn %q:\n%s", want, said)
		}
	}
	if len(p.Changes) != 2 {
		t.Errorf("it did\n%s", p.lines())
	}
}

func newGroupIn(s *console, id string) string {
	s.do("group", "create", id)
	return id
}

// TestApplyGoesOnAfterAFailureMidway kills the host when the third write arrives,
// before or after it is carried out.
func TestApplyGoesOnAfterAFailureMidway(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		t.Run(fmt.Sprint("carried out ", carriedOut), func(t *testing.T) {
			s, host, c, _ := served(t, func(text string) string { return text })
			s.write("docs.yaml", docsCatalog)
			_ = host.Process.Kill() // it reads the other catalog when it starts again
			<-host.done
			start := func() *url.URL {
				host = s.start("serve", "--config", filepath.Join(s.dir, "authz.yaml"))
				eventually(t, "the host is ready", func() bool { return listensAt.MatchString(host.errs.String()) })
				base, err := url.Parse("http://" + listensAt.FindStringSubmatch(host.errs.String())[1])
				if err != nil {
					t.Fatal(err)
				}
				c.Base = base.String()
				return base
			}
			forward := httputil.NewSingleHostReverseProxy(start())
			victim := host
			writes := 0
			between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/create") {
					writes++
				}
				if writes < 3 {
					forward.ServeHTTP(w, r)
					return
				}
				if carriedOut {
					forward.ServeHTTP(httptest.NewRecorder(), r)
				}
				_ = victim.Process.Kill()
				<-victim.done
				panic(http.ErrAbortHandler) // no answer
			}))
			t.Cleanup(between.Close)
			console := &console{shell: s, host: host, base: between.URL}
			args := console.over("url", []string{"apply", "-f", console.file(declaredAccess), "--yes"})
			out, errs, code := console.say("", append(args, "-o", "json")...)
			var p planned
			if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitFailure {
				t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
			}
			states := ""
			for _, one := range p.Changes {
				states += one.State + ", "
			}
			if states != "applied, applied, unknown, not tried, not tried, not tried, not tried, " {
				t.Errorf("the changes are %s", states)
			}
			for _, want := range []string{"2 of 7 changes were applied", "+ group staff", "Run the same command again"} {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}

			console.base = start().String()
			args = console.over("url", []string{"apply", "-f", console.file(declaredAccess), "--yes"})
			left := 5
			if carriedOut {
				left = 4
			}
			if out, errs, code := console.say("", args...); code != 0 || !strings.Contains(out, fmt.Sprintf("applied %d changes", left)) {
				t.Fatalf("again: exit %d\n%s%s", code, out, errs)
			}
			if out, errs, code := console.say("", args...); code != 0 || !strings.HasPrefix(out, "nothing to do") {
				t.Errorf("once more: exit %d\n%s%s", code, out, errs)
			}
		})
	}
}

// The impact of a plan is what changes when it is applied.
func TestApplyTellsItsImpact(t *testing.T) {
	s := newConsole(t)
	s.apply(`
name: team
roles: [{id: editor, name: Editor, patterns: [docs.files.read, docs.files.delete]}]
groups: [{id: staff, name: Staff}, {id: writers, name: Writers, parents: [staff]}]
grants: [{subject: "group:staff", role: editor}]
`)
	s.do("user", "groups", "ann", "writers")
	next := s.file(`
name: team
roles: [{id: editor, name: Editor, patterns: [docs.files.read, docs.bills.read]}]
groups: [{id: staff, name: Staff}, {id: writers, name: Writers, parents: [staff]}]
grants: [{subject: "group:staff", role: editor}, {subject: "user:ben", role: editor}]
`)
	for _, over := range []string{"socket", "url"} {
		out, errs, code := s.say("", s.over(over, []string{"apply", "-f", next, "--dry-run", "--impact"})...)
		want := `it would change 4 answers, of 2 people and services that it concerns: 3 gained, 1 lost
  + user:ann docs.bills.read
  - user:ann docs.files.delete
  + user:ben docs.bills.read
  + user:ben docs.files.read
`
		if code != 0 || !strings.HasSuffix(out, want) {
			t.Errorf("over the %s: exit %d\n%s%s", over, code, out, errs)
		}
	}
	var told struct {
		Name   string
		Impact provider.Impact
	}
	s.read(&told, "apply", "-f", next, "--dry-run", "--impact")
	if told.Name != "team" || len(told.Impact.Changes) != 4 {
		t.Errorf("%+v", told)
	}
	s.do("apply", "-f", next, "--yes")
	for _, e := range told.Impact.Changes {
		out, _, _ := s.say("", s.over("socket", []string{"check", "--fresh", "--user", strings.TrimPrefix(e.Subject, "user:"), e.Key})...)
		if (out == "ALLOWED\n") != e.Allowed {
			t.Errorf("%+v: %s", e, out)
		}
	}
}
