package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/authzhost/authz/verify/config"
)

const initName = "authz-verify init"

func runInit(args []string, stdout, stderr io.Writer) int {
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
	if err := replaceFile(path, found.Text()); err != nil {
		return fail(stderr, initName, fmt.Errorf("cannot write %s: %w", path, short(err)))
	}
	fmt.Fprintf(stderr, "%s: wrote %s\n", initName, escape(path))
	if len(found.Catalogs) == 0 {
		fmt.Fprintf(stderr, "%s: no catalog document was found: set \"catalog\" in %s\n", initName, escape(path))
	}
	return exitClean
}
