package totals_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// The directory stops being writable under a table that is in use: nothing is taken
// as long as that lasts, and all of it counts once afterwards. None of it needs the
// rights of a file, which an administrator's process passes by.
func TestADirectoryThatTurnsUnwritableRefusesAndRecovers(t *testing.T) {
	for name, c := range map[string]struct {
		says        string
		spoil, mend func(dir string) error
	}{
		"it is moved away": {"no such file",
			func(dir string) error { return os.Rename(dir, dir+".away") },
			func(dir string) error { return os.Rename(dir+".away", dir) },
		},
		"it is moved away for good": {"no such file",
			func(dir string) error { return os.Rename(dir, dir+".away") },
			func(dir string) error { return os.Mkdir(dir, 0o700) },
		},
		"another that takes nothing is in its place for a while": {"is a directory",
			func(dir string) error {
				return errors.Join(os.Rename(dir, dir+".away"), os.MkdirAll(filepath.Join(dir, "totals.new"), 0o700))
			},
			func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Rename(dir+".away", dir)) },
		},
		"a file is in its place": {"not a directory",
			func(dir string) error { return errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)) },
			func(dir string) error { return errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)) },
		},
		"its file is a directory": {"",
			func(dir string) error {
				file := filepath.Join(dir, "totals")
				return errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "full"), 0o700))
			},
			func(dir string) error { return os.RemoveAll(filepath.Join(dir, "totals")) },
		},
		"its file is gone and none can be made": {"is a directory",
			func(dir string) error {
				return errors.Join(os.Remove(filepath.Join(dir, "totals")), os.Mkdir(filepath.Join(dir, "totals.new"), 0o700))
			},
			func(dir string) error { return os.Remove(filepath.Join(dir, "totals.new")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a lock
			dir := filepath.Join(t.TempDir(), "state")
			o := totals.Options{Dir: dir}
			table := mustOpen(t, o)
			mustWrite(t, table, window("o", 1, 1, "a"))
			must(t, c.spoil(dir))
			for range 3 { // as a host repeats it
				err := table.Write(t.Context(), window("o", 2, 1, "a"))
				if outcome(err) != authz.OutcomeNotApplied || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("a window whose counts are not durable: %v", err)
				}
			}
			mustWrite(t, table, window("o", 1, 1, "a")) // taken before, and durable since
			if got := told(table)["checks a"]; got != 1 {
				t.Errorf("%v checks are told, want 1", got)
			}
			must(t, c.mend(dir))
			mustWrite(t, table, window("o", 2, 1, "a"), window("o", 2, 1, "a"), window("o", 3, 1, "a"))
			if _, err := totals.Open(quiet(o)); err == nil || !strings.Contains(err.Error(), "another process") {
				t.Errorf("a second process has the directory too: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
				t.Errorf("the directory holds %q, %v", left, err)
			}
			if got := told(reopen(t, table, o))["checks a"]; got != 3 {
				t.Errorf("%v checks in the next life, want 3", got)
			}
		})
	}
}

// A directory that takes the place of the one before is one process's as well, and
// what it holds is not written over.
func TestADirectoryInThePlaceOfTheOneBeforeIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	o := totals.Options{Dir: dir}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	must(t, os.Rename(dir, dir+".away"))

	other := mustOpen(t, o)
	mustWrite(t, other, window("p", 1, 1, "b"))
	refused := func(why string) {
		t.Helper()
		if err := table.Write(t.Context(), window("o", 2, 1, "a")); outcome(err) != authz.OutcomeNotApplied || !strings.Contains(err.Error(), why) {
			t.Errorf("a window into another's directory: %v", err)
		}
	}
	refused("another process has the directory")
	mustWrite(t, other, window("p", 2, 1, "b"))
	must(t, other.Close(t.Context()))
	refused("counts of its own")
	if got := told(reopen(t, other, o)); got["checks b"] != 2 || len(got) != 1 {
		t.Errorf("another's counts became %v", got)
	}
	must(t, os.Rename(dir, dir+".other"), os.Mkdir(dir, 0o700))
	mustWrite(t, table, window("o", 2, 1, "a"))
	if _, err := totals.Open(quiet(o)); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second process has the directory too: %v", err)
	}
	if got := told(reopen(t, table, o)); got["checks a"] != 2 || len(got) != 1 {
		t.Errorf("%v in the next life", got)
	}
}

// When not even what a failed write left can be cut off, the window's fate is open:
// a next life may read it. It counts once when it comes again.
func TestAWriteThatCannotBeUndoneIsOfUnknownFate(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	must(t, table.Break())
	if err := table.Write(t.Context(), window("o", 2, 1, "a")); outcome(err) != authz.OutcomeUnknown || strings.Contains(err.Error(), o.Dir) {
		t.Errorf("onto a file that answers nothing: %v", err)
	}
	if got := told(table)["checks a"]; got != 1 {
		t.Errorf("%v checks are told, want 1", got)
	}
	mustWrite(t, table, window("o", 2, 1, "a"))
	if got := told(reopen(t, table, o))["checks a"]; got != 2 {
		t.Errorf("%v checks in the next life, want 2", got)
	}
}
