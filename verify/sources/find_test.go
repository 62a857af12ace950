package sources_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/authzhost/authz/verify/sources"
	"github.com/google/go-cmp/cmp"
)

// project makes the files in a new working directory.
func project(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, include, exclude []string, want ...string) {
	t.Helper()
	found, err := sources.Find(include, exclude)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found.Files); diff != "" {
		t.Error(diff)
	}
}

func TestKindsOfFiles(t *testing.T) {
	project(t, "src/a.ts", "src/b.tsx", "src/c.mts", "src/d.cts", "src/e.d.ts", "src/f.d.mts", "src/g.d.cts", "src/h.js", "src/i.TS", "src/j.ts.bak")
	expect(t, []string{"src"}, nil, "src/a.ts", "src/b.tsx", "src/c.mts", "src/d.cts")
}

func TestOrderIsThatOfRootsAndThenOfBytes(t *testing.T) {
	project(t, "src/b/x.ts", "src/B.ts", "src/a.ts", "src/b.ts", "src/é.ts", "lib/z.ts")
	expect(t, []string{"lib", "src"}, nil, "lib/z.ts", "src/B.ts", "src/a.ts", "src/b/x.ts", "src/b.ts", "src/é.ts")
}

func TestPathsAreJoinedCleanAndFoundOnce(t *testing.T) {
	project(t, "src/a.ts", "src/app/b.ts")
	for _, include := range [][]string{{"./src/"}, {"src"}, {"src", "./src"}, {"src/../src"}, {"src", "src/app", "src/a.ts"}} {
		expect(t, include, nil, "src/a.ts", "src/app/b.ts")
	}
	expect(t, []string{"src/app", "src"}, nil, "src/app/b.ts", "src/a.ts")
	expect(t, []string{"."}, nil, "src/a.ts", "src/app/b.ts")
	expect(t, []string{"src/a.ts", "src/app/b.js"}, nil, "src/a.ts")
	expect(t, []string{"nowhere", "src/a.ts/below"}, nil)
	expect(t, nil, nil)
}

func TestExcludesAreSubstringsOfThePath(t *testing.T) {
	project(t, "src/distance.ts", "src/node_modules/x.ts", "src/.next/x.ts", "src/a.test.ts", "src/a.ts", "dist/a.ts")
	expect(t, []string{"src", "dist", "dist/a.ts"}, []string{".test."}, "src/a.ts")
	expect(t, []string{"./src"}, []string{"./src"}) // as written
	expect(t, []string{"src"}, []string{"./src"}, "src/a.test.ts", "src/a.ts")
}

func TestLinksAreFollowedAndEachRealDirectoryEnteredOnce(t *testing.T) {
	project(t, "src/app/a.ts", "shelf/s.ts", "shelf/deep/d.ts")
	link(t, "..", "src/app/up")             // src again
	link(t, "../shelf", "src/shelf")        //
	link(t, "../../src", "shelf/deep/back") // a cycle through two
	link(t, "../shelf/s.ts", "src/one.ts")
	link(t, "nowhere.ts", "src/dangling.ts")
	link(t, "self.ts", "src/self.ts")
	link(t, "../shelf/deep", "src/zdeep")
	expect(t, []string{"src", "shelf"}, nil, "src/app/a.ts", "src/one.ts", "src/shelf/deep/d.ts", "src/shelf/s.ts")
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	project(t, "src/a.ts")
	if err := syscall.Mkfifo("src/pipe.ts", 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := sources.Find([]string{"src"}, nil)
	var refused *sources.Error
	if !errors.As(err, &refused) || refused.Path != "src/pipe.ts" || err.Error() != "cannot read source src/pipe.ts: not a regular file" {
		t.Errorf("a pipe: %v", err)
	}
	if found := sources.Look([]string{"src"}, nil); !slices.Equal(found.Files, []string{"src/a.ts"}) || len(found.Dirs) != 1 || !filepath.IsAbs(found.Dirs[0]) {
		t.Errorf("a look finds %+v", found)
	}
	if err := os.Rename("src/pipe.ts", "src/pipe"); err != nil {
		t.Fatal(err)
	}
	expect(t, []string{"src"}, nil, "src/a.ts")
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every directory")
	}
	if err := os.Mkdir("src/closed", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := sources.Find([]string{"src"}, nil); !errors.As(err, &refused) || refused.Path != "src/closed" {
		t.Errorf("a closed directory: %v", err)
	}
}
