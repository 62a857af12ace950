package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
)

// outputFlag is the --output of commands that print results.
type outputFlag struct{ format string }

func (f *outputFlag) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.format, "output", "o", "text", "how to print: text or json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *outputFlag) check() error {
	if f.format != "text" && f.format != "json" {
		return usageError{fmt.Errorf("--output must be text or json, not %q", f.format)}
	}
	return nil
}

// print writes the value as JSON, or whatever text makes of it.
func (f *outputFlag) print(w io.Writer, value any, text func(io.Writer)) error {
	if f.format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	}
	text(w)
	return nil
}

// plain is text of a row as a terminal may show it: an id must not move its cursor.
func plain(s string) string { return spell.EchoN(s, math.MaxInt32) }

// table prints rows in columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, plain(cell))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // the writer below reports its own errors
}
