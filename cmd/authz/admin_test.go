package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// docsCatalog has a little of everything that commands are about.
const docsCatalog = `
namespaces: [docs]
permissions:
  docs.files.read: {scopes: [docs.folder], label: Read files}
  docs.files.edit_file: {scopes: [docs.folder]}
  docs.files.delete: {scopes: [docs.folder]}
  docs.bills.read: true
  docs.bills.approve: true
scopeTypes:
  docs.folder:
    parent: docs.folder
    requestable: {patterns: ["docs.files.*"], policy: {stages: [{kind: named_approvers, roleId: approver}]}}
  docs.doc: {parent: docs.folder}
  docs.page: {parent: docs.doc}
constraints: {sod: [{id: edit-vs-approve, sets: [[docs.files.edit_file], [docs.bills.approve]]}]}
`

// console runs commands in this process against a host in its own.
type console struct {
	*shell
	host   *running
	socket string
	base   string
}

func newConsole(t *testing.T) *console {
	t.Helper()
	return consoleOver(t, docsCatalog)
}

func consoleOver(t *testing.T, catalog string) *console {
	t.Helper()
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "    provider:", "    ancestry: {kind: stored}\n    audit: {hash_chain: true}\n    provider:", 1)
	})
	s.write("docs.yaml", catalog)
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return listensAt.MatchString(host.errs.String()) })
	base := "http://" + listensAt.FindStringSubmatch(host.errs.String())[1]
	return &console{s, host, filepath.Join(s.dir, "run", "authz.sock"), base}
}

// say runs a command with what is typed in.
func (s *console) say(in string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &out, &errs)
	return out.String(), errs.String(), code
}

// tab presses the tab key behind words, again where a busy host was too slow to be
// heard: what it did not say in time is not offered.
func (s *console) tab(words ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	for range 20 {
		began := time.Now()
		stdout, stderr, code = s.say("", append([]string{"__complete"}, words...)...)
		if time.Since(began) < completionTimeout {
			break
		}
	}
	return stdout, stderr, code
}

// over adds how the host is reached.
func (s *console) over(way string, args []string) []string {
	args = append([]string{}, args...)
	if way == "url" {
		return append(args, "--url", s.base, "--token-file", filepath.Join(s.dir, "secret"))
	}
	return append(args, "--socket", s.socket)
}

// do runs a command over the socket that must succeed.
func (s *console) do(args ...string) string {
	s.t.Helper()
	out, errs, code := s.say("", s.over("socket", args)...)
	if code != 0 {
		s.t.Fatalf("authz %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// read runs a command that must succeed and decodes what it prints.
func (s *console) read(into any, args ...string) {
	s.t.Helper()
	out := s.do(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("authz %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A saying is one command and what comes of it. {name} is what an earlier one kept.
type saying struct {
	args string
	in   string
	code int
	want []string // in the output; of a failure, in what it says
	keep string   // the id in the JSON output is kept under this name
	way  string   // "socket", "url"; "" is both
}

// programming is a call of a method, canAny("…") say.
var programming = regexp.MustCompile(`[a-z]\w*[A-Z]\w*\(|[a-z]+\((principal|"|\w+Id)`)

// TestCommands runs every command with text and JSON output, over both ways where
// the operation crosses the wire. Words are separated by a space, and ~ stands for
// one within a word.
func TestCommands(t *testing.T) {
	for _, way := range []string{"socket", "url"} {
		t.Run(way, func(t *testing.T) {
			s := newConsole(t)
			kept := map[string]string{"dir": s.dir}
			s.write("grants.yaml", "grants:\n  - {subject: \"group:writers\", role: editor, scope: \"docs.folder:f_1\"}\n  - {subject: \"user:u_2\", pattern: docs.files.read, expires: 2099-01-31}\n")
			s.write("misspelt.yaml", "grants: [{subject: \"user:u_2\", rol: editor}]\n")
			s.write("halfbad.yaml", "grants: [{subject: \"user:u_5\", pattern: docs.files.read}, {subject: \"user:u_5\", pattern: docs.files.raed}]\n")
			s.write("approver.yaml", "name: Approver\npatterns: [docs.bills.approve]\nrequestable: {prompts: [{id: why, label: Reason}], stages: [{kind: named_approvers, roleId: approver}]}\n")
			s.write("changed.yaml", strings.Replace(docsCatalog, "docs.bills.read: true", "docs.bills.read_bill: true", 1))
			s.write("bad.yaml", "namespaces: [docs]\npermissions: {shop.items.read: true}\n")
			s.write("warned.yaml", "namespaces: [docs]\npermissions: {docs.files.read: true, docs.files.Frob: true}\n")
			s.write("users.txt", "u_1\nu_2\nu_3\nboss\n")
			s.write("empty.txt", "\n")
			for _, c := range sayings {
				if c.way != "" && c.way != way {
					continue
				}
				args := strings.Fields(c.args)
				for i, arg := range args {
					for name, v := range kept {
						arg = strings.ReplaceAll(arg, "{"+name+"}", v)
					}
					args[i] = strings.ReplaceAll(arg, "~", " ")
				}
				if args[0] != "catalog" || args[1] != "lint" {
					args = s.over(way, args)
				}
				out, errs, code := s.say(c.in, args...)
				said := out
				if code != 0 {
					said += errs
				}
				if call := programming.FindString(errs); call != "" {
					t.Errorf("authz %s speaks of %q, which no command is:\n%s", c.args, call, errs)
				}
				if code != c.code {
					t.Fatalf("authz %s: exit %d, want %d\n%s%s", c.args, code, c.code, out, errs)
				}
				for _, want := range c.want {
					for name, v := range kept {
						want = strings.ReplaceAll(want, "{"+name+"}", v)
					}
					if !strings.Contains(said, want) {
						t.Errorf("authz %s does not say %q:\n%s", c.args, want, said)
					}
				}
				if strings.Contains(c.args, "-o json") && code == 0 && !json.Valid([]byte(out)) {
					t.Errorf("authz %s printed no JSON:\n%s", c.args, out)
				}
				if c.keep != "" {
					var row map[string]struct{ ID string }
					if err := json.Unmarshal([]byte(out), &row); err != nil {
						t.Fatalf("authz %s: %v\n%s", c.args, err, out)
					}
					for _, member := range row {
						kept[c.keep] = member.ID
					}
				}
			}
		})
	}
}
