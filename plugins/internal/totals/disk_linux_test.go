package totals_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
)

// smallDisk mounts a file system of 1 MB that ends with the test.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0777"); err != nil {
		t.Skipf("NOT PROVED HERE: a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// full writes until there is no space.
func full(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := f.Write(chunk); err != nil {
			return
		}
	}
}

func TestAFullDiskRefusesWholeWindowsAndRecovers(t *testing.T) {
	dir := smallDisk(t)
	o := totals.Options{Dir: filepath.Join(dir, "state")}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	ballast := filepath.Join(dir, "ballast")
	full(t, ballast)
	many := make([]string, 200)
	for i := range many {
		many[i] = strings.Repeat("p", 1+i)
	}
	for range 3 {
		err := table.Write(t.Context(), window("o", 2, 1, append(many, "a")...))
		if outcome(err) != authz.OutcomeNotApplied || strings.Contains(err.Error(), dir) {
			t.Fatalf("onto a full disk: %v", err)
		}
		if got := told(table); len(got) != 1 || got["checks a"] != 1 {
			t.Fatalf("a refused window counted: %v", got)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, table, window("o", 2, 1, append(many, "a")...))
	if got := told(reopen(t, table, o)); got["checks a"] != 2 || len(got) != len(many)+1 {
		t.Errorf("%d series after it, a %v", len(got), got["checks a"])
	}
}

func TestAReadOnlyDirectoryRefuses(t *testing.T) {
	dir := smallDisk(t)
	o := totals.Options{Dir: filepath.Join(dir, "state")}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("NOT PROVED HERE: a mount cannot be made read-only: %v", err)
	}
	if _, err := totals.Open(o); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("opened on a read-only disk: %v", err)
	}
	if _, err := totals.Open(totals.Options{Dir: filepath.Join(dir, "other")}); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("made on a read-only disk: %v", err)
	}
}
