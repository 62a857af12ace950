// Package otheruser runs commands as another user of the machine, for tests of what
// such a user must not reach. Tests alone import it.
package otheruser

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// UID is the other user's, nobody on most systems; the group has the same number.
const UID = 65534

// Need skips a test that cannot become another user.
func Need(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run a process as another user")
	}
}

// Dir is a directory of this user's that the other one may enter, with a path short
// enough for sockets.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ou")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Sticky is a directory that every user may write, as /tmp is.
func Sticky(t testing.TB) string {
	t.Helper()
	dir := Dir(t)
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Command runs as the other user, who is in no group of this process's.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: UID, Gid: UID}}
	return c
}

// Do runs a line of shell as the other user; $1 and so on are the arguments.
func Do(t testing.TB, script string, args ...string) {
	t.Helper()
	if out, err := Command(t.Context(), "/bin/sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("as the other user, %s: %v\n%s", script, err, out)
	}
}

// Fails runs a line of shell that the other user must not be able to carry out.
func Fails(t testing.TB, script string, args ...string) {
	t.Helper()
	if out, err := Command(t.Context(), "/bin/sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput(); err == nil {
		t.Errorf("the other user can: %s\n%s", script, out)
	}
}
