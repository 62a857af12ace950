package unixdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/examples/vendor-importer/unixdir"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

const passwd = `# people
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/:/usr/sbin/nologin

ada:x:1000:100:Ada,,,:/home/ada:/bin/bash
bob:x:1001:100::/home/bob:/usr/sbin/nologin
cyd:x:1002:4711::/home/cyd:/bin/false
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
`

const group = `root:x:0:
users:x:100:
sudo:x:27:ada,root,zoe
`

func importer(t *testing.T, passwd, group string) (directory.Importer, unixdir.Options) {
	t.Helper()
	dir := t.TempDir()
	o := unixdir.Options{Passwd: filepath.Join(dir, "passwd"), Group: filepath.Join(dir, "group"), MinUID: 1000, MaxUID: 60000}
	if err := errors.Join(os.WriteFile(o.Passwd, []byte(passwd), 0o600), os.WriteFile(o.Group, []byte(group), 0o600)); err != nil {
		t.Fatal(err)
	}
	return unixdir.New(o), o
}

func TestPeopleGroupsAndMembershipsAreTold(t *testing.T) {
	i, _ := importer(t, passwd, group)
	got, err := directory.Collect(i.Import(t.Context(), directory.Request{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := directory.Snapshot{
		Users:  []directory.User{{UserID: "ada", Active: &yes}, {UserID: "bob", Active: &no}, {UserID: "cyd", Active: &no}},
		Groups: []directory.Group{{ID: "root", Name: "root"}, {ID: "sudo", Name: "sudo"}, {ID: "users", Name: "users"}},
		Memberships: map[string][]string{"ada": {"sudo", "users"}, "bob": {"users"},
			"cyd": {}},
	}
	if diff := cmp.Diff(want, got.Snapshot, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`group "sudo": member "zoe" has no account`}, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

// What cannot be read whole is never told in part: nobody is deactivated by it.
func TestWhatIsWrongTellsNothing(t *testing.T) {
	for name, c := range map[string]struct{ passwd, group, want string }{
		"an empty file of people":   {"", group, "nobody with a user id"},
		"only the system":           {"root:x:0:0:root:/root:/bin/bash\n", group, "nobody with a user id"},
		"a line cut short":          {passwd + "dan:x:10", group, "line 9 of"},
		"a list cut short":          {passwd, group[:len(group)-len("ot,zoe\n")], "line 3 of"},
		"a name that is missing":    {":x:1:1:::\n", group, "line 1 of"},
		"an id that is no number":   {strings.Replace(passwd, "1000", "s3cret", 1), group, "no number"},
		"text that is not UTF-8":    {strings.Replace(passwd, "ada", "\xff", 1), group, "not UTF-8"},
		"a group line of no group":  {passwd, "users\n", "line 1 of"},
		"a group id of no number":   {passwd, "users:x:s3cret:\n", "no number"},
		"a name beyond all measure": {strings.Repeat("a", 2000) + ":x:1000:1:::\n", group, "line 1 of"},
	} {
		i, _ := importer(t, c.passwd, c.group)
		entries := 0
		var last error
		for _, err := range i.Import(t.Context(), directory.Request{}) {
			if last = err; err == nil {
				entries++
			}
		}
		if entries > 0 || authz.CodeOf(last) != authz.CodeValidation || !strings.Contains(last.Error(), c.want) || strings.Contains(last.Error(), "s3cret") {
			t.Errorf("%s: %d entries, then %v", name, entries, last)
		}
	}
}

func TestAFileThatIsNotThereIsAnOutage(t *testing.T) {
	for _, gone := range []func(unixdir.Options) string{func(o unixdir.Options) string { return o.Passwd }, func(o unixdir.Options) string { return o.Group }} {
		i, o := importer(t, passwd, group)
		if err := os.Remove(gone(o)); err != nil {
			t.Fatal(err)
		}
		_, err := directory.Collect(i.Import(t.Context(), directory.Request{}), nil)
		var outage *authz.UnavailableError
		if !errors.As(err, &outage) {
			t.Errorf("got %v", err)
		}
	}
}
