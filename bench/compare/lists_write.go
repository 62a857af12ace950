package compare

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

var listColumns = []string{"users", "deep", "engine", "who, p50", "p99", "where, p50", "p99", "rows"}

func (l *ListLine) cells() []string {
	return []string{fmt.Sprint(l.Users), fmt.Sprint(l.Depth), l.Engine + " " + l.Version,
		brief(l.Who), brief(l.WhoP99), brief(l.Where), brief(l.WhereP99), fmt.Sprint(l.Rows)}
}

// WriteJSON writes the report whole; times are in nanoseconds.
func (r *ListReport) WriteJSON(w io.Writer) error {
	return writeJSON(w, r)
}

// WriteText writes a table aligned by blanks.
func (r *ListReport) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\n\n%s\n", r.Machine, strings.Join(listColumns, "\t"))
	for i := range r.Lines {
		fmt.Fprintln(table, strings.Join(r.Lines[i].cells(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return r.writeLeftOut(w, "%s\n")
}

// WriteMarkdown writes a table for a document.
func (r *ListReport) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| %s |\n| ---: | ---: | --- |%s\n", r.Machine, strings.Join(listColumns, " | "), strings.Repeat(" ---: |", len(listColumns)-3))
	for i := range r.Lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.Lines[i].cells(), " | "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return r.writeLeftOut(w, "\n%s\n")
}

func (r *ListReport) writeLeftOut(w io.Writer, format string) error {
	for _, l := range r.LeftOut {
		if _, err := fmt.Fprintf(w, format, l); err != nil {
			return err
		}
	}
	return nil
}

func brief(d time.Duration) string {
	if d > 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
