package pluginhost_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/otheruser"
)

// asSwapper makes the test binary another user who swaps a plugin all the time: by
// rename or in place, and the directory.
const asSwapper = "AUTHZ_PLUGINHOST_TEST_AS_SWAPPER"

// beSwapper puts evil and good in turn at the plugin's path, until it is killed.
func beSwapper(config string) {
	how, dir, _ := strings.Cut(config, ":")
	at := filepath.Join(dir, "authz-plugin-faulty")
	var content [2][]byte
	for i, name := range []string{"evil", "good"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		content[i] = b
	}
	first, last := 0, len(content[0])
	for content[0][first] == content[1][first] {
		first++
	}
	for content[0][last-1] == content[1][last-1] {
		last--
	}
	for i := 0; ; i++ {
		turn := i % 2
		if how == "rename" {
			next := filepath.Join(dir, "next")
			_ = os.Link(filepath.Join(dir, []string{"evil", "good"}[turn]), next)
			_ = os.Rename(next, at)
		} else if f, err := os.OpenFile(at, os.O_WRONLY, 0); err == nil { // which fails while it is executed
			_, _ = f.WriteAt(content[turn][first:last], int64(first))
			_ = f.Close()
		}
		time.Sleep(time.Duration(i%7) * time.Millisecond)
	}
}

// swapped is a plugin in a directory of the other user's: an approved one, its
// checksum, and another that leaves a file at flag.
type swapped struct{ dir, path, sum, flag string }

func newSwapped(t *testing.T, good, evil []byte) swapped {
	t.Helper()
	top := otheruser.Dir(t)
	s := swapped{dir: filepath.Join(top, "d"), flag: filepath.Join(top, "flag"), sum: fmt.Sprintf("%x", sha256.Sum256(good))}
	s.path = filepath.Join(s.dir, "authz-plugin-faulty")
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"good": good, "evil": evil, filepath.Base(s.path): good} {
		path := filepath.Join(s.dir, name)
		if err := errors.Join(os.WriteFile(path, content, 0o755), os.Chown(path, otheruser.UID, otheruser.UID)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(s.dir, otheruser.UID, otheruser.UID); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s swapped) spec(path string) pluginhost.Spec {
	return pluginhost.Spec{Name: "main", Plugin: path, SHA256: s.sum, Env: map[string]string{"FAULT": "marked", "FLAG": s.flag, "PATH": "/usr/bin:/bin"}}
}

// swapperOf swaps until the test ends.
func (s swapped) swapperOf(t *testing.T, how string) {
	t.Helper()
	c := otheruser.Command(t.Context(), "/proc/self/exe")
	c.Env = []string{asSwapper + "=" + how + ":" + s.dir}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended, which Wait tells
		if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the swapper ended: %v", err)
		}
	})
}

func (s swapped) ran(t *testing.T) bool {
	t.Helper()
	_, err := os.Stat(s.flag)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// programs are a plugin as a binary and as a script, approved and not.
func programs(t *testing.T) map[string][2][]byte {
	t.Helper()
	good, err := os.ReadFile(filepath.Join(binaries, "authz-plugin-faulty"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(good, []byte("mark:approved")); n != 1 {
		t.Fatalf("the mark stands in the binary %d times", n)
	}
	evil := bytes.Replace(good, []byte("mark:approved"), []byte("mark:evilevil"), 1)
	script := func(first string) []byte {
		return fmt.Appendf(nil, "#!/bin/sh\n%-20s\nexec %s/authz-plugin-faulty\n", first, binaries)
	}
	return map[string][2][]byte{"a binary": {good, evil}, "a script": {script(":"), script(`: >"$FLAG"`)}}
}

// quietly is a host that may run what others can swap, and does not tell each time.
func quietly(t *testing.T) *pluginhost.Host {
	return newHost(t, pluginhost.Options{InsecurePermissions: true, Logger: hclog.NewNullLogger()})
}

// TestASwappedPluginNeverRuns: another user swaps the plugin between checksum and
// execution, at first starts and at restarts. What runs is what was approved.
func TestASwappedPluginNeverRuns(t *testing.T) {
	otheruser.Need(t)
	if err := os.Chmod(binaries, 0o755); err != nil { // the scripts run it
		t.Fatal(err)
	}
	for kind, program := range programs(t) {
		for _, how := range []string{"rename", "in place"} {
			t.Run(kind+", "+how, func(t *testing.T) {
				s := newSwapped(t, program[0], program[1])
				unpinned := s.spec(filepath.Join(s.dir, "evil"))
				unpinned.SHA256 = ""
				startQuietly(t, unpinned)
				if !s.ran(t) {
					t.Fatal("the other plugin leaves no file: this test could not fail")
				}
				if err := os.Remove(s.flag); err != nil {
					t.Fatal(err)
				}
				s.swapperOf(t, how)
				started, refused, restarted := 0, 0, 0
				for end := time.Now().Add(5 * time.Minute); started < 6 || refused < 3 || restarted < 6; {
					if time.Now().After(end) {
						t.Fatalf("started %d times, refused %d times, restarted %d times", started, refused, restarted)
					}
					h := quietly(t)
					p, err := h.Start(t.Context(), s.spec(s.path))
					if err == nil {
						started++
						for range 2 {
							if err = p.Restart(t.Context()); err == nil {
								restarted++
							}
						}
					}
					if err != nil {
						refused++
						if !strings.Contains(err.Error(), "another one than was approved") {
							t.Error(err)
						}
					}
					if err := h.Close(t.Context()); err != nil {
						t.Error(err)
					}
					if s.ran(t) {
						t.Fatalf("the other plugin ran, after %d starts, %d restarts and %d refusals", started, restarted, refused)
					}
				}
			})
		}
	}
}

func startQuietly(t *testing.T, spec pluginhost.Spec) *pluginhost.Plugin {
	t.Helper()
	p, err := quietly(t).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAPinnedScriptRunsFromACopy of its own, which goes with its process.
func TestAPinnedScriptRunsFromACopy(t *testing.T) {
	dir := runDir(t)
	script := fmt.Appendf(nil, "#!/bin/sh\n# of a name: $0\n: >\"$FLAG$(basename \"$0\")\"\nexec %s/authz-plugin-faulty\n", binaries)
	path := filepath.Join(dir, "authz-plugin-faulty")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, pluginhost.Options{RunDir: dir})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(script)),
		Env: map[string]string{"FLAG": dir + "/ran-", "PATH": "/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	copies := func() []string {
		found, err := filepath.Glob(filepath.Join(pluginhost.SocketDir(h), "copy-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := copies()
	if len(first) != 1 {
		t.Fatalf("copies %q", first)
	}
	if info, err := os.Stat(first[0]); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Stat(dir + "/ran-" + filepath.Base(first[0])); err != nil {
		t.Error("it did not run from its copy:", err)
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := copies(); len(second) != 1 || second[0] == first[0] {
		t.Errorf("after a restart: %q, before %q", second, first)
	}
	if err := os.WriteFile(path, append(script, '\n'), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "another one than was approved") {
		t.Errorf("changed, it was restarted: %v", err)
	}
	if left := copies(); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}
