package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/otheruser"
)

// inSticky is a shell in a directory that every user may write, as /tmp is.
func inSticky(t *testing.T) *shell {
	t.Helper()
	otheruser.Need(t)
	s := newShell(t)
	s.dir = otheruser.Sticky(t)
	if err := os.Chmod(bin, 0o755); err != nil { // the other user runs it too
		t.Fatal(err)
	}
	return s
}

// ends runs a command that may go on serving, and then did not refuse.
func (s *shell) ends(args ...string) (errs string, code int) {
	s.t.Helper()
	r := s.start(args...)
	select {
	case <-r.done:
		return r.errs.String(), r.ProcessState.ExitCode()
	case <-time.After(2 * time.Minute):
		s.t.Fatalf("authz %s goes on:\n%s%s", strings.Join(args, " "), r.out.String(), r.errs.String())
		return "", 0
	}
}

// TestAQuickstartOfAnotherUsersDirectoryIsRefused: it makes and removes nothing where
// that leads.
func TestAQuickstartOfAnotherUsersDirectoryIsRefused(t *testing.T) {
	for name, prepare := range map[string]string{
		"a directory":           "mkdir -m 777 $1/.authz; echo 'run_dir: /tmp/x' >$1/.authz/authz.yaml",
		"a link":                "ln -s $2 $1/.authz",
		"a link to nothing yet": "ln -s $2/new $1/.authz",
	} {
		t.Run(name, func(t *testing.T) {
			s := inSticky(t)
			mine := otheruser.Dir(t)
			secret := filepath.Join(mine, ownSecret)
			if err := os.WriteFile(secret, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			otheruser.Do(t, prepare, s.dir, mine)
			for _, args := range [][]string{{"quickstart", "--empty", "--listen", "127.0.0.1:0"}, {"quickstart", "--reset", "--yes", "--empty", "--listen", "127.0.0.1:0"}} {
				errs, code := s.ends(args...)
				if code != exitUsage && !strings.Contains(errs, "file exists") || !strings.Contains(errs, ".authz") {
					t.Errorf("%v: exit %d: %s", args, code, errs)
				}
			}
			left, err := os.ReadDir(mine)
			if content, gone := os.ReadFile(secret); err != nil || len(left) != 1 || string(content) != "precious" {
				t.Errorf("what it leads to was changed: %v %v %v", left, err, gone)
			}
		})
	}
}

// TestCommandsAskNoHostThatAnyUserMayHaveStarted unless it is named.
func TestCommandsAskNoHostThatAnyUserMayHaveStarted(t *testing.T) {
	s := inSticky(t)
	theirs := otheruser.Command(t.Context(), s.binary, "quickstart", "--empty", "--listen", "127.0.0.1:0")
	theirs.Dir, theirs.Env = s.dir, append(s.env, "HOME=/")
	var out buffer
	theirs.Stdout, theirs.Stderr = &out, &out
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = theirs.Wait(); close(ended) }() // it is stopped below
	t.Cleanup(func() { _ = theirs.Process.Signal(syscall.SIGTERM); <-ended })
	eventually(t, "the other user's host serves", func() bool { return strings.Contains(out.String(), "Serving") })
	socket := filepath.Join(s.dir, ".authz", "run", "authz.sock")
	for _, args := range [][]string{{"check", "--user", "u_17", "docs.files.delete"}, {"plugin", "list"}, {"quickstart", "--empty"}} {
		errs, code := s.ends(args...)
		if code != exitUsage || !strings.Contains(errs, "uid 65534 (nobody)") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
		if args[0] != "quickstart" && (strings.Contains(errs, "chown") || !strings.Contains(errs, "sudo -u")) {
			t.Errorf("%v advises to take the host's directory from its user: %s", args, errs)
		}
	}
	s.ok("plugin", "list", "--socket", socket)
}

// TestAQuickstartInAClonePrivateToAGroup: with umask 002 the group may write, in
// which nobody else is.
func TestAQuickstartInAClonePrivateToAGroup(t *testing.T) {
	s := inSticky(t)
	const uid = 64998 // no account has it
	c := otheruser.Command(t.Context(), "/bin/sh", "-ec", `umask 002; mkdir "$1/clone"; cd "$1/clone"; exec "$2" quickstart --empty --listen 127.0.0.1:0`, "sh", s.dir, s.binary)
	c.SysProcAttr.Credential.Uid, c.SysProcAttr.Credential.Gid = uid, uid
	c.Env = []string{"PATH=/usr/bin:/bin"}
	var out buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }() // what it said is looked at
	t.Cleanup(func() { _ = c.Process.Signal(syscall.SIGTERM); <-ended })
	eventually(t, "it serves, or ends", func() bool {
		select {
		case <-ended:
			return true
		default:
			return strings.Contains(out.String(), "Serving")
		}
	})
	if info, err := os.Stat(filepath.Join(s.dir, "clone")); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("the clone: %v %v", info, err)
	}
	if !strings.Contains(out.String(), "Serving") {
		t.Error(out.String())
	}
}

// TestConfigCheckAndServeTellWhatOthersMayChange, and what insecure_permissions lets
// through.
func TestConfigCheckAndServeTellWhatOthersMayChange(t *testing.T) {
	for file, code := range map[string]struct{ check, serve int }{
		"secret": {exitUsage, exitUsage}, "docs.yaml": {exitUsage, exitUsage}, "authz.yaml": {exitUsage, exitUsage},
		"plugins": {exitUsage, exitUsage}, "plugins/authz-plugin-memory": {exitUsage, exitPlugin},
	} {
		t.Run(file, func(t *testing.T) {
			s := newShell(t)
			program, err := os.ReadFile(filepath.Join(bin, "authz-plugin-memory"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Mkdir(filepath.Join(s.dir, "plugins"), 0o755), os.Chmod(s.dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			s.write("plugins/authz-plugin-memory", string(program))
			s.env = append(s.env, "AUTHZ_PLUGIN_DIRS=plugins")
			config := s.serveFile(nil)
			s.ok("config", "check", "--config", config)
			path := filepath.Join(s.dir, file)
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
			for command, want := range map[string]int{"config check": code.check, "serve": code.serve} {
				errs, got := s.ends(append(strings.Fields(command), "--config", config)...)
				if got != want || !strings.Contains(errs, path) || !strings.Contains(errs, "mode 0777") ||
					!strings.Contains(errs, "chmod go-") || !strings.Contains(strings.ToLower(errs), "insecure_permissions") || strings.Count(errs, "mode 0777") != 1 {
					t.Errorf("%s: exit %d, want %d: %s", command, got, want, errs)
				}
			}
			s.env = append(s.env, "AUTHZ_INSECURE_PERMISSIONS=allow")
			_, errs, got := s.run("config", "check", "--config", config)
			if got != 0 || !strings.Contains(errs, "warning: insecure_permissions allows this: ") || !strings.Contains(errs, path+" has mode 0777") {
				t.Errorf("allowed: exit %d: %s", got, errs)
			}
			host := s.start("serve", "--config", config)
			ready := regexp.MustCompile(`ready: listen=`)
			eventually(t, "the host is ready", func() bool { return ready.MatchString(host.errs.String()) })
			if text := host.errs.String(); !strings.Contains(text, "[WARN]") || !strings.Contains(text, path+" has mode 0777") {
				t.Errorf("the log says %s", text)
			}
		})
	}
}
