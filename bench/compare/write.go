package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the report whole.
func (r *Report) WriteJSON(w io.Writer) error {
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// WriteText writes tables aligned by blanks.
func (r *Report) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintln(w, r.Machine); err != nil {
		return err
	}
	for _, world := range r.Worlds {
		if _, err := fmt.Fprintf(w, "\n%s\n\n", world.title()); err != nil {
			return err
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, strings.Join(columns, "\t"))
		for _, l := range world.Lines {
			fmt.Fprintln(table, strings.Join(l.cells(), "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, note := range world.notes() {
			if _, err := fmt.Fprintln(w, note); err != nil {
				return err
			}
		}
	}
	return r.models(w, "\n%s %s: %s")
}

// WriteMarkdown writes tables for a document.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Machine)
	for _, world := range r.Worlds {
		fmt.Fprintf(&b, "\n%s\n\n| %s |\n|%s\n", world.title(), strings.Join(columns, " | "), " --- |"+strings.Repeat(" ---: |", len(columns)-1))
		for _, l := range world.Lines {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(l.cells(), " | "))
		}
		for _, note := range world.notes() {
			fmt.Fprintf(&b, "\n%s\n", note)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return r.models(w, "\n- %s %s: %s")
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %s/%s, %s, GOMAXPROCS %d", m.Go, m.OS, m.Arch, m.CPU, m.Procs)
}

func (w *World) title() string {
	return fmt.Sprintf("%s users in %s groups, %s grants, %s revokes, %s scopes %d deep; %s questions, half of them denied",
		grouped(w.Users), grouped(w.Groups), grouped(w.Grants), grouped(w.Revokes), grouped(w.Scopes), w.Depth, grouped(w.Questions))
}

// models ends a report with how each engine held the rows.
func (r *Report) models(w io.Writer, format string) error {
	if len(r.Worlds) == 0 {
		return nil
	}
	for _, l := range r.Worlds[0].Lines {
		if _, err := fmt.Fprintf(w, format, l.Engine, l.Version, l.Model); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

var columns = []string{"engine", "ns/check", "2 goroutines", "speed-up", "allocs", "bytes", "load", "MiB loaded", "MiB warm", "× client", "× snapshot"}

func (l *Line) cells() []string {
	if l.LeftOut != "" {
		cells := []string{l.Engine, "LEFT OUT"}
		for len(cells) < len(columns) {
			cells = append(cells, "-")
		}
		return cells
	}
	return []string{
		l.Engine,
		number(l.One.NsPerCheck), number(l.Two.NsPerCheck), fmt.Sprintf("%.2f", l.One.NsPerCheck/l.Two.NsPerCheck),
		number(l.One.Allocations), number(l.One.BytesAlloced),
		fmt.Sprintf("%.2f s", l.LoadSeconds), mebibytes(l.Loaded), mebibytes(l.Warm),
		ratio(l.OverClient), ratio(l.OverSnapshot),
	}
}

// notes tells what the cells cannot.
func (w *World) notes() []string {
	var notes []string
	for _, l := range w.Lines {
		if l.LeftOut != "" {
			notes = append(notes, LeftOut{l.Engine, l.LeftOut}.String())
		} else if l.Warmed < w.Questions {
			notes = append(notes, fmt.Sprintf("%s was timed on the first %s questions, all that its warm-up of %v reached.", l.Engine, grouped(l.Warmed), maxWarmUp))
		}
	}
	return notes
}

func number(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return grouped(int(v + 0.5))
}

// grouped writes digits in threes.
func grouped(v int) string {
	digits := fmt.Sprint(v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func mebibytes(v int64) string { return fmt.Sprintf("%.1f", float64(v)/(1<<20)) }

func ratio(v float64) string {
	if v == 0 {
		return "-"
	}
	return number(v)
}
