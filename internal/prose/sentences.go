package main

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// A sentence is its words and the line that it begins on.
type sentence struct {
	line int
	text string
}

func (s sentence) words() int { return len(strings.Fields(s.text)) }

// sentences are those of paragraphs, list items and table cells. Headings and code are
// none. A code span is one word, whatever it holds.
func sentences(source []byte) (list []sentence) {
	doc := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindHeading, extast.KindTableHeader:
			return ast.WalkSkipChildren, nil
		case ast.KindParagraph, ast.KindTextBlock, extast.KindTableCell:
			list = append(list, split(n, source)...)
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return list
}

// A sentence ends at a stop before a space and what can begin another. In a cell of a table,
// which is often a list, a semicolon ends one too.
var stop = regexp.MustCompile("([.!?][\"”’)]*)\\s+(?:[A-Z0-9\"“‘(\u00a7]|\x00)")

var stopInCell = regexp.MustCompile("([.!?;][\"”’)]*)\\s+")

// code stands for a code span while sentences are told apart.
const code = "\x00"

func split(root ast.Node, source []byte) (list []sentence) {
	var b strings.Builder
	line := 0
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			b.WriteString(code)
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if line == 0 {
				line = 1 + strings.Count(string(source[:n.Segment.Start]), "\n")
			}
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	ends := stop
	if root.Kind() == extast.KindTableCell {
		ends = stopInCell
	}
	rest, first := b.String(), max(line, 1)
	for rest != "" {
		end, next := len(rest), len(rest)
		switch at := ends.FindStringSubmatchIndex(rest); {
		case at == nil:
		case ends == stop: // the last letter is of the next
			end, next = at[3], at[1]-1
		default:
			end, next = at[3], at[1]
		}
		if one := strings.TrimSpace(rest[:end]); one != "" {
			list = append(list, sentence{first, strings.ReplaceAll(strings.Join(strings.Fields(one), " "), code, "`…`")})
		}
		first += strings.Count(rest[:next], "\n")
		rest = rest[next:]
	}
	return list
}

// passive finds a form of "be" before a participle, with at most an adverb between. It
// takes some adjectives for participles: read the share, not the single sentence.
var passive = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been|being)\s+(?:(?:\w+ly|not|never|always|also|then|only|still|once)\s+)?(?:\w+ed|` + irregular + `)\b`)

const irregular = `begun|bound|broken|brought|built|caught|chosen|cut|done|drawn|driven|fed|felt|found|forbidden|forgotten|frozen|given|gone|held|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|put|read|run|said|seen|sent|set|shown|shut|spent|split|spoken|struck|taken|taught|told|thought|thrown|torn|understood|worn|written`

func isPassive(s string) bool { return passive.MatchString(s) }
