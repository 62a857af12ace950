package goanalysis

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
)

// Package is one type-checked package. Ignored names the files that build
// constraints leave out: those shipped to a client are read for secrets.
type Package struct {
	Fset     *token.FileSet
	Files    []*ast.File
	Ignored  []string
	Info     *types.Info
	ReadFile func(name string) ([]byte, error)

	// Types is the package itself. Without it no routes are followed.
	Types *types.Package

	// Below are the facts of the packages that this one imports, directly or not.
	Below map[string]*Facts

	// Alone: whoever judges sees single packages. A package then tells what it lays open
	// of those below it, and a program what nobody above it can settle.
	Alone bool
}

// Facts are what a package says of its routes to the packages that import it.
type Facts = routes.Facts

// File is what one file shows. Report is in the order of reports
// (spec: verifier §8), warnings included. Diagnostics are its errors as an
// analyzer tells them: the rule for a category, the offending argument or call
// for a range, and for a mistyped literal one fix for each alternative, the
// closest first.
type File struct {
	Report      verify.FileReport
	Diagnostics []analysis.Diagnostic
}

// diagnostic is how an analyzer tells a finding.
func diagnostic(f verify.Finding, pos, end token.Pos, fixes []analysis.SuggestedFix) (analysis.Diagnostic, bool) {
	return analysis.Diagnostic{
		Pos: pos, End: end, Category: string(f.Rule), Message: "[" + string(f.Rule) + "] " + f.Message, SuggestedFixes: fixes,
	}, f.Severity == authz.SeverityError
}
