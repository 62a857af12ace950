package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/terminal"
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

// table prints rows in columns. On a terminal its header is bold, and long cells take
// several lines where the columns would not fit.
func table(w io.Writer, rows [][]string) {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		shown[i] = make([]string, len(row))
		for n, cell := range row {
			shown[i][n] = plain(cell)
		}
	}
	if width := terminalWidth(w); width > 0 {
		shown = fitted(shown, width)
	}
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, columnGap, ' ', 0)
	for _, row := range shown {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // into memory
	rest := text.String()
	if len(rows) > 0 && isHeader(rows[0]) {
		line, after, _ := strings.Cut(rest, "\n")
		_ = terminal.Styled(w, terminal.Bold, line) // the writer below reports its own errors
		rest = "\n" + after
	}
	_, _ = io.WriteString(w, rest)
}

// isHeader: names of columns are in capitals, and there are several.
func isHeader(row []string) bool {
	return len(row) > 1 && !slices.ContainsFunc(row, func(cell string) bool {
		return cell == "" || strings.ContainsFunc(cell, func(r rune) bool { return (r < 'A' || r > 'Z') && r != ' ' })
	})
}

// printAnswer prints an answer that begins with ALLOWED or DENIED, the word in its colour.
func printAnswer(w io.Writer, text string) {
	for word, style := range map[string]terminal.Style{"ALLOWED": terminal.Green, "DENIED": terminal.Red} {
		if rest, is := strings.CutPrefix(text, word); is {
			_ = terminal.Styled(w, style, word) // the writer below reports its own errors
			text = rest
			break
		}
	}
	_, _ = io.WriteString(w, text)
}
