//go:build linux

package main

import (
	"bytes"
	"os"
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
