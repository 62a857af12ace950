package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCodegenReplacesTheFileWholeAndLeavesAnEqualOneAlone(t *testing.T) {
	project(t, map[string]string{"old.ts": "old"})
	if err := os.Chmod("old.ts", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("old.ts", "link.ts"); err != nil {
		t.Fatal(err)
	}
	expectText(t, exitClean, "authz-verify codegen: wrote link.ts\n", "codegen", "--out", "link.ts", "--catalog=catalog.json")
	_, want, _ := call(t, "codegen", "--catalog", "catalog.json")
	text, err := os.ReadFile("old.ts")
	if err != nil || string(text) != want || !strings.Contains(want, "export type AuthzKey =") {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Lstat("link.ts"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	if info, err := os.Stat("old.ts"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode was lost: %v %v", info, err)
	}
	long := time.Unix(1e9, 0)
	if err := os.Chtimes("old.ts", long, long); err != nil {
		t.Fatal(err)
	}
	expectText(t, exitClean, "authz-verify codegen: wrote old.ts\n", "codegen", "--out", "old.ts", "--catalog=catalog.json")
	if info, err := os.Stat("old.ts"); err != nil || !info.ModTime().Equal(long) {
		t.Errorf("an equal file was written: %v %v", info, err)
	}
	if left, err := filepath.Glob(".*"); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestCodegenWritesGo(t *testing.T) {
	project(t, nil)
	status, stdout, stderr := call(t, "codegen", "--catalog", "catalog.json", "--lang", "go", "--package", "keys", "--prefix", "Zoom")
	if status != exitClean || stderr != "" || !strings.Contains(stdout, "\npackage keys\n") || !strings.Contains(stdout, `ZoomKeyZoomRoomsRead   = "zoom.rooms.read"`) {
		t.Errorf("exit %d: %s%s", status, stderr, stdout)
	}
	if _, plain, _ := call(t, "codegen", "--catalog", "catalog.json", "--lang", "go", "--prefix="); !strings.Contains(plain, "package authzkeys\n") || !strings.Contains(plain, "\tKeyZoomRoomsRead ") {
		t.Errorf("an empty prefix: %s", plain)
	}
}

func TestInitWritesAConfigurationThatRuns(t *testing.T) {
	project(t, map[string]string{"app/a.ts": `const both = client.can(u, "zoom.rooms.read") && client.can(u, "zoom.rooms.delete");`})
	if err := os.Remove("authz-verify.config.json"); err != nil {
		t.Fatal(err)
	}
	expectText(t, exitClean, "authz-verify init: wrote authz-verify.config.json\n", "init")
	const none = "authz-verify: 0 server functions: 0 gated, 0 exempt, 0 findings, 0 behind unknown wrappers\n"
	expectText(t, exitClean, clean1+none)
	write(t, "authz-verify.config.json", "mine")
	expectFailed(t, "authz-verify.config.json exists already: --force replaces it", "init")
	expectText(t, exitClean, "authz-verify init: wrote authz-verify.config.json\n", "init", "--force")
	expectText(t, exitClean, clean1+none, "--config")

	goProject(t)
	t.Setenv("GOFLAGS", "") // a workspace takes no -mod
	write(t, "sub/x", "")
	write(t, "go.work", "go 1.24\n\nuse ./sub\n")
	for _, file := range []string{"go.mod", "shop.go", "keys"} {
		if err := os.Rename(file, filepath.Join("sub", file)); err != nil {
			t.Fatal(err)
		}
	}
	expectText(t, exitClean, "authz-verify init: wrote authz-verify.config.json\n", "init", "--force")
	if status, _, stderr := call(t); status != exitClean || !strings.Contains(stderr, "authz-verify: 3 file(s)") {
		t.Errorf("a workspace: exit %d: %s", status, stderr)
	}

	t.Chdir(t.TempDir())
	expectText(t, exitClean, "authz-verify init: wrote c.json\nauthz-verify init: no catalog document was found: set \"catalog\" in c.json\n", "init", "--config", "c.json")
	expectFailed(t, "cannot read catalog catalog.json: no such file or directory", "--config", "c.json")
}
