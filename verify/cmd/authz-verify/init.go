package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/modules"
)

const initName = "authz-verify init"

// emptyCatalog declares nothing: what init looks at is judged by nothing.
func emptyCatalog() *catalog.Catalog {
	built, err := catalog.Build(catalog.Input{Namespaces: []string{"app"}})
	if err != nil {
		panic(err) // it depends on nothing
	}
	return built
}

func runInit(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	path := config.DefaultPath
	var force, help, tellVersion bool
	f := flags{
		text: map[string]*string{"--config": &path},
		last: map[string]string{"--config": config.DefaultPath},
		on:   map[string]*bool{"--force": &force, "-h": &help, "--help": &help, "--version": &tellVersion},
	}
	if err := f.parse(args); err != nil {
		return fail(stderr, initName, err)
	}
	if help {
		_, err := io.WriteString(stdout, initUsage)
		return statusOf(stderr, initName, err)
	}
	if tellVersion {
		return printVersion(stdout, stderr)
	}
	if path == "" {
		return fail(stderr, initName, errors.New("--config must not be empty"))
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return fail(stderr, initName, fmt.Errorf("%s exists already: --force replaces it", path))
	}
	found, err := config.Look()
	if err != nil {
		return fail(stderr, initName, fmt.Errorf("cannot look at the project: %w", err))
	}
	if len(found.Sources) > 0 {
		found.Proposal, err = verify.Propose(ctx, verify.Config{
			Catalog: emptyCatalog(), Files: found.Sources, Exports: &verify.Exports{Resolve: modules.New().Resolve},
		})
		if err != nil {
			return fail(stderr, initName, err)
		}
	}
	if err := replaceFile(path, found.Text()); err != nil {
		return fail(stderr, initName, fmt.Errorf("cannot write %s: %w", path, short(err)))
	}
	fmt.Fprintf(stderr, "%s: wrote %s\n", initName, escape(path))
	if p := found.Proposal; p != nil && p.Judged.ServerFunctions > 0 {
		fmt.Fprintf(stderr, "%s: %s server functions; guessed %d gate names, %d gate wrappers, %d pass-through wrappers, %d public wrappers, %d gate middleware: read them there\n",
			initName, thousands(p.Judged.ServerFunctions), len(p.GateNames), len(p.GateWrappers), len(p.PassThroughWrappers), len(p.PublicWrappers), len(p.GateMiddleware))
	}
	if len(found.Catalogs) == 0 {
		fmt.Fprintf(stderr, "%s: no catalog document was found: set \"catalog\" in %s\n", initName, escape(path))
	}
	return exitClean
}
