package files_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/otheruser"
)

// asUser makes the test binary judge a file as another user: AUTHZ_FILES_TEST_JUDGE
// is a letter for the use, and the path.
const judgeEnv = "AUTHZ_FILES_TEST_JUDGE"

func TestMain(m *testing.M) {
	if asked := os.Getenv(judgeEnv); asked != "" {
		use := files.Trusted
		if asked[0] == 's' {
			use = files.Secret
		}
		fmt.Print(files.Judge(asked[1:], use))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// judgeAs is what Judge says in a process of the other user, in the groups.
func judgeAs(t *testing.T, use, path string, groups ...uint32) string {
	t.Helper()
	c := otheruser.Command(t.Context(), "/proc/self/exe")
	c.Env = []string{judgeEnv + "=" + use + path}
	c.SysProcAttr.Credential.Gid, c.SysProcAttr.Credential.Groups = groups[0], groups[1:]
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestASharedSecretOfRootIsForTheGroupOfTheService: fsGroup of Kubernetes and
// groups such as ssl-cert let a service read what root owns.
func TestASharedSecretOfRootIsForTheGroupOfTheService(t *testing.T) {
	otheruser.Need(t)
	const group = 64999
	file := put(t, otheruser.Dir(t)+"/f", 0o440)
	chown(t, file, 0, group)
	if got := judgeAs(t, "s", file, 65534, group); got != "<nil>" {
		t.Errorf("in the group: %s", got)
	}
	if got := judgeAs(t, "s", file, 65534); !strings.Contains(got, "group 64999 can read it") {
		t.Errorf("outside of it: %s", got)
	}
	chown(t, file, otheruser.UID, group) // not root's gift
	if got := judgeAs(t, "s", file, 65534, group); !strings.Contains(got, "group 64999 can read it") {
		t.Errorf("of its own: %s", got)
	}
	chmod(t, file, 0o660)
	chown(t, file, 0, group)
	if got := judgeAs(t, "t", file, 65534, group); !strings.Contains(got, "group 64999 can write it") {
		t.Errorf("writable for the group: %s", got)
	}
}

// TestAPrivateGroupIsNobodyElse: with umask 002 files are writable for the group of
// their owner, in which nobody else is.
func TestAPrivateGroupIsNobodyElse(t *testing.T) {
	otheruser.Need(t)
	const uid = 64998 // no account, and no group of that number
	dir := otheruser.Dir(t)
	chmod(t, dir, 0o775)
	chown(t, dir, uid, uid)
	file := put(t, dir+"/f", 0o660)
	judge := func(gid int) string {
		chown(t, file, uid, gid)
		c := otheruser.Command(t.Context(), "/proc/self/exe")
		c.Env = []string{judgeEnv + "=s" + file}
		c.SysProcAttr.Credential.Uid, c.SysProcAttr.Credential.Gid = uid, uid
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if got := judge(uid); got != "<nil>" {
		t.Errorf("in the user's own group: %s", got)
	}
	if got := judge(64997); !strings.Contains(got, "group 64997 can write it") {
		t.Errorf("in a group of another number: %s", got)
	}
}
