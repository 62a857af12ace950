package goanalysis

import (
	"bytes"
	"go/ast"
	"go/token"
	"iter"
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
			for at, text := range s.commentLines(comment) {
				rest, ok := strings.CutPrefix(text, ignoreFile)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
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

// commentLines yields where the text of each line of a comment begins, and the text
// without what makes it a comment. Lines are found by the table of the file: the
// comment's text lacks the carriage returns of the source.
func (s *source) commentLines(comment *ast.Comment) iter.Seq2[token.Pos, string] {
	file := s.fset.File(comment.Pos())
	first := file.PositionFor(comment.Pos(), false).Line
	block := strings.HasPrefix(comment.Text, "/*")
	return func(yield func(token.Pos, string) bool) {
		for i, line := range strings.Split(strings.TrimSuffix(comment.Text, "*/"), "\n") {
			start, said := comment.Pos(), line
			if i == 0 {
				said = line[2:]
				if block {
					said = strings.TrimPrefix(said, "*")
				}
			} else {
				start = file.LineStart(first + i)
				said = strings.TrimPrefix(strings.TrimLeft(line, " \t"), "*")
			}
			said = strings.TrimLeft(said, " \t")
			if !yield(start+token.Pos(len(line)-len(said)), strings.TrimRight(said, " \t\r")) {
				return
			}
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

// pardoned reports a pragma about the rule of server functions on the line.
func (s *source) pardoned(pos token.Pos) bool {
	if s.pardons == nil {
		s.pardons = map[int]bool{}
		for line, list := range s.suppressions() {
			for _, one := range list {
				s.pardons[line] = s.pardons[line] || one.Rule == verify.RuleUngatedAction
			}
		}
	}
	return s.pardons[s.lineOf(pos)]
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
