package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultPath is the file that is read when none is named.
const DefaultPath = "authz-verify.config.json"

// Config is a configuration file with its defaults. Paths are relative to the
// working directory, not to the file.
type Config struct {
	Catalog string
	Include []string // ["src"] unless given; may be given empty
	Exclude []string // added to the built-in ones by the finder

	// Added to the verifier's defaults.
	GateNames          []string
	VisibilityNames    []string
	ServerFilePatterns []string

	ForbidClientIdentifiers []string

	ImportManifest string            // "" is none
	Imports        map[string]string // the owners' documents by namespace

	ImportSource        string // "registry", "none"; "" means by the catalog
	ImplicitImports     string // "error", "warn", "off"; "" means by the import source
	ImplicitImportAllow []string

	// Judge is "exports" where everything that is served is judged; the names and the
	// exemptions below belong to it.
	Judge               string
	GateWrappers        []string
	PassThroughWrappers []string
	PublicWrappers      []string
	GateMiddleware      []string
	RefusalsGate        bool
	Exempt              map[string]string // reasons by pattern of paths

	Go *Go // nil: no Go source is read
}

// Go is the field that switches the check of Go sources on (spec: verifier §12.1).
type Go struct {
	Packages        []string // ["./..."] unless given
	Tests           bool
	ClientPackages  []string // nil: the authz module's own
	ServerFunctions []string
	ClientFiles     []string

	Routes *Routes // nil: handlers are judged where they stand
}

// Routes has handlers judged where they are registered (spec: verifier §12.7).
type Routes struct {
	Gates   []string // middleware, interceptors, or functions that make them
	Public  []string // "[METHOD ]/path", "/path/*" for all below
	Routers []string // types of the project's own, "path.Type"
}

// JudgeExports is the value of Judge.
const JudgeExports = "exports"

// JavaScript tells whether JavaScript is read beside TypeScript.
func (c *Config) JavaScript() bool { return c.Judge == JudgeExports }

// FieldError is a field that cannot mean anything.
type FieldError struct {
	Field  string // dotted: "include", "go.tests"
	Reason string
}

func (e *FieldError) Error() string { return fmt.Sprintf("bad config field %q: %s", e.Field, e.Reason) }

// ReadError is a configuration file that cannot be read, or is not one JSON object.
type ReadError struct {
	Path   string // absolute
	Reason error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("cannot read config %s: %v", e.Path, e.Reason)
}
func (e *ReadError) Unwrap() error { return e.Reason }

// Load reads a configuration file. Besides the configuration it returns the fields
// that it does not know and passed over, in order. Errors are *ReadError and
// *FieldError.
func Load(path string) (c *Config, unknown []string, err error) {
	raw, err := os.ReadFile(path)
	if err == nil {
		c, unknown, err = Parse(raw)
	} else if short := (*os.PathError)(nil); errors.As(err, &short) {
		err = short.Err
	}
	var field *FieldError
	if err != nil && !errors.As(err, &field) {
		if abs, absErr := filepath.Abs(path); absErr == nil {
			path = abs
		}
		err = &ReadError{Path: path, Reason: err}
	}
	return c, unknown, err
}
