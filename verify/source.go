package verify

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	ts "github.com/microsoft/typescript-go/authzshim"
)

const bom = "\ufeff"

// source is one parsed file.
type source struct {
	file string
	text string // without a BOM, valid UTF-8
	tree *ts.SourceFile

	lineStarts []int // made when first asked for
}

var errTooDeep = fmt.Errorf("nested more than %d levels deep", maxDepth)

// clean drops a byte order mark and replaces what is not UTF-8.
func clean(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte(bom))
	if utf8.Valid(text) { // which is faster than the other
		return text
	}
	return bytes.ToValidUTF8(text, []byte(string(utf8.RuneError)))
}

// parse reads a text as far as it can be read. The error says why it could not be
// read at all.
func parse(file, text string, tsx bool) (*source, error) {
	if nestsTooDeep(text, tsx) {
		return nil, errTooDeep
	}
	return parseUnguarded(file, text, tsx)
}

// parseUnguarded reads a text that does not nest too deep, or a part of one.
func parseUnguarded(file, text string, tsx bool) (src *source, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the parser failed: %v", failure)
		}
	}()
	name := "/source.ts"
	if tsx {
		name += "x"
	}
	return &source{file: file, text: text, tree: ts.Parse(name, text, tsx)}, nil
}

// start is where the first token of a node is.
func (s *source) start(n *ts.Node) int { return ts.TokenStart(s.text, n.Pos()) }

// position is the line and the column of an offset, both from 1. Lines end at LF
// only, columns count UTF-16 units.
func (s *source) position(offset int) (line, column int) {
	if s.lineStarts == nil {
		s.lineStarts = []int{0}
		for i := range len(s.text) {
			if s.text[i] == '\n' {
				s.lineStarts = append(s.lineStarts, i+1)
			}
		}
	}
	line = sort.SearchInts(s.lineStarts, offset+1)
	column = 1
	for _, r := range s.text[s.lineStarts[line-1]:offset] {
		if column++; r > 0xffff {
			column++
		}
	}
	return line, column
}

// prologueEnd is where the header ends that holds pragmas: at the first token that
// belongs to no directive, or at the end of its line, where a block comment ends before
// it there. Each directive is told as it stands between its quotes.
func (s *source) prologueEnd(directive func(string)) int {
	for _, statement := range s.tree.Statements.Nodes {
		if statement.Kind != ts.KindExpressionStatement || statement.Expression().Kind != ts.KindStringLiteral {
			end := s.start(statement)
			before := s.text[statement.Pos():end]
			if strings.Contains(before[strings.LastIndexByte(before, '\n')+1:], "*/") {
				end += lengthTo(s.text[end:], "\n")
			}
			return end
		}
		literal := statement.Expression()
		raw := s.text[s.start(literal):literal.End()]
		directive(strings.Trim(raw, raw[:1]))
	}
	return len(s.text)
}

// endsInModifier reports whether the last word is one that belongs to a declaration
// also on a line below; without one it is a name.
func (s *source) endsInModifier() bool {
	statements := s.tree.Statements.Nodes
	if len(statements) == 0 {
		return false
	}
	text := s.text[:statements[len(statements)-1].End()]
	return strings.HasSuffix(text, "static") || strings.HasSuffix(text, "global")
}

// commentAt returns the bounds of the comment that an offset lies in. What looks
// like one in a string, a template, a regular expression or JSX text is none.
func (s *source) commentAt(offset int) (start, end int, ok bool) {
	n := s.tree.AsNode()
	gap := 0 // where the text begins that no child of n covers
	if strings.HasPrefix(s.text, "#!") {
		if gap = lengthTo(s.text, "\n"); offset < gap {
			return 0, 0, false
		}
	}
	for {
		inner, from := childAt(n, offset, gap)
		gap = from
		if inner == nil {
			break
		}
		n = inner
	}
	switch n.Kind {
	case ts.KindJsxText:
		return 0, 0, false
	case ts.KindStringLiteral, ts.KindPlainTemplate, ts.KindTemplateHead, ts.KindTemplateMiddle, ts.KindTemplateTail, ts.KindRegularExpression:
		if offset >= s.start(n) {
			return 0, 0, false
		}
	}
	for i := gap; i < offset; {
		rest := s.text[i:]
		length := 1
		line, block := strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*")
		switch {
		case line:
			length = lengthTo(rest, "\n")
		case block:
			length = 2 + lengthTo(rest[2:], "*/")
		}
		if (line || block) && offset < i+length {
			return i, i + length, true
		}
		i += length
	}
	return 0, 0, false
}

// childAt finds the child that covers the offset, and where the text begins that
// belongs to it or, without one, to no child.
func childAt(n *ts.Node, offset, gap int) (*ts.Node, int) {
	for child := range n.IterChildren() {
		switch {
		case child.Pos() <= offset && offset < child.End():
			return child, max(gap, child.Pos())
		case child.End() <= offset:
			gap = max(gap, child.End())
		}
	}
	return nil, gap
}
