package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify/internal/pattern"
)

// Policy is what a literal of a namespace that the catalog neither owns nor
// imports amounts to.
type Policy string

// The policies. The zero value follows the import source: PolicyWarn with a
// registry, else PolicyError.
const (
	PolicyError Policy = "error"
	PolicyWarn  Policy = "warn"
	PolicyOff   Policy = "off"
)

// ImportSource says where the application gets the vocabulary of others. It is
// declared, never probed.
type ImportSource string

// The import sources. The zero value is SourceRegistry when the catalog imports
// anything, else SourceNone.
const (
	SourceRegistry ImportSource = "registry"
	SourceNone     ImportSource = "none"
)

// DefaultGateNames are the functions whose calls gate.
func DefaultGateNames() []string {
	return []string{"can", "fresh", "require", "requirePermission", "gateAction", "apiRequirePermission"}
}

// DefaultVisibilityNames are the functions whose calls ask what to show.
func DefaultVisibilityNames() []string { return []string{"canAny", "requireAny", "holds"} }

// DefaultServerFilePatterns match the paths of files that only a server runs.
func DefaultServerFilePatterns() []string { return []string{`app/.*route.(t|j)sx?`, `pages/api/`} }

// Config is one run (spec: verifier §10). Catalog is required.
type Config struct {
	Catalog *catalog.Catalog

	// Files are scanned in this order, none is filtered out. They are labels too,
	// and what server patterns are matched against, with "/" as the separator.
	Files []string

	// Read returns a file's text, nil means the file system. It is called from
	// several goroutines.
	Read func(file string) ([]byte, error)

	// Lists replace the defaults; nil means the defaults, empty means none.
	// Patterns are RE2, searched anywhere in the path.
	GateNames          []string
	VisibilityNames    []string
	ServerFilePatterns []string

	// ForbidClientIdentifiers may not occur in "use client" modules.
	ForbidClientIdentifiers []string

	ImportSource        ImportSource
	ImplicitImports     Policy
	ImplicitImportAllow []string // namespaces without an implicit-import issue

	// OwnerKeys are the keys of owners' documents by imported namespace. They are
	// offered where a literal of that namespace is unknown, and change nothing else.
	OwnerKeys map[string][]string

	// Exports, when set, has everything judged that is served (spec: verifier §14).
	Exports *Exports

	// Parallel bounds how many files are read at once; 0 means one for each CPU.
	Parallel int

	// Around, when set, stands around the scan of each file, on the goroutine that
	// scans it: it returns what scan returns, or what it remembers of an equal one.
	Around func(file string, scan func() (FileReport, error)) (FileReport, error)

	// Progress, when set, is told after each file how many are done. Calls do not
	// overlap.
	Progress func(done int)
}

// PatternError is a server file pattern that RE2 cannot read. Lookaround and
// backreferences are such; the reason names the construct.
type PatternError struct {
	Pattern string
	Err     error
}

func (e *PatternError) Error() string { return fmt.Sprintf("bad serverFilePatterns entry: %v", e.Err) }
func (e *PatternError) Unwrap() error { return e.Err }

// OptionError is a Config that no run can be made of.
type OptionError struct {
	Option string
	Reason string
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Reason }

// Verify scans the files and reports. The error is an *OptionError, a
// *PatternError, a *SourceError for the first file in order that cannot be read,
// or the context's.
func Verify(ctx context.Context, config Config) (*Report, error) {
	files, err := Scan(ctx, config)
	if err != nil {
		return nil, err
	}
	return Conclude(config.Catalog, files), nil
}

// Scan is Verify up to what each file said, for whoever concludes over other
// sources too.
func Scan(ctx context.Context, config Config) ([]FileReport, error) {
	s, err := NewScanner(config)
	if err != nil {
		return nil, err
	}
	return s.scanAll(ctx)
}

// compile reads regular expressions.
func compile(patterns []string) ([]*regexp.Regexp, error) {
	compiled := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		re, err := pattern.Compile(p)
		if err != nil {
			return nil, &PatternError{Pattern: p, Err: err}
		}
		compiled[i] = re
	}
	return compiled, nil
}

func orDefault(list, standard []string) []string {
	if list == nil {
		return standard
	}
	return list
}

// setOf leaves out "", which recovery from syntax errors invents as a name.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		if n != "" {
			set[n] = true
		}
	}
	return set
}

func oneOf[T comparable](option string, value T, allowed ...T) error {
	if !slices.Contains(allowed, value) {
		return &OptionError{Option: option, Reason: fmt.Sprintf("%q is not one of %q", fmt.Sprint(value), fmt.Sprint(allowed[1:]))}
	}
	return nil
}
