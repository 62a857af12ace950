package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/conformance/sink"
)

// document is a report as programs read it.
type document struct {
	Plugin  documentPlugin           `json:"plugin"`
	Driver  *documentDriver          `json:"driver,omitempty"` // of storage
	Notes   []string                 `json:"notes"`
	Started time.Time                `json:"started"`
	TookMs  int64                    `json:"tookMs"`
	Passed  bool                     `json:"passed"` // all cases were come to, and none failed
	Ended   bool                     `json:"ended"`  // before all had run
	Summary map[string]documentSuite `json:"summary"`
	Cases   []documentCase           `json:"cases"`
}

type documentPlugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`

	Kinds []string `json:"kinds"` // that were proved
}

type documentDriver struct {
	Name         string `json:"name"`
	Durable      *bool  `json:"durable"` // null: not declared
	CrossProcess bool   `json:"crossProcess"`
}

type documentSuite struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

type documentCase struct {
	Kind    string           `json:"kind"`
	Suite   string           `json:"suite"`
	ID      string           `json:"id"`
	Rule    string           `json:"rule"`
	Needs   []string         `json:"needs"`
	Outcome runner.Outcome   `json:"outcome"`
	Reason  string           `json:"reason,omitempty"` // of a skip
	TookMs  int64            `json:"tookMs"`
	Failure *documentFailure `json:"failure,omitempty"`
}

type documentFailure struct {
	Done     []string `json:"done"`
	Expected string   `json:"expected"`
	Got      string   `json:"got"`
	Where    string   `json:"where,omitempty"`
	Again    string   `json:"again"` // the command line that runs this case alone
}

func (f *runFlags) report(d found, r runner.Report) document {
	doc := document{
		Plugin: documentPlugin{d.plugin.Name, d.plugin.Version, d.path, d.served},
		Notes:  append([]string{}, d.notes...), Started: r.Started.UTC(), TookMs: r.Took.Milliseconds(),
		Passed: !r.Ended && r.Count("", runner.Failed) == 0, Ended: r.Ended, Summary: map[string]documentSuite{}, Cases: []documentCase{},
	}
	if d.storage != nil {
		info := d.storage.driver
		doc.Driver = &documentDriver{info.Name, info.Durable, info.CrossProcess}
	}
	for _, result := range r.Results {
		c := documentCase{Kind: result.Case.Kind, Suite: result.Case.Suite, ID: result.Case.ID, Rule: result.Case.Rule, Needs: result.Case.Needs,
			Outcome: result.Outcome, Reason: result.Reason, TookMs: result.Duration.Milliseconds()}
		if x := result.Failure; x != nil {
			c.Failure = &documentFailure{Done: append([]string{}, x.Steps...), Expected: x.Expected, Got: x.Got, Where: x.Where, Again: f.again(d, c.ID)}
		}
		doc.Cases = append(doc.Cases, c)
		doc.Summary[c.Suite] = documentSuite{Passed: r.Count(c.Suite, runner.Passed),
			Failed: r.Count(c.Suite, runner.Failed), Skipped: r.Count(c.Suite, runner.Skipped)}
	}
	return doc
}

// again is the command line that runs one case alone. A configuration given as
// text that holds a secret is not repeated.
func (f *runFlags) again(d found, id string) string {
	args := []string{"authz-conformance", "run", f.plugin}
	if f.config != "" {
		config := f.config
		if s, err := parseSettings(config); err == nil && s.inline {
			for _, setting := range d.plugin.Settings {
				if _, given := s.values[setting.Name]; given && setting.Secret {
					config = "(the configuration, which holds a secret)"
				}
			}
		}
		args = append(args, "--config", config)
	}
	for _, e := range f.env {
		name, _, _ := strings.Cut(e, "=")
		args = append(args, "--env", name)
	}
	if f.partition != "" {
		args = append(args, "--partition", f.partition)
	}
	for _, other := range []struct{ flag, value string }{{"--target", f.target}, {"--counts-url", f.countsURL}, {"--change", f.change}} {
		if strings.Contains(other.value, "@") {
			other.value = "(the address, which holds a secret)"
		}
		if other.value != "" {
			args = append(args, other.flag, other.value)
		}
	}
	if f.countsURL != "" && f.countsMetric != defaultMetric {
		args = append(args, "--counts-metric", f.countsMetric)
	}
	if f.countsURL != "" && f.patience != sink.DefaultPatience {
		args = append(args, "--counts-within", f.patience.String())
	}
	if f.timeout != runner.DefaultTimeout {
		args = append(args, "--timeout", f.timeout.String())
	}
	if f.roundsWithin != 0 {
		args = append(args, "--rounds-within", f.roundsWithin.String())
	}
	for i, arg := range args {
		args[i] = quoted(arg)
	}
	return strings.Join(append(args, "--case", id), " ")
}

// quoted is a word of a shell's command line.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (d document) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// writeFailures tells of each failed case what was done, expected and got.
func (d document) writeFailures(w io.Writer) {
	for _, c := range d.Cases {
		if c.Failure == nil {
			continue
		}
		fmt.Fprintf(w, "FAILED %s/%s\n", c.Suite, c.ID)
		fmt.Fprintf(w, "  rule:      %s\n  done:\n", c.Rule)
		for _, step := range c.Failure.Done {
			fmt.Fprintf(w, "    %s\n", indented(step, "      "))
		}
		fmt.Fprintf(w, "  expected:  %s\n", indented(c.Failure.Expected, "             "))
		fmt.Fprintf(w, "  got:       %s\n", indented(c.Failure.Got, "             "))
		if c.Failure.Where != "" {
			fmt.Fprintf(w, "  where:     %s\n", c.Failure.Where)
		}
		fmt.Fprintf(w, "  run again: %s\n\n", c.Failure.Again)
	}
}

func (d document) writeText(w io.Writer) error {
	d.writeFailures(w)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SUITE\tPASSED\tFAILED\tSKIPPED")
	for _, suite := range runner.Suites(allCases()) {
		if s, ran := d.Summary[suite]; ran {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", suite, s.Passed, s.Failed, s.Skipped)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if d.Ended {
		fmt.Fprintln(w, "\nThe run was ended before all cases had run.")
	}
	return d.writeSkips(w)
}

// writeSkips tells each reason with the cases that it kept from running.
func (d document) writeSkips(w io.Writer) error {
	ids := map[string][]string{}
	var reasons []string
	for _, c := range d.Cases {
		if c.Outcome == runner.Skipped {
			if len(ids[c.Reason]) == 0 {
				reasons = append(reasons, c.Reason)
			}
			ids[c.Reason] = append(ids[c.Reason], c.ID)
		}
	}
	slices.Sort(reasons)
	for i, reason := range reasons {
		if i == 0 {
			fmt.Fprintln(w, "\nSkipped:")
		}
		if _, err := fmt.Fprintf(w, "  %s: %s\n", reason, strings.Join(ids[reason], " ")); err != nil {
			return err
		}
	}
	return nil
}

func indented(s, by string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}
