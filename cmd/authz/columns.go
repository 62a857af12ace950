package main

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/authzhost/authz/internal/terminal"
)

// columnGap is what keeps two columns apart.
const columnGap = 2

// terminalWidth is how many characters a line of the terminal has, 0 for what is none.
func terminalWidth(w io.Writer) int {
	f, ok := terminal.File(w)
	if !ok || !onTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// fitted gives the rows as lines of a terminal: where the columns are too wide together,
// the widest go on in the lines below. Nothing is cut, and no word is broken, so that every
// id can be copied. A table whose words do not fit stays as wide as they are.
func fitted(rows [][]string, width int) [][]string {
	var widest, words []int // of each column: its widest cell, and its longest word
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widest) {
				widest, words = append(widest, 0), append(words, 0)
			}
			widest[i] = max(widest[i], utf8.RuneCountInString(cell))
			for _, word := range broken(cell) {
				words[i] = max(words[i], utf8.RuneCountInString(strings.TrimSpace(word)))
			}
		}
	}
	limits := slices.Clone(widest)
	for most := width; most > 0 && total(limits) > width; most-- {
		for i := range limits {
			limits[i] = min(widest[i], max(words[i], most))
		}
	}
	var lines [][]string
	for _, row := range rows {
		cells := make([][]string, len(row))
		height := 1
		for i, cell := range row {
			cells[i] = wrapped(cell, limits[i])
			height = max(height, len(cells[i]))
		}
		for at := range height {
			line := make([]string, len(row))
			for i, parts := range cells {
				if at < len(parts) {
					line[i] = parts[at]
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func total(widths []int) (sum int) {
	for _, w := range widths {
		sum += w + columnGap
	}
	return sum - columnGap
}

// broken are the parts of a cell between which a line may end: behind a space and behind a
// comma.
func broken(cell string) (parts []string) {
	for cell != "" {
		at := strings.IndexAny(cell, " ,")
		if at < 0 {
			return append(parts, cell)
		}
		for at < len(cell) && (cell[at] == ' ' || cell[at] == ',') {
			at++
		}
		parts, cell = append(parts, cell[:at]), cell[at:]
	}
	return parts
}

func wrapped(cell string, limit int) (lines []string) {
	line := ""
	for _, part := range broken(cell) {
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(strings.TrimRight(part, " ")) > limit {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += part
	}
	return append(lines, line)
}
