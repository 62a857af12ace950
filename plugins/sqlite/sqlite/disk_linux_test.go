package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// smallDisk mounts a file system of 3 MB that ends with the test.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=0777"); err != nil {
		t.Skipf("NOT PROVED HERE: a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskRefusesWholeCommitsAndRecovers(t *testing.T) {
	dir := smallDisk(t)
	d := mustOpen(t, sqlite.Options{Path: filepath.Join(dir, "authz.db")})
	s := mustStore(t, d, "")
	insertMany(t, s, 10)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	before := content(t, s)
	for round := range 5 {
		err := tryMany(t, s, "large", 2000, 500)
		if storage.CodeOf(err) != storage.CodeUnavailable {
			t.Fatalf("round %d: a commit onto a full disk answered %v", round, err)
		}
		if strings.Contains(err.Error(), "SQL") || strings.Contains(err.Error(), dir) {
			t.Errorf("the error shows what the database says: %v", err)
		}
		if outcome := outcomeOf(err); outcome != authz.OutcomeNotApplied {
			t.Errorf("round %d: outcome %q", round, outcome)
		}
		if after := content(t, s); after != before {
			t.Fatalf("a refused commit left something: %s, before %s", after, before)
		}
	}
	fill(t, s)
	if section, err := s.Acquire(t.Context(), "k"); err == nil { // its row may have fit
		_ = section.Release(t.Context())
	} else if outcomeOf(err) != authz.OutcomeNotApplied {
		t.Errorf("a section on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before = content(t, s)
	if err := tryMany(t, s, "after", 100, 10); err != nil {
		t.Fatalf("space came back, and a commit answered %v", err)
	}
	if after := content(t, s); after == before {
		t.Error("nothing was written")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	intact(t, filepath.Join(dir, "authz.db"))
}

// fill commits until there is no space for the smallest commit.
func fill(t *testing.T, s storage.Store) {
	t.Helper()
	for i := range 3000 {
		if err := tryMany(t, s, strings.Repeat("f", 1+i%40)+string(rune('a'+i%26))+strings.Repeat("g", i/40), 1, 2000); err != nil {
			if storage.CodeOf(err) == storage.CodeConflict {
				continue
			}
			if storage.CodeOf(err) != storage.CodeUnavailable {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the disk never filled up")
}

func intact(t *testing.T, path string) {
	t.Helper()
	var verdict string
	if err := raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check: %q, %v", verdict, err)
	}
}

func TestAReadOnlyFileSystemIsRefused(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "authz.db")
	d := mustOpen(t, sqlite.Options{Path: path})
	insertMany(t, mustStore(t, d, ""), 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("NOT PROVED HERE: the file system cannot be made read-only: %v", err)
	}
	refusesPath(t, path)
	refusesPath(t, filepath.Join(dir, "other.db"))
	refusesPath(t, filepath.Join(dir, "new", "authz.db"))
}

// A user who may read and not write: root may do everything, so the test runs
// itself as nobody.
func TestAReadOnlyFileIsRefused(t *testing.T) {
	if path := os.Getenv("AUTHZ_TEST_READ_ONLY"); path != "" {
		refusesPath(t, path)
		return
	}
	dir, err := os.MkdirTemp("/tmp", "authz-sqlite-") // where nobody may go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "authz.db")
	d := mustOpen(t, sqlite.Options{Path: path})
	insertMany(t, mustStore(t, d, ""), 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct{ file, dir os.FileMode }{{0o444, 0o777}, {0o666, 0o555}, {0o600, 0o777}, {0o444, 0o555}} {
		if err := errorsOf(os.Chmod(path, mode.file), os.Chmod(dir, mode.dir)); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(program, "-test.run", "^"+t.Name()+"$")
		child.Dir = "/"
		child.Env = append(os.Environ(), "AUTHZ_TEST_READ_ONLY="+path, "TMPDIR=/tmp")
		if os.Getuid() == 0 {
			child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("file %v in directory %v: %v\n%s", mode.file, mode.dir, err, out)
		}
	}
}
