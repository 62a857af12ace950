package main

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// What --target missed: a grant's entry is filed under the grant's id.
func TestAuditFindsEverythingAboutAPerson(t *testing.T) {
	s := newConsole(t)
	s.write("many.yaml", "grants: [{subject: 'user:u_5', pattern: docs.files.read}, {subject: 'user:u_1', pattern: docs.files.read}]\n")
	s.write("askable.yaml", "name: Askable\npatterns: [docs.bills.approve]\nrequestable: {stages: [{kind: named_approvers, roleId: askable}]}\n")
	var made struct{ Request authz.Request }
	s.do("role", "create", "askable", "-f", s.dir+"/askable.yaml")
	s.read(&made, "request", "submit", "--as", "u_1", "--role", "askable")
	for _, args := range []string{
		"grant create user:u_1 --pattern docs.files.read",
		"grant create directs:u_1 --pattern docs.files.read",
		"grant create -f " + s.dir + "/many.yaml",
		"revoke create u_1 docs.files.delete",
		"user groups u_1 --add staff",
		"user manager u_1 boss",
		"user manager u_2 u_1",
		"user deactivate u_1",
		"grant create user:boss --role askable",
		"request deny " + made.Request.ID + " --as boss",
		// and what is about others
		"grant create user:u_10 --pattern docs.files.read",
		"user groups u_2 --add staff",
		"role create u_1 --name u_1 --pattern docs.files.read",
		"revoke create u_10 docs.files.delete",
	} {
		words := strings.Fields(args)
		if words[0] == "user" && words[1] == "groups" && words[2] == "u_1" {
			s.do("group", "create", "staff")
		}
		s.do(words...)
	}
	if _, errs, code := s.say("", append(s.over("url", []string{"group", "create", "by_u_1"}), "--actor", "u_1")...); code != 0 {
		t.Fatal(errs)
	}
	want := []string{"request.submit", "grant.create", "grant.create", "grant.create_bulk", "revoke.create", "user.set_groups", "user.set_manager", "user.set_manager",
		"user.set_active", "request.denied", "group.create"}
	for _, way := range []string{"socket", "url"} {
		out, errs, code := s.say("", s.over(way, []string{"audit", "list", "--user", "u_1"})...)
		if code != 0 {
			t.Fatal(errs)
		}
		var actions []string
		for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
			actions = append(actions, strings.Fields(line)[2])
		}
		if got := strings.Join(actions, " "); got != strings.Join(want, " ") {
			t.Errorf("over the %s:\n%s\nwant\n%s\n%s", way, got, strings.Join(want, " "), out)
		}
	}
	out, errs, code := s.say("", s.over("socket", []string{"audit", "list", "--subject", "group:staff"})...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 4 || !strings.Contains(lines[1], "group.create") {
		t.Errorf("about a group: exit %d, %s\n%s", code, errs, out)
	}
	if _, errs, code := s.say("", s.over("socket", []string{"audit", "list", "--subject", "staff"})...); code != exitUsage || !strings.Contains(errs, "--subject") {
		t.Errorf("no subject: exit %d, %s", code, errs)
	}
	var last struct{ Events []authz.AuditEntry }
	s.read(&last, "audit", "list", "--user", "u_1", "--limit", "2", "--from", "1h")
	if len(last.Events) != 2 || last.Events[0].Action != "request.denied" || last.Events[1].Action != "group.create" {
		t.Errorf("the last two: %+v", last.Events)
	}
	for args, want := range map[string]string{"user:u_1": "write u_1, the id of the user", "": "--user is given, and it is empty"} {
		if _, errs, code := s.say("", s.over("socket", []string{"audit", "list", "--user", args})...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("--user %q: exit %d, %s", args, code, errs)
		}
	}
	if _, errs, code := s.say("", s.over("socket", []string{"audit", "list", "--user", "nobody"})...); code != 0 || !strings.Contains(errs, "nothing is known of the user nobody") && !strings.Contains(errs, `nothing is known of the user "nobody"`) {
		t.Errorf("nobody: exit %d, %s", code, errs)
	}
}
