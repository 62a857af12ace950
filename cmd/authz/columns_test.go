package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestColumnsThatAreTooWideGoOnBelow(t *testing.T) {
	rows := [][]string{
		{"ID", "NAME", "PATTERNS"},
		{"editor", "Who edits", "docs.files.read, docs.files.edit, docs.bills.*"},
		{"x", "", `{"a":1,"b":2}`},
	}
	want := [][]string{
		{"ID", "NAME", "PATTERNS"},
		{"editor", "Who edits", "docs.files.read,"},
		{"", "", "docs.files.edit,"},
		{"", "", "docs.bills.*"},
		{"x", "", `{"a":1,"b":2}`},
	}
	if d := cmp.Diff(want, fitted(rows, 36)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(rows, fitted(rows, 80)); d != "" {
		t.Errorf("a table that fits: %s", d)
	}
	if got := fitted(nil, 80); len(got) != 0 {
		t.Errorf("no rows are %q", got)
	}
}

// A line that ends early, of a cell that goes on or of empty ones, leaves the columns where
// they are.
func TestEmptyCellsLeaveColumnsWhereTheyAre(t *testing.T) {
	var out strings.Builder
	table(&out, [][]string{{"ID", "NAME", "NOTE"}, {"short", "x", "y"}, {"b", "", ""}, {"a-much-longer-id", "", "z"}})
	lines := strings.Split(out.String(), "\n")
	at := strings.Index(lines[0], "NOTE")
	if strings.Index(lines[1], "y") != at || strings.Index(lines[3], "z") != at {
		t.Errorf("the last column begins at %d, and not everywhere:\n%s", at, out.String())
	}
}

// Nothing is lost, no word is broken, and where the words fit the lines do.
func TestFittedTablesHaveEveryWordWithinTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching(`[a-zä,. {}]{0,40}`), columns, columns), 1, 6).Draw(t, "rows")
		width := rapid.IntRange(1, 160).Draw(t, "width")
		lines := fitted(rows, width)
		least, widest := -columnGap, -columnGap
		for i := range columns {
			word, cells := 0, 0
			var given, shown []string
			for _, row := range rows {
				given = append(given, row[i])
				for _, part := range broken(row[i]) {
					word = max(word, utf8.RuneCountInString(strings.TrimSpace(part)))
				}
			}
			for _, line := range lines {
				shown = append(shown, line[i])
				cells = max(cells, utf8.RuneCountInString(strings.TrimRight(line[i], " ")))
			}
			squeezed := func(s []string) string { return strings.ReplaceAll(strings.Join(s, ""), " ", "") }
			if squeezed(given) != squeezed(shown) {
				t.Fatalf("column %d: %q became %q", i, given, shown)
			}
			least, widest = least+word+columnGap, widest+cells+columnGap
		}
		if least <= width && widest > width {
			t.Fatalf("%d columns where %d would do in %d: %q", widest, least, width, lines)
		}
	})
}
