package goanalysis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/internal/pattern"
	"github.com/authzhost/authz/verify/sources"
)

// The names that are recognised when they are declared in ClientPackages. Those of
// ownGates are this project's own, and common words elsewhere; Check counts only where
// it answers a boolean first.
var (
	defaultGates      = []string{"Can", "CanFresh", "Fresh", "Require", "RequireFresh", "RequirePermission", "GateAction", "APIRequirePermission"}
	ownGates          = []string{"Check", "RequireGate"}
	defaultVisibility = []string{"CanAny", "RequireAny", "Holds"}
	defaultInspection = []string{"Explain", "GrantedScopes"}
)

const (
	defaultClientPackages = "github.com/authzhost/authz/..."
	conditionOption       = "WithCondition"
)

// Settings says what a Checker holds the sources to. Catalog is required, all
// else may be zero. Lists add to the defaults, except ClientPackages, which
// replaces them.
type Settings struct {
	Catalog *catalog.Catalog

	// GateNames and VisibilityNames match any callee of that final name;
	// "path/to/pkg.Func" and "(path/to/pkg.Type).Method" match that one only.
	GateNames, VisibilityNames []string

	// ClientPackages are the import paths whose functions and methods the default
	// names match; "path/..." covers the packages below too. Nil means the
	// packages of this project. Its own middleware counts always.
	ClientPackages []string

	// ServerFunctions are RE2 sources, searched for in
	// "<import path>.<Func>" or "(<import path>.<Type>).<Method>".
	ServerFunctions []string

	// ServerFilePatterns and ClientFilePatterns are RE2 sources, searched for in
	// the path of a file below Dir.
	ServerFilePatterns, ClientFilePatterns []string

	// ForbidClientIdentifiers may not occur in files shipped to a client.
	ForbidClientIdentifiers []string

	// These are as in verify.Config.
	ImportSource        verify.ImportSource
	ImplicitImports     verify.Policy
	ImplicitImportAllow []string
	OwnerKeys           map[string][]string

	// Routes has handlers judged where they are registered; nil has them judged where
	// they stand.
	Routes *config.Routes

	// Exclude are substrings of paths that are not read.
	Exclude []string

	// Tests has _test.go files judged too; their references never count.
	Tests bool

	// Dir is what paths are taken relative to. A file outside it goes by its
	// absolute path, and the excludes do not concern it.
	Dir string
}

// Checker judges packages. It is immutable and safe for concurrent use.
type Checker struct {
	judge                    *verify.Judge
	gates, visibility        []string
	clients                  []string
	serverFunctions          []*regexp.Regexp
	serverFiles, clientFiles []*regexp.Regexp
	forbidden, exclude       []string
	longestForbidden         int
	tests                    bool
	dir                      string
	shown                    string // what reports name files relative to; dir unless given
	routes                   *config.Routes
}

// New compiles the settings. The error is a *verify.OptionError, or names the
// field whose pattern does not compile.
func New(s Settings) (*Checker, error) {
	judge, err := verify.NewJudge(verify.Config{
		Catalog: s.Catalog, ImportSource: s.ImportSource, ImplicitImports: s.ImplicitImports,
		ImplicitImportAllow: s.ImplicitImportAllow, OwnerKeys: s.OwnerKeys,
	})
	if err != nil {
		return nil, err
	}
	c := &Checker{
		judge: judge, gates: s.GateNames, visibility: s.VisibilityNames, clients: s.ClientPackages,
		forbidden: s.ForbidClientIdentifiers, exclude: slices.Concat(sources.DefaultExclude, s.Exclude), tests: s.Tests, dir: s.Dir,
	}
	if s.Routes != nil {
		c.routes = s.Routes
		c.gates = slices.Concat(c.gates, s.Routes.Gates)
	}
	for _, name := range c.forbidden {
		c.longestForbidden = max(c.longestForbidden, len(name))
	}
	if c.clients == nil {
		c.clients = []string{defaultClientPackages}
	}
	for _, list := range []struct {
		field   string
		sources []string
		into    *[]*regexp.Regexp
	}{
		{"serverFilePatterns", slices.Concat(verify.DefaultServerFilePatterns(), s.ServerFilePatterns), &c.serverFiles},
		{"go.serverFunctions", s.ServerFunctions, &c.serverFunctions},
		{"go.clientFilePatterns", s.ClientFilePatterns, &c.clientFiles},
	} {
		for _, source := range list.sources {
			re, err := pattern.Compile(source)
			if err != nil {
				return nil, fmt.Errorf("bad %s entry: %w", list.field, err)
			}
			*list.into = append(*list.into, re)
		}
	}
	return c, nil
}

// client reports whether the default names match in the package.
func (c *Checker) client(path string) bool {
	return ofMiddleware(path) || slices.ContainsFunc(c.clients, func(entry string) bool { return covers(entry, path) })
}

func covers(entry, path string) bool {
	root, below := strings.CutSuffix(entry, "/...")
	return path == root || below && strings.HasPrefix(path, root+"/")
}

func anyMatch(res []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}
