// Package goanalysis checks Go sources against a catalog (spec: verifier §12):
// every permission that a call of the client names, every server function that
// asks nobody, every decision that is thrown away.
//
// Checker judges one type-checked package and answers with all that was found,
// warnings and references included, for whoever sees a whole program. Analyzer
// puts it behind golang.org/x/tools/go/analysis, for go vet, gopls,
// golangci-lint and multicheckers: there each package stands alone, so only
// errors are reported. Neither runs the code that is judged, and nothing is
// kept in package variables.
package goanalysis
