package goanalysis

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
)

// Options are the flags of the analyzer.
type Options struct {
	// Config is a configuration of authz-verify; a relative path is looked for in
	// the folder of the package and those above it. "" means config.DefaultPath there.
	Config string

	// Catalog is a catalog document that replaces the one in the configuration;
	// without Config it stands alone. A relative path is looked for as Config is.
	Catalog string

	// Tests has _test.go files judged too.
	Tests bool
}

// NewAnalyzer makes an analyzer with flags of its own that begin at the given
// options. Its result is a []File; its diagnostics are the errors, each with
// its rule for a category.
func NewAnalyzer(o Options) *analysis.Analyzer {
	flags := flag.NewFlagSet("authzverify", flag.ContinueOnError)
	flags.StringVar(&o.Config, "config", o.Config, "configuration of authz-verify; looked for from the package's folder upwards (default "+config.DefaultPath+")")
	flags.StringVar(&o.Catalog, "catalog", o.Catalog, "catalog document, instead of the configuration's")
	flags.BoolVar(&o.Tests, "tests", o.Tests, "judge _test.go files too")
	m := &maker{options: &o}
	return &analysis.Analyzer{
		Name: "authzverify",
		Doc: "check permission keys and gates against the application's authz catalog\n\n" +
			"Reports keys that the catalog does not declare, server functions that ask nobody, decisions that are thrown away, " +
			"visibility probes used as gates and conditions left out.",
		URL:        "https://pkg.go.dev/github.com/authzhost/authz/verify/goanalysis",
		Flags:      *flags,
		ResultType: reflect.TypeFor[[]File](),
		FactTypes:  []analysis.Fact{new(routes.Shared)},
		Run:        m.run,
	}
}

// maker makes the checker of each package, the same one for as long as nothing
// that it is made of changes: a language server outlives many a catalog.
type maker struct {
	options *Options
	shown   string // as Checker.shown

	mu      sync.Mutex
	last    *inputs
	checker *Checker
}

func (m *maker) run(pass *analysis.Pass) (any, error) {
	if len(pass.Files) == 0 || isTestMain(pass.Pkg.Name(), pass.Pkg.Path(), pass.Fset, pass.Files) {
		return []File(nil), nil
	}
	i := slices.IndexFunc(pass.Files, func(file *ast.File) bool { _, _, ok := sourceOf(pass.Fset, file); return ok })
	if i < 0 {
		return []File(nil), nil
	}
	name, _, _ := sourceOf(pass.Fset, pass.Files[i])
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	version := ""
	if pass.Module != nil {
		version = pass.Module.Version
	}
	if ofOthers(pass.Pkg.Path(), dir, version) {
		return []File(nil), nil
	}
	checker, err := m.checkerFor(dir)
	if errors.Is(err, errNotFound) && version != "" {
		return []File(nil), nil // a module that is replaced by a folder, seen for its facts
	}
	if err != nil {
		return nil, err
	}
	below := map[string]*Facts{}
	for _, one := range pass.AllPackageFacts() {
		if shared, ok := one.Fact.(*routes.Shared); ok && one.Package != pass.Pkg {
			maps.Copy(below, shared.ByPath)
		}
	}
	files, facts, _, err := checker.check(Package{
		Fset: pass.Fset, Files: pass.Files, Ignored: pass.IgnoredFiles, Info: pass.TypesInfo, ReadFile: pass.ReadFile,
		Types: pass.Pkg, Below: below, Alone: true,
	})
	if facts != nil && len(pass.Analyzer.FactTypes) > 0 {
		all := maps.Clone(below)
		all[pass.Pkg.Path()] = facts
		pass.ExportPackageFact(&routes.Shared{ByPath: all})
	}
	for _, file := range files {
		for _, d := range file.Diagnostics {
			pass.Report(d)
		}
	}
	return files, err
}

// ofOthers reports whether the package in a folder is of the standard library or of
// the module cache: drivers have an analyzer with facts see those too.
func ofOthers(path, dir, version string) bool {
	dir = filepath.ToSlash(dir)
	if version != "" && strings.Contains(dir, "@"+version) {
		return true
	}
	root, ok := strings.CutSuffix(dir, "/src/"+path)
	if !ok {
		return false
	}
	_, err := os.Stat(filepath.Join(root, "VERSION"))
	return err == nil
}

func (m *maker) checkerFor(dir string) (*Checker, error) {
	in, err := m.options.inputs(dir)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if reflect.DeepEqual(in, m.last) {
		return m.checker, nil
	}
	settings, err := in.settings()
	if err != nil {
		return nil, err
	}
	settings.Tests = settings.Tests || m.options.Tests
	checker, err := New(settings)
	if err != nil {
		return nil, err
	}
	checker.shown = m.shown
	m.last, m.checker = in, checker
	return checker, nil
}

func (o Options) inputs(dir string) (*inputs, error) {
	configuration, document := "", ""
	var err error
	if o.Config != "" || o.Catalog == "" {
		if configuration, err = find(o.Config, dir); err != nil {
			return nil, err
		}
	}
	if o.Catalog != "" {
		if document, err = find(o.Catalog, dir); err != nil {
			return nil, err
		}
	}
	in, err := readInputs(configuration, document)
	if err == nil {
		in.under(dir)
	}
	return in, err
}

// FollowsRoutes reports whether packages of the folder are judged by their routes. Only
// then the analyzer needs its facts, for which drivers read all that a package imports.
func (o Options) FollowsRoutes(dir string) bool {
	in, err := o.inputs(dir)
	return err == nil && in.parsed.Go != nil && in.parsed.Go.Routes != nil
}

// Fingerprint writes what packages below the folder are judged by, for drivers
// that remember results. Nothing is written where it cannot be read; judging a
// package says why.
func (o Options) Fingerprint(w io.Writer, dir string) {
	in, err := o.inputs(dir)
	if err != nil {
		return
	}
	fmt.Fprintf(w, "%q%q%q%q", in.config, in.catalog, in.manifest, in.documents) // maps print sorted
}
