package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/conformance/runner"
)

func newTable() *cobra.Command {
	return &cobra.Command{
		Use:   "table REPORT.json...",
		Short: "Lay the reports of several plugins side by side",
		Long: `Lay reports of 'run --output json' side by side, kind by kind: a line a case, a column a report,
named as its file. Below it says what failed cases did, and why others were skipped. It fails when a report did not pass: a case failed in
it, known here or not, or its run was ended.`,
		Example: `  authz-conformance run ./authz-plugin-acmedb --config acme.yaml --output json >acmedb.json
  authz-conformance table acmedb.json sqlite.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			var columns []column
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					return usageError{err}
				}
				col := column{name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
				if err := json.Unmarshal(b, &col.report); err != nil || len(col.report.Cases) == 0 {
					return usageError{errors.Join(fmt.Errorf("%s is no report of 'run --output json'", file), err)}
				}
				columns = append(columns, col)
			}
			return writeTable(c.OutOrStdout(), columns)
		},
	}
}

// column is the report of one plugin.
type column struct {
	name   string
	report document
}

func (c column) result(suite, id string) (documentCase, bool) {
	for _, r := range c.report.Cases {
		if r.Suite == suite && r.ID == id {
			return r, true
		}
	}
	return documentCase{}, false
}

// proves reports whether the report has cases of those suites.
func (c column) proves(suites []string) bool {
	return slices.ContainsFunc(c.report.Cases, func(r documentCase) bool { return slices.Contains(suites, r.Suite) })
}

func writeTable(out io.Writer, columns []column) error {
	blocks := 0
	for _, kind := range kinds {
		cases, err := casesOf([]string{kind})
		if err != nil {
			return err
		}
		suites := runner.Suites(cases)
		proving := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !c.proves(suites) })
		if len(proving) == 0 {
			continue
		}
		if blocks++; blocks > 1 {
			fmt.Fprintln(out)
		}
		if err := writeBlock(out, cases, proving); err != nil {
			return err
		}
	}
	failed := false
	for _, col := range columns {
		if !col.report.Passed {
			failed = true
			fmt.Fprintf(out, "%s did not pass: %s\n", col.name, strings.Join(col.failures(), ", "))
			col.report.writeFailures(out)
		}
		skips := col.skips()
		for _, reason := range slices.Sorted(maps.Keys(skips)) {
			fmt.Fprintf(out, "%s skipped %s: %s\n", col.name, strings.Join(skips[reason], ", "), reason)
		}
	}
	if failed {
		return errFailed
	}
	return nil
}

// writeBlock lays the reports of one kind side by side.
func writeBlock(out io.Writer, cases []runner.Case, columns []column) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "CASE")
	for _, col := range columns {
		fmt.Fprintf(w, "\t%s", col.name)
	}
	fmt.Fprintln(w)
	passed, all := make([]int, len(columns)), make([]int, len(columns))
	for _, c := range cases {
		fmt.Fprintf(w, "%s/%s", c.Suite, c.ID)
		for i, col := range columns {
			r, ran := col.result(c.Suite, c.ID)
			cell := "not run"
			if ran {
				cell = string(r.Outcome)
				all[i]++
			}
			switch r.Outcome {
			case runner.Passed:
				passed[i]++
			case runner.Failed:
				cell = "FAILED"
			}
			fmt.Fprintf(w, "\t%s", cell)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "passed")
	for i := range columns {
		fmt.Fprintf(w, "\t%d of %d", passed[i], all[i])
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// failures are the failed cases, those included that this version does not know, and
// that the run was ended.
func (c column) failures() (all []string) {
	for _, r := range c.report.Cases {
		if r.Outcome == runner.Failed {
			all = append(all, r.ID)
		}
	}
	if c.report.Ended {
		all = append(all, "the run was ended before all cases had run")
	}
	return all
}

// skips gathers the cases that were skipped, by their reasons.
func (c column) skips() map[string][]string {
	reasons := map[string][]string{}
	for _, r := range c.report.Cases {
		if r.Outcome == runner.Skipped {
			reasons[r.Reason] = append(reasons[r.Reason], r.ID)
		}
	}
	return reasons
}
