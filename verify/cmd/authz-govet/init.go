package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis"
)

// initialise proposes a configuration from what the project here puts before its
// routes.
func initialise(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("authz-govet init", flag.ContinueOnError)
	f.SetOutput(terminal.New(stderr))
	force := f.Bool("force", false, "replace a configuration that is there")
	path := f.String("config", config.DefaultPath, "the file to write")
	f.Usage = func() {
		io.WriteString(stderr, "authz-govet init [--config FILE] [--force] [packages…]\n\n"+
			"Looks at the routers and the middleware of the packages (./...), tells what it saw\nand writes a configuration to go on from.\n")
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitClean
		}
		return exitFailed
	}
	patterns := f.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	err := propose(ctx, *path, *force, patterns, terminal.New(stdout))
	if err != nil {
		fmt.Fprintln(terminal.New(stderr), "authz-govet init: "+err.Error())
		return exitFailed
	}
	return exitClean
}

func propose(ctx context.Context, path string, force bool, patterns []string, out io.Writer) error {
	if _, err := os.Stat(path); err == nil && !force {
		return fmt.Errorf("%s is there already; --force replaces it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	seen, err := goanalysis.Look(ctx, dir, patterns)
	if err != nil {
		return err
	}
	lies, err := config.Look()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(seen.Routers)) {
		fmt.Fprintf(out, "%s: %d registrations\n", name, seen.Routers[name])
	}
	if len(seen.Routers) == 0 {
		fmt.Fprintln(out, "no router that is known: name the types of your own in go.routes.routers")
	}
	for _, m := range seen.Middleware {
		mark := "  "
		if m.Gate {
			mark = "* "
		}
		fmt.Fprintf(out, "%s%s, %d times: %s\n", mark, m.Name, m.Count, m.Why)
	}
	text, err := proposal(seen, lies, patterns)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s: the guesses (*) are in go.routes.gates — take out what does not decide who may\n", path)
	return nil
}

// proposal is the text of the configuration; members that begin with "//" are remarks.
func proposal(seen *goanalysis.Survey, lies *config.Survey, patterns []string) ([]byte, error) {
	catalog := "catalog.json"
	if len(lies.Catalogs) > 0 {
		catalog = lies.Catalogs[0].Path
	}
	gates, known, other := []string{}, []string{}, []string{}
	for _, m := range seen.Middleware {
		switch {
		case m.Gate:
			gates = append(gates, m.Name)
		case m.Known:
			known = append(known, m.Name)
		default:
			other = append(other, m.Name)
		}
	}
	why := "Middleware, interceptors and functions that decide who may. These answer 401 or 403."
	if len(known) > 0 {
		why += " Gates without being named: " + strings.Join(known, ", ") + "."
	}
	why += " Not taken for gates: " + cmp.Or(strings.Join(other, ", "), "nothing") + "."
	type routesText struct {
		WhyGates  string   `json:"// gates"`
		Gates     []string `json:"gates"`
		WhyPublic string   `json:"// public"`
		Public    []string `json:"public"`
	}
	type goText struct {
		Packages []string   `json:"packages"`
		Routes   routesText `json:"routes"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		WhyCatalog string   `json:"// catalog"`
		Catalog    string   `json:"catalog"`
		Include    []string `json:"include"`
		Go         goText   `json:"go"`
	}{
		"The emitted catalog document of the application.", catalog, append([]string{}, lies.Include...), goText{patterns, routesText{
			why, gates, "Routes for everybody, as \"GET /health\" or \"/static/*\".", []string{},
		}},
	})
	return b.Bytes(), err
}
