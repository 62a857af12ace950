// Command compare measures authz beside other engines on one equal workload. It
// verifies first: in each world every engine answers every question as the rows
// have it, or nothing is timed and the command fails; worlds done before are reported.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/bench/compare"
	"github.com/authzhost/authz/bench/engine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run answers 0, 1 where the comparison failed, 2 for a malformed command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(errs)
	users := flags.String("users", "1000,10000", "users of the worlds, by comma")
	depths := flags.String("depth", "5,20", "depths of the worlds' documents, by comma")
	seconds := flags.Float64("seconds", 2, "length of each timed run")
	questions := flags.Int("questions", 10_000, "questions that all engines must agree on; with --lists 30 where it is left out")
	patience := flags.Duration("patience", 10*time.Minute, "leave out an engine that would take longer to verify; 0 waits for all")
	engines := flags.String("engines", "all", `engines by comma, as "authz client,opa"`)
	lists := flags.Bool("lists", false, "compare whole lists, of who may and where, in place of checks; takes no --seconds and no --patience")
	output := flags.String("output", "text", "text, json or markdown")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *lists && !given["questions"] {
		*questions = 30
	}
	o := compare.Options{Questions: *questions, Each: time.Duration(*seconds * float64(time.Second)), Patience: *patience,
		Progress: func(line string) { fmt.Fprintln(errs, time.Now().Format(time.TimeOnly), line) }}
	write := map[string]func(report, io.Writer) error{"text": report.WriteText, "json": report.WriteJSON, "markdown": report.WriteMarkdown}[*output]
	err := errors.Join(
		integers("--users", *users, &o.Users),
		integers("--depth", *depths, &o.Depths),
		choose(*engines, &o.Peers))
	switch {
	case write == nil:
		err = errors.Join(err, fmt.Errorf("--output must be text, json or markdown: %q", *output))
	case *seconds <= 0 || *questions <= 0 || *patience < 0 || flags.NArg() > 0:
		err = errors.Join(err, errors.New("--seconds and --questions must be positive, --patience not negative, and no arguments may follow"))
	case *lists && (given["seconds"] || given["patience"]):
		err = errors.Join(err, errors.New("--lists asks each question once, however long it takes: it takes no --seconds and no --patience"))
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	found, some, err := measure(ctx, o, *lists, *engines == "all")
	if some {
		err = errors.Join(err, write(found, out))
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// report is what either comparison found.
type report interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
	WriteMarkdown(io.Writer) error
}

// measure compares lists or checks, and says whether anything was measured.
func measure(ctx context.Context, o compare.Options, lists, all bool) (found report, some bool, err error) {
	if !lists {
		r, err := compare.Run(ctx, o)
		return r, len(r.Worlds) > 0, err
	}
	var out []compare.LeftOut
	if all {
		o.Peers, out = compare.Listers()
	}
	r, err := compare.RunLists(ctx, o)
	r.LeftOut = out
	return r, len(r.Lines) > 0, err
}

func integers(name, list string, into *[]int) error {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n <= 0 {
			return fmt.Errorf("%s must be positive numbers by comma: %q", name, list)
		}
		*into = append(*into, n)
	}
	return nil
}

func choose(list string, into *[]engine.Peer) error {
	all := compare.Peers()
	if list == "all" {
		*into = all
		return nil
	}
	known := map[string]engine.Peer{}
	var names []string
	for _, p := range all {
		known[p.Name] = p
		names = append(names, p.Name)
	}
	for name := range strings.SplitSeq(list, ",") {
		p, ok := known[strings.TrimSpace(name)]
		if !ok {
			return fmt.Errorf("no engine is called %q; there are: %s", name, strings.Join(names, ", "))
		}
		*into = append(*into, p)
	}
	return nil
}
