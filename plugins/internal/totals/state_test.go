package totals_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
)

// reopen closes and opens again, as a next life of the process.
func reopen(t *testing.T, table *totals.Table, o totals.Options) *totals.Table {
	t.Helper()
	if err := table.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, o)
}

func TestTotalsAndSequencesOutliveTheProcess(t *testing.T) {
	o := totals.Options{Dir: filepath.Join(t.TempDir(), "made", "here")}
	table := mustOpen(t, o)
	w := window("o", 3, 1.5, "a", "b<&>\u2028")
	w.Dropped = 2
	mustWrite(t, table, w)
	before := told(table)
	table = reopen(t, table, o)
	if diff := cmp.Diff(before, told(table)); diff != "" {
		t.Error(diff)
	}
	mustWrite(t, table, w, window("o", 2, 1, "a"))
	if diff := cmp.Diff(before, told(table)); diff != "" {
		t.Error("a window was taken twice:", diff)
	}
	mustWrite(t, table, window("o", 4, 1, "a"))
	if got := told(reopen(t, table, o))["checks a"]; got != 2.5 {
		t.Errorf("%v checks, want 2.5", got)
	}
}

func TestTheFileIsWrittenAnewWhenItGrows(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	names := make([]string, 1100) // more than a line's series
	for i := range names {
		names[i] = fmt.Sprint("docs.permission.", i, strings.Repeat("x", 220))
	}
	const windows = 20
	fell, size := 0, int64(0)
	for i := range windows {
		mustWrite(t, table, window("o", uint64(i+1), 1, names...))
		before := size
		if size = stateSize(t, o.Dir); size < before {
			fell++
		}
	}
	if fell == 0 {
		t.Errorf("the file only grew, to %d bytes", size)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "*")); len(left) != 1 {
		t.Errorf("the directory holds %q", left)
	}
	table = reopen(t, table, o)
	for name, value := range told(table) {
		if value != windows {
			t.Fatalf("%s is %v, want %d", name, value, windows)
		}
	}
	if len(told(table)) != len(names) {
		t.Errorf("%d series, want %d", len(told(table)), len(names))
	}
}

func stateSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "totals"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Every length that a crash may leave of the last line, and what a file system may
// put in its place.
func TestATornEndIsCutOff(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	path := filepath.Join(o.Dir, "totals")
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	kept := stateSize(t, o.Dir)
	mustWrite(t, table, window("o", 2, 1, "a"))
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := [][]byte{}
	for at := int(kept); at < len(whole); at++ {
		torn = append(torn, whole[:at])
	}
	flipped := bytes.Clone(whole)
	flipped[kept+20] ^= 1
	torn = append(torn, flipped, append(bytes.Clone(whole[:kept]), make([]byte, len(whole)-int(kept))...), append(bytes.Clone(whole[:kept]), "\n\n\x00\n"...))
	for _, content := range torn {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		table := mustOpen(t, o)
		if got := told(table)["checks a"]; got != 1 {
			t.Fatalf("%d of %d bytes: %v checks, want 1", len(content), len(whole), got)
		}
		mustWrite(t, table, window("o", 2, 5, "a")) // unanswered, so it comes again
		table = reopen(t, table, o)
		if got := told(table)["checks a"]; got != 6 {
			t.Fatalf("%d of %d bytes: %v checks after it, want 6", len(content), len(whole), got)
		}
		if err := table.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageInTheMiddleIsRefused(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	path := filepath.Join(o.Dir, "totals")
	table := mustOpen(t, o)
	first := stateSize(t, o.Dir)
	mustWrite(t, table, window("o", 1, 1, "a"), window("o", 2, 1, "a"))
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[first+30] ^= 1
	for name, content := range map[string][]byte{"a bit": damaged, "nothing": {}, "another's": []byte("a,b,c\n1,2,3\n"), "no first line": whole[first:]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := totals.Open(o)
		var refused *totals.StateError
		if !errors.As(err, &refused) || strings.Contains(err.Error(), o.Dir) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestADirectoryIsOneProcesss(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	if _, err := totals.Open(o); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	reopen(t, table, o)
}

func TestAFileThatIsTakenAwayIsWrittenAgain(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, 1, "a"))
	if err := os.Remove(filepath.Join(o.Dir, "totals")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, table, window("o", 2, 1, "a"))
	table = reopen(t, table, o)
	if got := told(table)["checks a"]; got != 2 {
		t.Errorf("%v checks, want 2", got)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	if err := table.Write(t.Context(), window("o", 3, 1, "a")); outcome(err) != authz.OutcomeNotApplied || strings.Contains(err.Error(), o.Dir) {
		t.Error(err)
	}
	if got := told(table)["checks a"]; got != 2 {
		t.Errorf("%v checks, want 2", got)
	}
}

func TestWhatIsNoDirectoryIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/nothing/here"} {
		var refused *totals.StateError
		if _, err := totals.Open(totals.Options{Dir: dir}); !errors.As(err, &refused) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func FuzzState(f *testing.F) {
	dir := f.TempDir()
	table := mustOpen(f, totals.Options{Dir: dir})
	mustWrite(f, table, window("o", 1, 1, "a"), window("p", 7, 0.5, "a", "b"))
	whole, err := os.ReadFile(filepath.Join(dir, "totals"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-7])
	f.Add(whole[20:])
	f.Add(append(bytes.Clone(whole), whole...))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, good, err := totals.Read(content)
		if err != nil {
			return
		}
		// What is good is read again the same, and nothing of it is torn.
		again, length, err := totals.Read(content[:good])
		if err != nil || length != good {
			t.Fatalf("%d good bytes, read again %d: %v", good, length, err)
		}
		if diff := cmp.Diff(found, again); diff != "" {
			t.Fatal(diff)
		}
		// A next record after it is found.
		longer, err := totals.Append(content[:good], "fuzz", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, length, err := totals.Read(longer); err != nil || length != int64(len(longer)) {
			t.Fatalf("%d of %d bytes: %v", length, len(longer), err)
		}
	})
}
