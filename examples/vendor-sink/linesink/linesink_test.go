package linesink_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/examples/vendor-sink/linesink"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func window(origin string, sequence uint64) metrics.Window {
	return metrics.Window{Application: "docs", Origin: origin, Sequence: sequence, Batch: metrics.Batch{
		Checks: []metrics.CheckCounter{{Permission: "docs.read", Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*", Observed: 1, Estimated: 1}}}}
}

func open(t *testing.T, path string, limit int64) *linesink.Sink {
	t.Helper()
	s, err := linesink.Open(t.Context(), path, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func take(t *testing.T, s *linesink.Sink, windows ...metrics.Window) {
	t.Helper()
	for _, w := range windows {
		if err := s.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
}

// What a process had taken when it died is known to the next one, the line that it
// did not finish is not.
func TestALineThatWasNotFinishedIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "windows.jsonl")
	s := open(t, path, 1<<20)
	take(t, s, window("a", 1), window("a", 2))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"application":"docs","origin":"a","seq`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	next := open(t, path, 1<<20)
	take(t, next, window("a", 2), window("a", 3), window("a", 3))
	if got := lines(path); len(got) != 3 || got[2].Sequence != 3 {
		t.Errorf("the file holds %+v", got)
	}
}

func TestTheFileIsPutAsideWhenItIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "windows.jsonl")
	s := open(t, path, 1000)
	for n := range uint64(50) {
		take(t, s, window("a", n+1), window("a", n+1), window("b", n+1))
		for _, name := range []string{path, path + ".1"} {
			if info, err := os.Stat(name); err == nil && info.Size() > 1000 {
				t.Fatalf("%s has %d bytes", name, info.Size())
			}
		}
	}
	if got := lines(path); got[len(got)-1].Sequence != 50 || got[0].Sequence < 40 {
		t.Errorf("the files hold %+v", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(lines(path))
	again := open(t, path, 1000)
	take(t, again, window("a", 50), window("b", 50))
	if after := len(lines(path)); after != before {
		t.Errorf("%d lines became %d", before, after)
	}
}

func TestAnotherProgramsFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(path, []byte("root:x:0:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := linesink.Open(t.Context(), path, 1000); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "root:x:0:0\n" {
		t.Errorf("it now holds %q, %v", b, err)
	}
}

func TestAFolderThatIsGoneIsAnOutage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "windows.jsonl")
	s := open(t, path, 1)
	take(t, s, window("a", 1))
	// The next window puts the file aside, which a folder that is gone prevents.
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	var e *authz.UnavailableError
	if err := s.Write(t.Context(), window("a", 2)); !errors.As(err, &e) || e.Outcome != authz.OutcomeNotApplied {
		t.Errorf("got %v", err)
	}
	if err := os.Rename(dir+".gone", dir); err != nil {
		t.Fatal(err)
	}
	take(t, s, window("a", 2))
	if got := lines(path); len(got) != 2 {
		t.Errorf("the files hold %+v", got)
	}
}

func TestASecondProcessIsKeptOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "windows.jsonl")
	open(t, path, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := linesink.Open(ctx, path, 1000); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
}
