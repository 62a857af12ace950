package goanalysis

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/sdk/authz"
)

// The rules that a package can break (verifier contract §5 and §12).
const (
	RuleUnknownPattern = "unknown-pattern"
	RuleUnknownImport  = "unknown-import"
	RuleImplicitImport = "implicit-import"
	RuleVisibility     = "visibility-as-gate"
	RuleCondition      = "missing-condition"
	RuleUngated        = "ungated-action"
	RuleUnchecked      = "unchecked-gate"
	RuleClientSecret   = "client-reachable-secret"
	RuleIgnoredFile    = "ignored-file"
	RuleStale          = "stale-suppression"
)

// Package is one type-checked package. ReadFile supplies the text of its files;
// it may be called for any of them.
type Package struct {
	Fset     *token.FileSet
	Files    []*ast.File
	Types    *types.Package
	Info     *types.Info
	ReadFile func(name string) ([]byte, error)
}

// Issue is one breach. File is the path as reported, Line counts from 1.
type Issue struct {
	Severity authz.Severity
	Rule     string
	File     string
	Line     int
	Message  string
	Pos, End token.Pos

	// Fixes are alternatives, the likeliest first.
	Fixes []analysis.SuggestedFix
}

// Skipped is a file that a pragma takes out.
type Skipped struct {
	File, Reason string
}

// Result is what a package shows. Issues are in the contract's order (§8). Keys
// and Patterns are what its gates and visibility calls name.
type Result struct {
	Issues   []Issue
	Keys     map[string]bool
	Patterns map[string]bool
	Skipped  []Skipped
	Files    int // read, skipped ones included
}
