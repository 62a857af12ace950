package input_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Every file that a command reads is held to its type, and what is wrong is told
// with file, line and column, in JSON as in YAML.
func TestFilesAreReadStrictly(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		like       any
		want       string
	}{
		"an unknown member":            {"a.yaml", "name: x\ngrant: []\n", apply.File{}, `a.yaml:2:1: grant: is no member that is known here — did you mean "grants"?`},
		"the same in JSON":             {"a.json", "{\"name\": \"x\",\n  \"grant\": []}", apply.File{}, `a.json:2:3: grant: is no member that is known here — did you mean "grants"?`},
		"one like no other":            {"a.yaml", "name: x\nowner: me\n", apply.File{}, `a.yaml:2:1: owner: is no member that is known here — known here: name, roles, groups, grants`},
		"one in a list":                {"a.yaml", "name: x\nroles:\n  - id: r\n    patern: [docs.*]\n", apply.File{}, `a.yaml:4:5: roles[0].patern: is no member that is known here — did you mean "patterns"?`},
		"deep in JSON":                 {"a.json", `{"roles":[{"id":"r","requestable":{"stages":[{"kind":"management","layer":1}]}}]}`, apply.File{}, `a.json:1:67: roles[0].requestable.stages[0].layer: is no member that is known here — did you mean "layers"?`},
		"deep in YAML":                 {"r.yaml", "requestable:\n  stages:\n  - kind: auto\n    predicate: {type: in_group, group: g}", apply.Role{}, `r.yaml:4:33: requestable.stages[0].predicate.group: is no member that is known here — known here: type, groupId`},
		"another case":                 {"a.json", `{"Name":"x"}`, apply.File{}, `a.json:1:2: Name: is no member that is known here — did you mean "name"?`},
		"a member given twice in JSON": {"a.json", "{\"grants\": [],\n\"grants\": []}", apply.File{}, "a.json:2:1: grants: is given twice"},
		"a member given twice in YAML": {"a.yaml", "grants: []\ngrants: []\n", apply.File{}, "line 2"},
		"a number for a text":          {"a.yaml", "name: 7\n", apply.File{}, `a.yaml:1:7: name: must be a text, not a number — write "7"`},
		"a flag for a text":            {"a.yaml", "roles: [{id: true}]", apply.File{}, `a.yaml:1:14: roles[0].id: must be a text, not true or false — write "true"`},
		"a text for a list":            {"a.yaml", "roles: [{id: r, patterns: docs.*}]", apply.File{}, `a.yaml:1:27: roles[0].patterns: must be a list, not a text`},
		"a list for an object":         {"a.json", `[]`, apply.File{}, "a.json:1:1: must be an object, not a list"},
		"a text for a number":          {"r.yaml", "requestable: {maxDurationMs: 8h, stages: []}", apply.Role{}, "r.yaml:1:30: requestable.maxDurationMs: must be a number, not a text"},
		"an instant that is none":      {"a.yaml", "grants:\n  - {subject: user:u, role: r, expires: tomorrow}", apply.File{}, "a.yaml:2:41: grants[0].expires: "},
		"a broken JSON file":           {"a.json", "{\"name\": \"x\",\n}", apply.File{}, "a.json:2:1: is not JSON: "},
		"a broken YAML file":           {"a.yaml", "name: [x", apply.File{}, "a.yaml is neither JSON nor YAML: "},
		"an empty file":                {"a.yaml", "# nothing yet\n", apply.File{}, "a.yaml is empty"},
		"two documents":                {"a.yaml", "name: x\n---\nname: y\n", apply.File{}, "a.yaml:2:1: holds more than one YAML document"},
		"a dataset misspelt":           {"d.yaml", "user: []\n", directory.Snapshot{}, `d.yaml:1:1: user: is no member that is known here — did you mean "users"?`},
		"a member of a user":           {"d.json", `{"users":[{"userId":"u","aktive":false}]}`, directory.Snapshot{}, `d.json:1:25: users[0].aktive: is no member that is known here — did you mean "active"?`},
		"an id that is a number":       {"d.yaml", "memberships:\n  17: [g]\n", directory.Snapshot{}, `d.yaml:2:3: memberships: a member name must be a text — write "17"`},
		"a group that is a number":     {"d.yaml", "memberships:\n  u: [17]\n", directory.Snapshot{}, `d.yaml:2:7: memberships.u[0]: must be a text, not a number — write "17"`},
		"what an alias repeats":        {"a.yaml", "roles: [&r {id: r, patern: []}, *r]\n", apply.File{}, `a.yaml:1:20: roles[0].patern`},
		"what a merge brings":          {"a.yaml", "roles:\n- &r {id: r, patern: []}\n- <<: *r\n  id: s\n", apply.File{}, `a.yaml:2:14: roles[0].patern`},
		"an empty text for a manager":  {"r.yaml", "managerUserId: ''\n", authz.Resolution{}, `r.yaml:1:16: managerUserId: a chosen manager is a user id or null, not an empty string`},
		"a number for a manager":       {"r.json", `{"managerUserId":7}`, authz.Resolution{}, `r.json:1:18: managerUserId: a chosen manager is a user id or null, not 7`},
		"a flag for an instant":        {"a.yaml", "grants: [{expires: true}]", apply.File{}, `a.yaml:1:20: grants[0].expires: true is no instant`},
		"a text for a user":            {"u.yaml", "[ann]", []authz.User{}, `u.yaml:1:2: [0]: must not be a text`},
		"a binary value":               {"a.yaml", "name: !!binary aGk=\n", apply.File{}, "a.yaml:1:7: name: values of type !!binary are not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile(c.file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			body, err := input.JSON(nil, c.file, c.like)
			if err == nil {
				t.Fatalf("read as %s", body)
			}
			var fault *input.Error
			if !strings.Contains(err.Error(), c.want) || !errors.As(err, &fault) {
				t.Errorf("%v\nwant: %s", err, c.want)
			}
		})
	}
}

func TestFilesAreReadAlike(t *testing.T) {
	want := apply.File{Name: "2027-01-31", Roles: []apply.Role{{ID: "r", Patterns: []string{"docs.*"}}, {ID: "s", Patterns: []string{"docs.*"}}}}
	for file, text := range map[string]string{
		"a.json": "\t{\"name\":\"2027-01-31\",\"roles\":[{\"id\":\"r\",\"patterns\":[\"docs.*\"]},{\"id\":\"s\",\"patterns\":[\"docs.*\"]}]}",
		"a.yaml": "name: 2027-01-31\nroles:\n- &r {id: r, patterns: [docs.*]}\n- {<<: *r, id: s}\n",
	} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got apply.File
		if err := input.Into(nil, path, &got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file, diff)
		}
	}
}
