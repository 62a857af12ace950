package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a project under git with one commit. Both sources have faults.
func repository(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
	project(t, map[string]string{"src/a.ts": "can(\"zoom.rooms.a\")\n", "src/b c.ts": "can(\"zoom.rooms.b\")\n", ".gitignore": "src/generated.ts\n"})
	gitRun(t, "init", "-q")
	commit(t)
}

func commit(t *testing.T) {
	t.Helper()
	gitRun(t, "add", "-A")
	gitRun(t, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "x")
}

func gitRun(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// expectOnly wants the issues of these files and no other.
func expectOnly(t *testing.T, want string, rev string) {
	t.Helper()
	status, _, stderr := call(t, "--changed-since", rev)
	var files []string
	for line := range strings.Lines(stderr) {
		if _, rest, ok := strings.Cut(line, "] "); ok {
			file, _, _ := strings.Cut(rest, " — ")
			files = append(files, file)
		}
	}
	if got := strings.Join(files, ", "); got != want || (status == exitIssues) != strings.Contains(want, ".ts") {
		t.Errorf("exit %d, issues of %s, want of %s\n%s", status, got, want, stderr)
	}
}

func TestOnlyFilesThatDifferFromTheRevisionAreReported(t *testing.T) {
	repository(t)
	expectOnly(t, "", "HEAD")
	write(t, "src/b c.ts", "\ncan(\"zoom.rooms.b\")\n")
	expectOnly(t, "src/b c.ts:2", "HEAD")
	gitRun(t, "add", "-A") // staged is changed too
	expectOnly(t, "src/b c.ts:2", "HEAD")
	commit(t)
	expectOnly(t, "", "HEAD")
	expectOnly(t, "src/b c.ts:2", "HEAD~1")
	write(t, "src/new.ts", "can(\"zoom.rooms.n\")\n")
	write(t, "src/generated.ts", "can(\"zoom.rooms.g\")\n") // ignored: git cannot tell
	expectOnly(t, "src/generated.ts:1, src/new.ts:1", "HEAD")
	status, stdout, _ := call(t, "--changed-since", "HEAD", "--format", "json")
	if status != exitIssues || !strings.Contains(stdout, `"errorCount":2,"warningCount":0,"fileCount":4}`) {
		t.Errorf("exit %d: %s", status, stdout)
	}
}

func TestWhatGitIsToldNotToLookAtCountsAsChanged(t *testing.T) {
	repository(t)
	for _, mark := range []string{"assume-unchanged", "skip-worktree"} {
		gitRun(t, "update-index", "--"+mark, "src/a.ts")
		expectOnly(t, "src/a.ts:1", "HEAD")
		gitRun(t, "update-index", "--no-"+mark, "src/a.ts")
		expectOnly(t, "", "HEAD")
	}
}

func TestAChangedCatalogOrConfigurationReportsEverything(t *testing.T) {
	const everything = "src/a.ts:1, src/b c.ts:1, <catalog>, <catalog>"
	repository(t)
	write(t, "catalog.json", zoom+"\n")
	expectOnly(t, everything, "HEAD")
	commit(t)
	expectOnly(t, "", "HEAD")
	write(t, "authz-verify.config.json", `{"catalog": "catalog.json"}`)
	expectOnly(t, everything, "HEAD")
}

func TestTheWorkingDirectoryMayLieBelowTheRepositorysRoot(t *testing.T) {
	repository(t)
	write(t, "web/authz-verify.config.json", `{"catalog":"../catalog.json","include":["../src","src"]}`)
	write(t, "web/src/c.ts", "can(\"zoom.rooms.c\")\n")
	commit(t)
	if err := os.Chdir("web"); err != nil { // project's Chdir leads back
		t.Fatal(err)
	}
	expectOnly(t, "", "HEAD")
	write(t, "src/c.ts", "can(\"zoom.rooms.cc\")\n")
	expectOnly(t, "src/c.ts:1", "HEAD")
	write(t, "../src/a.ts", "can(\"zoom.rooms.aa\")\n")
	expectOnly(t, "../src/a.ts:1, src/c.ts:1", "HEAD")
}

// Git tells a hook of a linked worktree its repository, but not its root.
func TestAHookOfALinkedWorktreeIsToldOnlyWhatChanged(t *testing.T) {
	repository(t)
	write(t, "web/authz-verify.config.json", `{"catalog":"../catalog.json"}`)
	write(t, "web/src/c.ts", "can(\"zoom.rooms.c\")\n")
	commit(t)
	tree := filepath.Join(t.TempDir(), "tree")
	gitRun(t, "worktree", "add", "-q", tree)
	dir, err := filepath.Abs(".git/worktrees/tree")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(tree, "web"))
	t.Setenv("GIT_DIR", dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, "index"))
	expectOnly(t, "", "HEAD")
	write(t, "src/c.ts", "can(\"zoom.rooms.cc\")\n")
	expectOnly(t, "src/c.ts:1", "HEAD")
	t.Setenv("GIT_WORK_TREE", tree)
	expectOnly(t, "src/c.ts:1", "HEAD")
}

func TestWhatIsReachedThroughALinkCountsAsChanged(t *testing.T) {
	repository(t)
	if err := os.Symlink("a.ts", "src/z.ts"); err != nil {
		t.Fatal(err)
	}
	commit(t)
	expectOnly(t, "src/z.ts:1", "HEAD")
}

func TestARevisionThatGitDoesNotKnowIsExit2(t *testing.T) {
	repository(t)
	for _, rev := range []string{"nope", "--output=x", "HEAD..HEAD", "src/a.ts", "HEAD:src"} {
		expectFailed(t, `authz-verify: --changed-since: git knows no revision "`+rev+`"`, "--changed-since", rev)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	write(t, "catalog.json", zoom)
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json"}`)
	expectFailed(t, "authz-verify: --changed-since: git rev-parse: fatal: not a git repository", "--changed-since", "HEAD")
}
