//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAStartThatFailsSaysSoAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out bytes.Buffer
	// Nothing can be built here: this is not the root of the repository.
	if code := run(t.Context(), options{driver: "sqlite", within: time.Minute}, &out); code != 3 || !strings.Contains(out.String(), "cannot start") {
		t.Errorf("exit %d\n%s", code, &out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTheFolderIsItsOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if o, err := parse([]string{"--dir", "new"}, io.Discard); err != nil || o.dir != filepath.Join(here, "new") {
		t.Errorf("a new folder: %q, %v", o.dir, err)
	}
	if err := os.WriteFile("authz.db", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "authz.db"} {
		if _, err := parse([]string{"--dir", dir}, io.Discard); err == nil {
			t.Errorf("--dir %s is taken", dir)
		}
	}
}
