package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth is how deeply a source may nest: the parser recurses without a guard,
// and a stack that overflows ends the process. No source of that many bytes or
// fewer nests deeper.
const maxDepth = 150_000

// nestsTooDeep reports whether a source seems to nest deeper than maxDepth. It is
// a rough reading: brackets, tags, and in each open bracket the tokens since
// something ended what they nest in, for operators, arrows and "else if" nest
// without brackets. Where it takes code for a string or JSX text for code, a source
// written for the purpose can still nest deeper than it says.
func nestsTooDeep(text string, tsx bool) bool {
	if len(text) <= maxDepth {
		return false
	}
	d := depth{frames: []frame{{}}}
	for i := 0; i < len(text); {
		end := d.token(text, i, tsx)
		if tsx {
			// What reads as a string, a comment or a regular expression may be JSX
			// text with elements in it. What ends these is not looked for.
			d.hidden += strings.Count(text[min(i+1, end):end], "<")
		}
		i = end
		if len(d.frames)+d.loose+d.tags+d.hidden > maxDepth {
			return true
		}
	}
	return false
}

// frame is an open bracket, or an open template.
type frame struct {
	template bool
	loose    int  // tokens that may nest in each other
	sticky   bool // a comma does not end them
	ended    bool // they end here, unless "else" follows
	tag      bool // a "<" is open
}

type depth struct {
	frames []frame
	loose  int // of all frames
	tags   int
	hidden int
}

// token reads one token, blank or comment at i and returns where it ends.
func (d *depth) token(text string, i int, tsx bool) int {
	top := &d.frames[len(d.frames)-1]
	rest := text[i:]
	c := rest[0]
	if top.template {
		switch {
		case c == '\\':
			return min(i+2, len(text))
		case c == '`':
			d.pop()
		case strings.HasPrefix(rest, "${"):
			d.frames = append(d.frames, frame{})
			return i + 2
		case c == '<' && tsx:
			d.hidden++
		}
		return i + 1
	}
	if n := blankLength(rest); n > 0 {
		return i + n
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		return i + lengthTo(rest, "\n")
	case strings.HasPrefix(rest, "/*"):
		return i + 2 + lengthTo(rest[2:], "*/")
	}
	if top.ended && !isElse(rest) {
		d.end(top)
	}
	top.ended = false
	d.loose++
	top.loose++
	switch c {
	case '"', '\'':
		return i + stringLength(rest)
	case '`':
		d.frames = append(d.frames, frame{template: true})
	case '(', '[', '{':
		d.frames = append(d.frames, frame{})
	case ')', ']', '}':
		if len(d.frames) > 1 {
			d.pop()
		}
	case ';':
		top.ended = true
	case '/':
		if startsExpression(text[:i]) {
			return i + regexpLength(rest)
		}
	case ',':
		if !top.sticky {
			d.end(top)
		}
	case '<':
		if tsx && strings.HasPrefix(rest, "</") {
			d.tags = max(0, d.tags-1)
			return i + 2
		}
		d.tags++
		top.tag = true
	case '>':
		before := byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		if !tsx && before != '=' || tsx && before == '/' && top.tag {
			d.tags = max(0, d.tags-1)
		}
		top.tag = top.tag && before == '='
	default:
		n := wordLength(rest)
		switch rest[:n] {
		case "extends", "implements":
			top.sticky = true
		case "export", "import", "const":
			if len(d.frames) == 1 && i > 0 && text[i-1] == '\n' {
				d.end(top)
			}
		}
		return i + n
	}
	return i + 1
}

func (d *depth) end(f *frame) {
	d.loose -= f.loose
	f.loose, f.sticky = 0, false
}

func (d *depth) pop() {
	d.end(&d.frames[len(d.frames)-1])
	d.frames = d.frames[:len(d.frames)-1]
}

// isElse also where escapes may spell it: the parser complains of them and reads on.
func isElse(text string) bool {
	word := text[:wordLength(text)]
	return word == "else" || word == "\\" || strings.HasPrefix(text[len(word):], "\\")
}

// blankLength is the length of the blank that the text begins with. The parser
// takes two for blanks that Unicode does not.
func blankLength(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if r <= ' ' || unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' {
		return n
	}
	return 0
}

// lengthTo is how far a piece of text reaches that the mark ends.
func lengthTo(text, mark string) int {
	if at := strings.Index(text, mark); at >= 0 {
		return at + len(mark)
	}
	return len(text)
}

// stringLength is the length of the string that the text begins with, 1 when it
// does not end on its line: the quote may be part of a regular expression or of
// JSX text.
func stringLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i + 1
		case '\\':
			i++
		case '\n':
			return 1
		}
	}
	return 1
}

// startsExpression reports whether what follows the text is no operator: a slash
// there begins a regular expression. "<" and ">" may belong to tags.
func startsExpression(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before == "" || strings.IndexByte("\n(,=:[!&|?{;+-*%~^", before[len(before)-1]) >= 0
}

// regexpLength is the length of the regular expression that the text begins with,
// 1 when it does not end on its line.
func regexpLength(text string) int {
	class := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return 1
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return i + 1
		}
	}
	return 1
}

// wordLength is the length of the name or number that the text begins with, 1
// where there is neither.
func wordLength(text string) int {
	for i := range len(text) {
		if !isWordByte(text[i]) {
			return max(i, 1)
		}
	}
	return len(text)
}

// isWordByte counts every byte beyond ASCII as part of a name.
func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
