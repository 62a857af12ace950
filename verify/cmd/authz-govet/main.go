// Authz-govet checks Go packages against an authz catalog, by itself or for go
// vet:
//
//	authz-govet ./...
//	go vet -vettool=$(which authz-govet) ./...
//	authz-govet init
//
// The configuration is authz-verify.config.json in the folder of a package or
// above it, what AUTHZ_VERIFY_CONFIG names, or the flag -authzverify.config;
// -authzverify.catalog names a catalog document alone.
package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/verify/goanalysis"
)

func main() {
	notices.Asked()
	options := goanalysis.Options{Config: os.Getenv("AUTHZ_VERIFY_CONFIG")}
	if len(os.Args) == 2 && os.Args[1] == "-V=full" {
		if err := identify(options); err != nil {
			os.Stderr.WriteString("authz-govet: " + err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "init" {
		os.Exit(initialise(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	}
	if c, ok := readArguments(os.Args[1:], options); ok {
		os.Exit(c.run(os.Stdout, os.Stderr))
	}
	analyzer := goanalysis.NewAnalyzer(options)
	if dir, err := os.Getwd(); err == nil && !goVet(os.Args[1:]) && !options.FollowsRoutes(dir) {
		analyzer.FactTypes = nil
	}
	multichecker.Main(analyzer) // go vet, and the flags of every analyzer
}

// goVet reports whether go vet is the caller, or another configuration may be named.
func goVet(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasSuffix(arg, ".cfg") || strings.Contains(arg, "authzverify.config")
	})
}
