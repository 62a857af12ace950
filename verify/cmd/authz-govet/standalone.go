package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis"
)

const usage = `Authz-govet checks Go packages against an authz catalog.

  authz-govet [flags] packages…                     report, and end with what was judged
  authz-govet -fix packages…                        replace mistyped keys
  go vet -vettool=$(which authz-govet) packages…    the same, remembered by go vet
  authz-govet init [--force]                        propose a configuration for the project here

  -json                       one JSON object on stdout instead of text
  -authzverify.config FILE    configuration; looked for from each package's folder upwards
  -authzverify.catalog FILE   catalog document, instead of the configuration's
  -authzverify.tests          judge _test.go files too
  -fix, -diff, -c N           as in every analyzer of go vet

Exit status: 0 nothing found, 3 findings, 1 the run could not be made. With -json
findings do not change it.
`

// command is a run without go vet.
type command struct {
	options  goanalysis.Options
	patterns []string
	json     bool
	help     bool
}

// readArguments reads a command line. Not ok is one for the drivers of go/analysis: go
// vet's, and one with flags that only these know.
func readArguments(args []string, o goanalysis.Options) (command, bool) {
	c := command{options: o}
	f := flag.NewFlagSet("authz-govet", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&c.options.Config, "authzverify.config", o.Config, "")
	f.StringVar(&c.options.Catalog, "authzverify.catalog", o.Catalog, "")
	f.BoolVar(&c.options.Tests, "authzverify.tests", o.Tests, "")
	f.BoolVar(&c.json, "json", false, "")
	f.BoolVar(&c.help, "help", false, "")
	f.BoolVar(&c.help, "h", false, "")
	if f.Parse(args) != nil {
		return c, false
	}
	c.patterns = f.Args()
	switch {
	case c.help:
		return c, true
	case len(c.patterns) == 0:
		c.help = true
		return c, true
	case c.patterns[0] == "help" || strings.HasSuffix(c.patterns[0], ".cfg"):
		return c, false
	}
	return c, true
}

// The exit statuses of the drivers of go/analysis.
const (
	exitClean  = 0
	exitFailed = 1
	exitFound  = 3
)

func (c command) run(stdout, stderr io.Writer) int {
	if c.help {
		io.WriteString(stdout, usage)
		return exitClean
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.Getwd()
	var judged *goanalysis.Judged
	if err == nil {
		judged, err = goanalysis.Run(ctx, c.options, dir, c.patterns)
	}
	if err != nil {
		fmt.Fprintln(terminal.New(stderr), "authz-govet: "+err.Error())
		return exitFailed
	}
	if c.json {
		err = writeJSON(stdout, judged)
	} else {
		err = writeText(terminal.New(stderr), judged)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "authz-govet:", err)
		return exitFailed
	case !c.json && len(found(judged)) > 0:
		return exitFound
	}
	return exitClean
}

// found are the errors, as the analyzer tells them; warnings need the whole catalog.
func found(judged *goanalysis.Judged) []verify.Finding {
	all := []verify.Finding{}
	for _, r := range judged.Reports {
		for _, f := range r.Findings {
			if f.Severity == authz.SeverityError {
				all = append(all, f)
			}
		}
	}
	return all
}

func writeText(out io.Writer, judged *goanalysis.Judged) error {
	w := bufio.NewWriter(out)
	for _, f := range found(judged) {
		fmt.Fprintf(w, "%s:%d:%d: [%s] %s\n", f.File, f.Line, f.Column, f.Rule, f.Message)
	}
	fmt.Fprintln(w, judged.Tally)
	return w.Flush()
}

func writeJSON(out io.Writer, judged *goanalysis.Judged) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	return e.Encode(struct {
		Findings        []verify.Finding `json:"findings"`
		ServerFunctions struct {
			Total int `json:"total"`
			goanalysis.Tally
		} `json:"serverFunctions"`
	}{found(judged), struct {
		Total int `json:"total"`
		goanalysis.Tally
	}{judged.Tally.Total(), judged.Tally}})
}
