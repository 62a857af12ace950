package goanalysis

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/authzhost/authz/verify"
)

// LoadError is a package that does not load or type-check. Nothing is known of
// what it holds, so there is no report.
type LoadError struct {
	Package string
	Errors  []packages.Error
}

func (e *LoadError) Error() string {
	first := e.Errors[0]
	for _, one := range e.Errors {
		// The go command's own error repeats all of the compiler's in one text.
		if one.Kind == packages.ParseError || one.Kind == packages.TypeError {
			first = one
			break
		}
	}
	if len(e.Errors) == 1 {
		return fmt.Sprintf("cannot load %s: %v", e.Package, first)
	}
	return fmt.Sprintf("cannot load %s: %v (and %d more)", e.Package, first, len(e.Errors)-1)
}

// Scan judges the packages that the patterns name in a folder, for verify.Conclude:
// files in the order of packages and of their names, each once. Modules that are
// missing are not fetched, and go.mod and go.sum stay as they are. The error is a
// *LoadError for the first package that has one, or what kept go list from
// answering.
func (c *Checker) Scan(ctx context.Context, dir string, patterns []string) ([]verify.FileReport, error) {
	judged, err := c.Judge(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	return judged.Reports, nil
}

// Judged is what packages that were judged together said: their files in the order of
// packages and of their names, each once, and how their server functions were judged.
type Judged struct {
	Reports []verify.FileReport
	Tally   Tally
}

// Judge is Scan, with how the server functions were judged.
func (c *Checker) Judge(ctx context.Context, dir string, patterns []string) (*Judged, error) {
	loaded, err := c.load(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	return judgeAll(ctx, loaded, func(*packages.Package) (*Checker, error) { return c, nil })
}

// load reads packages with their types, in the order of their paths.
func (c *Checker) load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	if len(patterns) == 0 {
		return nil, nil // which the go command takes for "."
	}
	env := append(os.Environ(), "GOPROXY=off", "GONOPROXY=none", "GOSUMDB=off")
	goflags, err := userFlags(ctx, dir, env)
	if err != nil {
		return nil, fmt.Errorf("list Go packages: %w", err)
	}
	var flags []string
	if strings.Contains(goflags, "-mod=mod") { // else go.mod stays as it is, and a vendor folder counts
		flags = []string{"-mod=readonly"}
	}
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Tests: c.tests, Env: env, BuildFlags: flags,
		Mode: loadMode,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("list Go packages: %w", err)
	}
	if len(c.forbidden) > 0 {
		browser, err := c.browserOnly(ctx, dir, patterns, append(env, "GOFLAGS="+goflags+notForWasm), flags, loaded)
		if err != nil {
			return nil, fmt.Errorf("list Go packages: %w", err)
		}
		loaded = append(loaded, browser...)
	}
	byPath(loaded)
	return loaded, nil
}

const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax |
	packages.NeedTypes | packages.NeedTypesInfo | packages.NeedForTest

// byPath sorts packages. Of one with tests inside it the variant that holds them comes
// first and stands for both.
func byPath(loaded []*packages.Package) {
	slices.SortStableFunc(loaded, func(a, b *packages.Package) int {
		return cmp.Or(strings.Compare(a.PkgPath, b.PkgPath), cmp.Compare(len(b.Syntax), len(a.Syntax)))
	})
}

// notForWasm takes back what of a user's flags the go command refuses for wasm.
const notForWasm = " -race=false -msan=false -asan=false -linkshared=false -buildmode=default"

// browserOnly are the packages that nothing is built of here, only for wasm: names of
// files to be read for secrets.
func (c *Checker) browserOnly(ctx context.Context, dir string, patterns, env, flags []string, here []*packages.Package) ([]*packages.Package, error) {
	known := map[string]bool{}
	for _, pkg := range here {
		known[pkg.PkgPath] = true
	}
	var only []*packages.Package
	for _, system := range []string{"js", "wasip1"} {
		loaded, err := packages.Load(&packages.Config{
			Context: ctx, Dir: dir, Tests: c.tests, Env: append(slices.Clip(env), "GOOS="+system, "GOARCH=wasm"), BuildFlags: flags,
			Mode: packages.NeedName | packages.NeedFiles,
		}, patterns...)
		if err != nil {
			return nil, err
		}
		for _, pkg := range loaded {
			if known[pkg.PkgPath] {
				continue
			}
			files := slices.Concat(pkg.GoFiles, pkg.IgnoredFiles)
			files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == testMain })
			only = append(only, &packages.Package{PkgPath: pkg.PkgPath, Fset: token.NewFileSet(), IgnoredFiles: files})
		}
	}
	return only, nil
}

// userFlags are those that the user's settings give every go command.
func userFlags(ctx context.Context, dir string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOFLAGS")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

const testMain = "_testmain.go"

// isTestMain holds of the program that go test makes. A path alone does not tell:
// it has no source of the project's own.
func isTestMain(name, path string, fset *token.FileSet, files []*ast.File) bool {
	return name == "main" && strings.HasSuffix(path, ".test") && !slices.ContainsFunc(files, func(f *ast.File) bool {
		file, _, ok := sourceOf(fset, f)
		return ok && filepath.Base(file) != testMain
	})
}
