package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// applications are repositories on GitHub, and where in them the application lies.
var applications = []struct{ repository, dir string }{
	{"dubinc/dub", "apps/web"}, {"formbricks/formbricks", "apps/web"}, {"documenso/documenso", "."}, {"langfuse/langfuse", "."},
	{"midday-ai/midday", "."}, {"openstatusHQ/openstatus", "."}, {"novuhq/novu", "apps/api"},
}

const catalog = `{"formatVersion":1,"namespace":"app","namespaces":["app"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`

// TestApplicationsAreJudged takes the applications from folders of their names below
// AUTHZ_TS_APPS, or with AUTHZ_FULL from GitHub.
func TestApplicationsAreJudged(t *testing.T) {
	root := os.Getenv("AUTHZ_TS_APPS")
	if root == "" && os.Getenv("AUTHZ_FULL") == "" {
		t.Skip("SKIPPED: public applications are not judged: AUTHZ_TS_APPS names a folder with them, AUTHZ_FULL=1 clones them")
	}
	program := filepath.Join(t.TempDir(), "authz-verify")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/authz-verify").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	judged := 0
	for _, a := range applications {
		t.Run(a.repository, func(t *testing.T) {
			dir := clone(t, root, a.repository)
			judge(t, program, filepath.Join(dir, a.dir))
			judged++
		})
	}
	if judged < 5 {
		t.Skipf("SKIPPED: %d applications were there, of at least 5", judged)
	}
}

// clone is a copy of the application that may be written to.
func clone(t *testing.T, root, repository string) string {
	dir := t.TempDir()
	if root != "" {
		from := filepath.Join(root, filepath.Base(repository))
		if _, err := os.Stat(from); err != nil {
			t.Skipf("SKIPPED: no %s", from)
		}
		if err := copySources(dir, from); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "git", "clone", "-q", "--depth", "1", "https://github.com/"+repository, dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: cannot clone %s here: %v\n%s", repository, err, out)
	}
	return dir
}

// copySources copies what can say something about modules and what they serve.
func copySources(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git"):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !e.Type().IsRegular() || !kept.MatchString(e.Name()):
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), raw, 0o644)
	})
}

var kept = regexp.MustCompile(`\.([cm]?[jt]sx?)$|^(package|tsconfig.*|jsconfig)\.json$|^pnpm-workspace\.yaml$`)

func judge(t *testing.T, program, dir string) {
	if err := os.WriteFile(filepath.Join(dir, "catalog.json"), []byte(catalog), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, program, dir, "init", "--force")
	out, took, memory := run(t, program, dir, "--format", "json")
	var report struct {
		FileCount int `json:"fileCount"`
		Judged    struct{ ServerFunctions, Gated, Exempt, Findings, UnknownWrappers int }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	j, told := report.Judged, census(t, dir)
	t.Logf("%d files, %+v; the text tells of %d; %.2f s of processor time, %d MiB", report.FileCount, j, told, took.Seconds(), memory>>20)
	decided := j.ServerFunctions - j.UnknownWrappers
	if decided*10 < told*9 || decided*10 < j.ServerFunctions*9 {
		t.Errorf("%d judged of %d that the text tells of and %d that were found, want 90 %%", decided, told, j.ServerFunctions)
	}
	if limit := time.Duration(report.FileCount) * time.Second / 4000; took > 2*max(limit, 250*time.Millisecond) || memory > 160<<20 {
		t.Errorf("%v of two processors, %d MiB for %d files", took, memory>>20, report.FileCount)
	}
}

func run(t *testing.T, program, dir string, args ...string) (out []byte, took time.Duration, memory int64) {
	c := exec.Command(program, args...)
	c.Dir = dir
	var told strings.Builder
	c.Stderr = &told
	out, _ = c.Output()
	if c.ProcessState.ExitCode() > 1 || c.ProcessState.ExitCode() < 0 {
		t.Fatalf("%v: exit %d\n%s", args, c.ProcessState.ExitCode(), told.String())
	}
	return out, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

var (
	testPath = regexp.MustCompile(`[.-]spec\.|\.test\.|__tests__|__mocks__|/e2e/|/tests?/|/integration-tests/|/fixtures/|\.stories\.|playwright|cypress|node_modules|/dist/|/\.`)
	// What the text of a file tells of, by lines that begin so.
	routeExport = regexp.MustCompile(`(?m)^export (?:async function|function|const) (?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b`)
	action      = regexp.MustCompile(`(?m)^export (?:async function|const) \w+`)
	serverFile  = regexp.MustCompile(`^\s*["']use server["']`)
	procedure   = regexp.MustCompile(`(?m)^\s*\.(?:query|mutation|subscription)\(\s*(?:async\b|\(|\w+\s*=>)|[pP]rocedure\.(?:query|mutation|subscription)\(`)
	decorator   = regexp.MustCompile(`(?m)^  @(?:Get|Post|Put|Patch|Delete)\(`)
	controller  = regexp.MustCompile(`(?m)^@Controller\(`)
)

// census counts server functions by their text alone, independently of how they are
// judged.
func census(t *testing.T, dir string) (n int) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		rel = "/" + filepath.ToSlash(rel)
		if err != nil || e.IsDir() || !regexp.MustCompile(`\.tsx?$`).MatchString(path) || testPath.MatchString(rel) {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(raw)
		switch {
		case serverFile.MatchString(text):
			n += len(action.FindAllString(text, -1))
		case strings.HasPrefix(e.Name(), "route.ts") && strings.Contains(rel, "/app/"):
			n += len(routeExport.FindAllString(text, -1))
		case strings.Contains(rel, "/pages/api/"):
			if strings.Contains(text, "export default") {
				n++
			}
		case strings.Contains(text, "rocedure"):
			n += len(procedure.FindAllString(text, -1))
		case controller.MatchString(text):
			n += len(decorator.FindAllString(text, -1))
		}
		return nil
	})
	if err != nil {
		t.Fatal(fmt.Errorf("census: %w", err))
	}
	return n
}
