package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = "../../../examples/verify-go"

var tool string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "authz-govet")
	if err == nil {
		defer os.RemoveAll(dir)
		tool = filepath.Join(dir, "authz-govet")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// in runs a command in a folder and answers what it said and its exit code.
func in(t *testing.T, dir string, env []string, name string, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func vet(t *testing.T, dir string, env []string, args ...string) (said string, code int) {
	t.Helper()
	return in(t, dir, env, "go", append([]string{"vet", "-vettool=" + tool}, args...)...)
}

// copied is the example where a test may change it, with the way to this
// project put right.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "go.mod"), "=> ../..", "=> "+root)
	return dir
}

// small is a project of one package, clean, that imports nothing: go vet has nothing
// else to look at when its flags or the configuration change.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "clean"), 0o755); err != nil {
		t.Fatal(err)
	}
	catalog, err := os.ReadFile(filepath.Join(example, "authz.catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":                   "module example.com/small\n\ngo 1.26\n",
		"authz.catalog.json":       string(catalog),
		"authz-verify.config.json": `{"catalog": "authz.catalog.json", "gateNames": ["can"], "go": {}}`,
		"clean/clean.go": "package clean\n\nfunc can(key string) bool { return key != \"\" }\n\n" +
			"func Write() bool { return can(\"notes.notes.write\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func replace(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, with)), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	finding = regexp.MustCompile(`(?m)routes\.go:(\d+):\d+: \[([a-z-]+)\]`)
	mark    = regexp.MustCompile(`// fault: ([a-z-]+)`)
)

func TestVetFindsTheTenFaultsAndNothingInTheCleanService(t *testing.T) {
	if said, code := vet(t, example, nil, "./clean", "./permissions/..."); code != 0 || said != "" {
		t.Errorf("the clean service: exit %d\n%s", code, said)
	}
	source, err := os.ReadFile(filepath.Join(example, "faulty/routes.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, line := range strings.Split(string(source), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			want = append(want, fmt.Sprintf("%d %s", i+1, m[1]))
		}
	}
	if len(want) != 10 {
		t.Fatalf("%d faults are planted", len(want))
	}
	for name, ask := range map[string]func() (string, int){
		"go vet":      func() (string, int) { return vet(t, example, nil, "./faulty") },
		"stand-alone": func() (string, int) { return in(t, example, nil, tool, "./faulty") },
	} {
		said, code := ask()
		got = nil
		for _, m := range finding.FindAllStringSubmatch(said, -1) {
			got = append(got, m[1]+" "+m[2])
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || code == 0 {
			t.Errorf("%s: exit %d\n%s\n%s", name, code, diff, said)
		}
	}
}

func TestTheDocumentOfTheExampleIsCurrent(t *testing.T) {
	said, code := in(t, example, nil, "go", "run", "./permissions/emit")
	if document, err := os.ReadFile(filepath.Join(example, "authz.catalog.json")); err != nil || code != 0 || said != string(document) {
		t.Errorf("run go generate ./permissions in %s: %v\n%s", example, err, said)
	}
}

func TestFixPutsAMistypedKeyRight(t *testing.T) {
	dir := copied(t)
	in(t, dir, nil, tool, "-fix", "./faulty")
	text, err := os.ReadFile(filepath.Join(dir, "faulty/routes.go"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "raed") || !strings.Contains(string(text), `"notes.notes.read", book(r))`) {
		t.Errorf("fixed to\n%s", text)
	}
}

func TestAChangedCatalogIsSeenThoughVetRemembersCleanPackages(t *testing.T) {
	elsewhere := t.TempDir()
	for name, put := range map[string]func(dir string) (path string, env []string){
		"found below the working directory": func(dir string) (string, []string) {
			for _, file := range []string{"authz-verify.config.json", "authz.catalog.json"} {
				if err := os.Rename(filepath.Join(dir, file), filepath.Join(dir, "clean", file)); err != nil {
					t.Fatal(err)
				}
			}
			return filepath.Join(dir, "clean/authz.catalog.json"), nil
		},
		"named by AUTHZ_VERIFY_CONFIG from the package's folder": func(dir string) (string, []string) {
			if err := os.Mkdir(filepath.Join(dir, "clean/ci"), 0o755); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{"authz-verify.config.json": "clean/ci/verify.json", "authz.catalog.json": "clean/ci/authz.catalog.json"} {
				if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
					t.Fatal(err)
				}
			}
			return filepath.Join(dir, "clean/ci/authz.catalog.json"), []string{"AUTHZ_VERIFY_CONFIG=ci/verify.json"}
		},
		"found above the package": func(dir string) (string, []string) { return filepath.Join(dir, "authz.catalog.json"), nil },
		"named by AUTHZ_VERIFY_CONFIG": func(dir string) (string, []string) {
			if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(elsewhere, "authz.catalog.json"), []string{"AUTHZ_VERIFY_CONFIG=" + filepath.Join(elsewhere, "authz-verify.config.json")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := small(t)
			document, env := put(dir)
			for range 2 {
				if said, code := vet(t, dir, env, "./clean"); code != 0 {
					t.Fatalf("exit %d\n%s", code, said)
				}
			}
			replace(t, document, "notes.notes.write", "notes.notes.change")
			if said, code := vet(t, dir, env, "./clean"); code == 0 || !strings.Contains(said, "[unknown-pattern]") {
				t.Errorf("exit %d\n%s", code, said)
			}
		})
	}
}

func TestWhatCannotBeJudgedFails(t *testing.T) {
	dir := small(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such catalog":       {[]string{"-authzverify.catalog=missing.json"}, "missing.json"},
		"no such configuration": {[]string{"-authzverify.config=missing.json"}, "missing.json"},
		"not a catalog":         {[]string{"-authzverify.catalog=go.mod"}, "invalid catalog"},
		"not a configuration":   {[]string{"-authzverify.config=go.mod"}, "go.mod"},
	} {
		if said, code := vet(t, dir, nil, append(c.args, "./clean")...); code == 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d\n%s", name, code, said)
		}
	}
	if err := os.Remove(filepath.Join(dir, "authz-verify.config.json")); err != nil {
		t.Fatal(err)
	}
	if said, code := vet(t, dir, nil, "./clean"); code == 0 || !strings.Contains(said, "no configuration") {
		t.Errorf("no configuration: exit %d\n%s", code, said)
	}
	if said, code := vet(t, dir, nil, "-authzverify.catalog=authz.catalog.json", "./clean"); code != 0 {
		t.Errorf("a catalog alone: exit %d\n%s", code, said)
	}
}
