package main

import (
	"strings"
	"testing"
)

// A subject where an id is wanted is another user, who has nothing to lose: a success
// would be told, and ann would keep her access.
func TestSubjectsAreRefusedWhereIDsAreWanted(t *testing.T) {
	s := newConsole(t)
	s.do("grant", "create", "user:ann", "--pattern", "docs.files.read")
	s.do("group", "create", "staff")
	s.write("people.txt", "user:ann\n")
	s.write("people.yaml", "users:\n  - {userId: 'user:odd'}\n")
	for _, way := range []string{"socket", "url"} {
		for _, c := range []struct{ args, want string }{
			{"revoke create user:ann docs.files.read", "write ann, the id of the user"},
			{"revoke create User:ann docs.files.read", "write ann, the id of the user"},
			{"revoke create group:staff docs.files.read", `"group:staff" is how grants name a group, and the id of a user is wanted here`},
			{"revoke list --user user:ann", "write ann"},
			{"user deactivate user:ann", "write ann"},
			{"user activate user:ann", "write ann"},
			{"user show user:ann", "write ann"},
			{"user groups user:ann --add staff", "write ann"},
			{"user groups ann --add group:staff", "write staff, the id of the group"},
			{"user manager user:ann boss", "write ann"},
			{"user manager ann user:boss", "write boss"},
			{"user delete user:ann --yes", "write ann"},
			{"check --user user:ann docs.files.read", "write ann"},
			{"check --service service:ci docs.files.read", "write ci, the id of the service"},
			{"grant create user:user:ann --pattern docs.files.read", "write ann"},
			{"grant create group:group:staff --pattern docs.files.read", "write staff"},
			{"grant create directs:user:ann --pattern docs.files.read", "write ann"},
			{"grant list --subject user:user:ann", "write ann"},
			{"group create group:other", "write other"},
			{"group create other --parent group:staff", "write staff"},
			{"group members group:staff", "write staff"},
			{"group delete group:staff --yes", "group:staff"},
			{"request submit --as user:ann --pattern docs.files.read", "write ann"},
			{"request list --user user:ann", "write ann"},
			{"request queue --as user:ann", "write ann"},
		} {
			t.Run(way+" "+c.args, func(t *testing.T) {
				out, errs, code := s.say("", s.over(way, strings.Fields(c.args))...)
				if code == 0 || !strings.Contains(errs, c.want) {
					t.Errorf("exit %d\n%s%s\nwant: %s", code, out, errs, c.want)
				}
			})
		}
	}
	for _, c := range []struct{ args, want string }{
		{"explain --user user:ann docs.files.read", "write ann"},
		{"entitlements --user user:ann", "write ann"},
		{"sod --user user:ann", "write ann"},
		{"reconcile --users " + s.dir + "/people.txt", "write ann"},
	} {
		if out, errs, code := s.say("", s.over("socket", strings.Fields(c.args))...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
	if out := s.do("check", "--user", "ann", "docs.files.read"); out != "ALLOWED\n" {
		t.Errorf("ann: %s", out)
	}

	// Who really has such an id is served as anybody.
	s.do("directory", "apply", "-f", s.dir+"/people.yaml", "--source", "test")
	s.do("revoke", "create", "user:odd", "docs.files.read")
	s.do("user", "deactivate", "user:odd")
	s.do("user", "show", "user:odd")
}

func TestWritesTellWhatNothingStoredHas(t *testing.T) {
	s := newConsole(t)
	warned := func(way, args, want string) {
		t.Helper()
		out, errs, code := s.say("", s.over(way, strings.Fields(args))...)
		if code != 0 || want == "" && errs != "" || !strings.Contains(errs, want) {
			t.Errorf("%s, %s: exit %d\n%s%s\nwant: %q", way, args, code, out, errs, want)
		}
	}
	refused := func(way, args, want string) {
		t.Helper()
		out, errs, code := s.say("", s.over(way, append(strings.Fields(args), "--strict"))...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s, %s --strict: exit %d\n%s%s\nwant: %q", way, args, code, out, errs, want)
		}
	}
	s.do("role", "create", "editor", "--pattern", "docs.files.*")
	s.do("group", "create", "staff")
	warned("socket", "revoke create nobody docs.files.read", "") // no records of people: nothing says who exists
	warned("socket", "grant create user:u_9 --pattern docs.files.read", "")
	s.do("user", "groups", "ann", "staff")
	for _, way := range []string{"socket", "url"} {
		refused(way, "grant create group:staf --role editor", `there is no group "staf". Did you mean "staff"?`)
		warned(way, "grant create group:staf --role editor", `warning: there is no group "staf". Did you mean "staff"?`)
		warned(way, "grant create group:staff --role editor", "")
	}
	for _, args := range []string{"revoke create an docs.files.read", "user deactivate anne", "user activate annn", "grant create user:anm --role editor", "user delete amn --yes", "check --user ana docs.files.read"} {
		refused("socket", args, "nothing is known of the user")
		warned("socket", args, "warning: nothing is known of the user")
	}
	warned("socket", "revoke create ann docs.files.read", "")
	warned("socket", "check --user ann docs.files.read", "")
	warned("socket", "check --user u_9 docs.files.read", "") // whom a row names
}
