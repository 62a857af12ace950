package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Place is where something begins in a text: line and character, counted from 1.
// Zero is nowhere.
type Place struct{ Line, Column int }

// Error says why bytes could not be read as their format. At is nowhere when the
// problem names its own line.
type Error struct {
	At      Place
	Problem string
}

func (e *Error) Error() string {
	if e.At.Line == 0 {
		return e.Problem
	}
	return fmt.Sprintf("line %d, column %d: %s", e.At.Line, e.At.Column, e.Problem)
}

// errorAt is an error at an offset in bytes.
func errorAt(b []byte, offset int, problem string) error {
	before := b[:min(max(offset, 0), len(b))]
	return &Error{Problem: problem, At: Place{
		Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
	}}
}

// Places remembers where the paths of a text lie. Nil ones belong to a text whose
// places and unknown members nobody asks for.
type Places map[string]Place

// Note remembers the first place of a path.
func (p Places) Note(path string, at Place) {
	if p == nil {
		return
	}
	if _, known := p[path]; !known {
		p[path] = at
	}
}

// Within finds a path, or the nearest that it lies in.
func (p Places) Within(path string) (Place, bool) {
	for path != "" {
		if at, ok := p[path]; ok {
			return at, true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Place{}, false
}
