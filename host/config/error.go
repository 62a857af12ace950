package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a configuration. Path is the full path of the
// key, "" for the file as a whole; Line is its line in the file, 0 when it does
// not stand there. Message says what to do and never shows a secret.
type Problem struct {
	Path    string
	Message string
	Line    int
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error carries everything that is wrong with a configuration, in the order of
// the file, what does not stand there last. File is "" when there was none.
type Error struct {
	File     string
	Problems []Problem
}

// maxShown bounds how many problems the text repeats; Problems has all.
const maxShown = 50

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("invalid configuration")
	if e.File != "" {
		b.WriteString(" " + e.File)
	}
	b.WriteString(":")
	for _, p := range e.Problems[:min(len(e.Problems), maxShown)] {
		b.WriteString("\n  - " + p.String())
	}
	if left := len(e.Problems) - maxShown; left > 0 {
		fmt.Fprintf(&b, "\n  - and %d more", left)
	}
	return b.String()
}

func (e *Error) ErrorName() string { return "ConfigError" }
func (e *Error) ErrorCode() string { return "" }

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Line == b.Line:
			return strings.Compare(a.Path, b.Path)
		case a.Line == 0:
			return 1
		case b.Line == 0:
			return -1
		}
		return a.Line - b.Line
	})
}
