package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheTabKeyAsksTheHost(t *testing.T) {
	s := newConsole(t)
	s.do("role", "create", "editor", "--name", "Editors of files", "--pattern", "docs.files.*")
	s.do("group", "create", "writers")
	s.do("user", "manager", "u_1", "boss")
	s.do("catalog", "publish", s.dir+"/docs.yaml")
	var made struct{ Grant struct{ ID string } }
	s.read(&made, "grant", "create", "user:u_7", "--role", "editor", "docs.folder:f_1")
	s.do("revoke", "create", "u_8", "docs.files.read")
	t.Setenv("AUTHZ_SOCKET", s.socket)
	for _, c := range []struct {
		args string // the last word is being typed, ~ for an empty one
		want string
		not  string
	}{
		{"role show ~", "editor\tEditors of files", ""},
		{"role update e", "editor\tEditors of files", ""},
		{"role show editor ~", "", "editor"},
		{"grant create --role ~", "editor\tEditors of files", ""},
		{"grant create user:u_", "user:u_1", "group:writers"},
		{"grant create group:", "group:writers", "user:u_1"},
		{"grant create user:u_1 docs", "docs.folder:f_1", ""},
		{"grant create --pattern docs.files.", "docs.files.read\tRead files", "docs.bills.read"},
		{"grant create --pattern docs.f", "docs.files.*", ""},
		{"grant delete ~", made.Grant.ID + "\tuser:u_7 role editor at docs.folder:f_1", ""},
		{"revoke create u_1 docs.bills.a", "docs.bills.approve", ""},
		{"revoke delete ~", "", "editor"},
		{"user show ~", "boss", ""},
		{"user show u_", "u_7", "boss"},
		{"user show u_8", "u_8", ""},
		{"user groups u_1 ~", "writers", ""},
		{"check --user u_", "u_1", "boss"},
		{"check --user u_1 docs.files.", "docs.files.read\tRead files", "docs.files.*"},
		{"explain --user u_1 docs.files.read docs", "docs.folder:f_1", ""},
		{"explain --app ~", "docs", ""},
		{"group parents ~", "writers", ""},
		{"sod --user u_", "u_1", ""},
		{"drift --since ~", "1\t", ""},
		{"grant list --app ~", "docs", ""},
		{"grant list --output ~", "json", ""},
		{"audit list --action role.", "role.create", ""},
		{"request list --state ~", "pending", ""},
		{"catalog lint ~", "yaml", ""},
		{"catalog init ~", "yaml", "json"},
		{"catalog document ~", "yaml", ""},
	} {
		words := strings.Fields(c.args)
		last := len(words) - 1
		if words[last] == "~" {
			words[last] = ""
		}
		out, errs, code := s.tab(words...)
		if code != 0 || c.want != "" && !strings.Contains("\n"+out, "\n"+c.want) || c.not != "" && strings.Contains("\n"+out, "\n"+c.not) {
			t.Errorf("%s offers, exit %d:\n%s%s", c.args, code, out, errs)
		}
	}

	// Without a host there is nothing to offer, at once.
	began := time.Now()
	out, _, code := s.say("", "__complete", "role", "show", "--socket", s.dir+"/none.sock", "")
	if code != 0 || !slices.Equal(strings.Fields(out), []string{":4"}) || time.Since(began) > 30*time.Second {
		t.Errorf("without a host it offers, exit %d after %s:\n%s", code, time.Since(began), out)
	}
}
