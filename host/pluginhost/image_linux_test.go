package pluginhost_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/authzhost/authz/host/pluginhost"
)

func sumOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// descriptors are the files that a process has open.
func descriptors(t *testing.T, process any) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%v/fd", process)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // else it was closed meanwhile
			open = append(open, to)
		}
	}
	return open
}

// TestAPinnedPluginRunsFromSealedMemory and has none of the descriptors that its
// start needed; nor has the host afterwards.
func TestAPinnedPluginRunsFromSealedMemory(t *testing.T) {
	own, commands := embedded(t)
	running := commands["inside"]
	running.File = "/proc/self/exe"
	commands["inside"] = running
	path := filepath.Join(binaries, "authz-plugin-memory")
	for name, c := range map[string]struct {
		spec pluginhost.Spec
		runs string // what the process executes
	}{
		"a binary":             {pluginhost.Spec{Plugin: "memory", SHA256: sumOf(t, path)}, "/memfd:authz-plugin-memory (deleted)"},
		"the running host":     {pluginhost.Spec{Plugin: "inside", SHA256: sumOf(t, own)}, own},
		"a binary, not pinned": {pluginhost.Spec{Plugin: "memory"}, path},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, pluginhost.Options{Embedded: commands})
			c.spec.Name = "main"
			p, err := h.Start(t.Context(), c.spec)
			if err != nil {
				t.Fatal(err)
			}
			check := func() {
				t.Helper()
				pid := p.Status().PID
				if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != c.runs {
					t.Errorf("it executes %q, %v", exe, err)
				}
				for _, process := range []any{pid, "self"} {
					for _, open := range descriptors(t, process) {
						if strings.Contains(open, "memfd:") || strings.Contains(open, "authz-plugin-") || open == own {
							t.Errorf("process %v has %s open", process, open)
						}
					}
				}
			}
			check()
			if err := p.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			check()
			// Nobody can write what runs, not even this user by the process itself.
			if c.spec.SHA256 != "" {
				if f, err := os.OpenFile(fmt.Sprintf("/proc/%d/exe", p.Status().PID), os.O_WRONLY, 0); err == nil {
					f.Close()
					t.Error("what runs can be opened for writing")
				}
			}
		})
	}
}

// asHardened is the first argument that makes the test binary a host on a system
// that executes no memory; the directories of plugins and to run in follow.
const asHardened = "be-hardened"

func init() { // before TestMain, which every system has
	if len(os.Args) == 4 && os.Args[1] == asHardened {
		if err := beHardened(os.Args[2], os.Args[3]); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
}

// beHardened prints what a pinned plugin executes.
func beHardened(dir, runDir string) error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/vm/memfd_noexec", []byte("2"), 0); err != nil {
		return err
	}
	h, err := pluginhost.New(pluginhost.Options{Dirs: []string{dir}, RunDir: runDir})
	if err != nil {
		return err
	}
	defer h.Close(context.Background())
	b, err := os.ReadFile(filepath.Join(dir, "authz-plugin-memory"))
	if err != nil {
		return err
	}
	p, err := h.Start(context.Background(), pluginhost.Spec{Name: "main", Plugin: "memory", SHA256: fmt.Sprintf("%x", sha256.Sum256(b))})
	if err != nil {
		return err
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.Status().PID))
	fmt.Println(exe)
	return err
}

// TestASystemThatExecutesNoMemory runs a pinned binary from a copy in the run directory.
func TestASystemThatExecutesNoMemory(t *testing.T) {
	if _, err := os.Stat("/proc/sys/vm/memfd_noexec"); err != nil {
		t.Skip("this kernel cannot forbid it: ", err)
	}
	dir := runDir(t)
	c := exec.Command("/proc/self/exe", asHardened, binaries, dir)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("a namespace of processes cannot be made: ", err)
	}
	if want := filepath.Join(dir, "plugins", "copy-1") + "\n"; err != nil || string(out) != want {
		t.Errorf("it executes %q, want %q; %v", out, want, err)
	}
}

// TestARunDirectoryWithoutExecution: memory needs none; a script's copy says what to do.
func TestARunDirectoryWithoutExecution(t *testing.T) {
	dir := runDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "size=3m,mode=0700"); err != nil {
		t.Skip("a file system cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			t.Error(err)
		}
	})
	h, err := pluginhost.New(pluginhost.Options{RunDir: dir, Dirs: []string{binaries}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "binary", Plugin: "memory", SHA256: sumOf(t, filepath.Join(binaries, "authz-plugin-memory"))}); err != nil {
		t.Error(err)
	}
	script := filepath.Join(t.TempDir(), "authz-plugin-memory")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+binaries+"/authz-plugin-memory\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if e := startError(t, h, pluginhost.Spec{Name: "main", Plugin: script, SHA256: sumOf(t, script)}); !strings.Contains(e.Reason, "noexec") || !strings.Contains(e.Reason, "run_dir") {
		t.Errorf("reason %q", e.Reason)
	}
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: script}); err != nil {
		t.Errorf("not pinned: %v", err)
	}
}
