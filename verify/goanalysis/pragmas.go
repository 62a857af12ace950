package goanalysis

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"

	"github.com/authzhost/authz/verify"
)

const (
	ignoreWord = "authz-verify-ignore-"
	ignoreFile = ignoreWord + "file"
	serverMark = "authz:server"
)

// filePragma finds the pragma that takes the file out: the first in the header,
// else the first anywhere, which does nothing.
func (s *source) filePragma() (reason string, pos token.Pos, effective, found bool) {
	packageLine := s.lineOf(s.file.Package)
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			for offset, text := range commentLines(comment.Text) {
				rest, ok := strings.CutPrefix(text, ignoreFile)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				at := comment.Pos() + token.Pos(offset)
				header := at < s.file.Package || s.lineOf(at) == packageLine
				if header || !found {
					reason, pos, effective, found = strings.TrimSpace(rest), at, header, true
				}
				if header {
					return
				}
			}
		}
	}
	return
}

// commentLines yields the text of each line of a comment, and where it begins,
// without what makes it a comment.
func commentLines(text string) func(func(int, string) bool) {
	block := strings.HasPrefix(text, "/*")
	return func(yield func(int, string) bool) {
		text = strings.TrimSuffix(text, "*/")
		for offset := 0; ; {
			line, rest, more := strings.Cut(text[offset:], "\n")
			said := line
			switch {
			case offset == 0:
				said = line[2:]
				if block {
					said = strings.TrimPrefix(said, "*")
				}
			case block:
				said = strings.TrimPrefix(strings.TrimLeft(line, " \t"), "*")
			}
			said = strings.TrimLeft(said, " \t")
			if !yield(offset+len(line)-len(said), strings.TrimRight(said, " \t\r")) || !more {
				return
			}
			offset = len(text) - len(rest)
		}
	}
}

// suppressions reads the line pragmas of a file by the line that each is about.
// Only line comments hold one, so the text is reduced to these and to whether
// code stands before them.
func (s *source) suppressions() map[int][]verify.Suppression {
	var lines []string
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if !strings.HasPrefix(comment.Text, "//") || !strings.Contains(comment.Text, ignoreWord) {
				continue
			}
			at, before := s.position(comment.Pos())
			for len(lines) < at.Line {
				lines = append(lines, "")
			}
			lines[at.Line-1] = comment.Text
			if len(bytes.TrimSpace(before)) > 0 {
				lines[at.Line-1] = "code " + comment.Text
			}
		}
	}
	return verify.FindLineSuppressions(strings.Join(lines, "\n"))
}

// marked reports a "//authz:server" line before the package clause.
func marked(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			word, _, _ := strings.Cut(strings.TrimPrefix(comment.Text, "//"), " ")
			if comment.Pos() < file.Package && strings.TrimRight(word, "\r") == serverMark {
				return true
			}
		}
	}
	return false
}

func (s *source) lineOf(pos token.Pos) int { return s.fset.PositionFor(pos, s.cgo).Line }
