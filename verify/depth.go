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
// without brackets. A semicolon ends it, and a line break where a statement must
// begin: where the parser could read on in what is open, it does not count. Where
// the reading takes code for a string or JSX text for code, a source written for
// the purpose can still nest deeper than it says.
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
	open     byte // the bracket, '$' of a template, 0 around all
	template bool
	head     string // the word before it whose head it holds, as "if"
	loose    int    // tokens that may nest in each other
	sticky   bool   // a comma does not end them
	ended    bool   // they end here, unless "else" follows
	bar      int    // how many they were after the last "|" or "&"
	tag      bool   // a "<" is open
}

type depth struct {
	frames  []frame
	loose   int // of all frames
	tags    int
	hidden  int    // what no token ends
	last    string // the token before: "if()" for the end of a head, a backtick for strings
	newline bool   // a line ended since
	escapes bool   // a name was spelt with one: any may be a keyword
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
			d.last = "`"
		case strings.HasPrefix(rest, "${"):
			d.open('$')
			d.last = ""
			return i + 2
		case c == '<' && tsx:
			d.hidden++
		}
		return i + 1
	}
	if n := blankLength(rest); n > 0 {
		d.newline = d.newline || c == '\n'
		return i + n
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		d.newline = true
		if end := strings.IndexAny(rest, "\n\r\u2028\u2029"); end >= 0 {
			return i + end + 1
		}
		return len(text)
	case strings.HasPrefix(rest, "/*"):
		n := 2 + lengthTo(rest[2:], "*/")
		d.newline = d.newline || strings.Contains(rest[:n], "\n")
		return i + n
	}
	word := rest[:wordLength(rest)]
	if top.ended && !isElse(rest) || d.newline && d.begins(top, rest, word) {
		d.end(top)
	}
	last := d.last
	top.ended, d.newline, d.last = false, false, rest[:1]
	asyncFor := last == "for" && word == "await"
	switch {
	case word == "do", headWords[last] && c != '(' && !asyncFor, last == "switch()" && c != '{':
		d.hidden++ // what is missing is passed over, and the rest sought behind the next semicolon
	case last == "=>" && startsBody(rest, word):
		d.hidden += 3 // a function without its opening brace: all statements that follow are its
	}
	d.loose++
	top.loose++
	switch c {
	case '"', '\'':
		n := stringLength(rest)
		if n > 1 {
			d.last = "`"
		}
		return i + n
	case '`':
		d.frames = append(d.frames, frame{template: true})
	case '(', '[', '{':
		d.open(c)
		if headWords[last] {
			d.frames[len(d.frames)-1].head = last
		}
	case ')', ']', '}':
		d.close(c)
	case ';':
		top.ended = true
	case '/':
		if startsExpression(text[:i]) {
			n := regexpLength(rest)
			if n > 1 {
				d.last = "`"
			}
			return i + n
		}
	case '|', '&':
		// Members of a union do not nest in each other, nor do operands in those on
		// their left.
		if top.bar > 0 && top.loose == top.bar+2 && ends(last) {
			d.loose, top.loose = d.loose-2, top.loose-2
		}
		top.bar = top.loose
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
		if before == '=' {
			d.last = "=>"
		}
	case '\\':
		d.escapes = true
	default:
		if d.last = word; asyncFor {
			d.last = last
		}
		switch word {
		case "extends", "implements":
			top.sticky = true
		}
		return i + len(word)
	}
	return i + 1
}

// begins reports whether a token that begins a line must begin a statement, or a
// member of a class or type, whatever the parser still expects: the token before ends
// an expression, and no expression goes on with this one.
func (d *depth) begins(top *frame, rest, word string) bool {
	if top.open != 0 && top.open != '{' || d.escapes {
		return false
	}
	if statementWords[word] || word == "import" && !strings.ContainsRune("(.</", following(rest[len(word):])) {
		return ends(d.last) || d.last == ">" || d.last == "void"
	}
	return !top.sticky && isName(word) && !continuing[word] && ends(d.last)
}

// ends reports whether a token can be the last of an expression or a type and can
// be nothing else.
func ends(last string) bool {
	switch last {
	case ")", "]", "}", "`":
		return true
	}
	return isName(last) && !opening[last]
}

// isName holds of a word that the parser reads as one word too.
func isName(word string) bool {
	digits := word != "" && word[0] >= '0' && word[0] <= '9'
	for i := range len(word) {
		if c := word[i]; !isWordByte(c) || c >= utf8.RuneSelf || digits && c > '9' {
			return false
		}
	}
	return word != ""
}

// following is the first character behind the blanks, a slash for none.
func following(text string) rune {
	for _, r := range text {
		if r > ' ' {
			return r
		}
	}
	return '/'
}

// startsBody reports whether the parser takes what follows an arrow for the
// statements of its body.
func startsBody(rest, word string) bool {
	switch word {
	case "while", "with", "catch", "finally", "@":
		return true
	case "import":
		return !strings.ContainsRune("(.<", following(rest[len(word):]))
	}
	return statementWords[word]
}

var (
	// headWords are followed by brackets that do not end what they stand in.
	headWords = wordSet("if while for with switch")

	// statementWords begin statements, are part of no expression and continue nothing.
	statementWords = wordSet("break case const continue debugger default do enum export for if return switch throw try var")

	// continuing are the words that an expression, a type or a statement can go on with.
	continuing = wordSet("as assert catch else extends finally from implements in instanceof is of satisfies while with")

	// opening are the words that are not the last of anything.
	opening = wordSet("abstract accessor as assert asserts async await case catch class const declare default defer delete do else enum " +
		"export extends finally for from function get global if immediate implements import in infer instanceof interface is keyof let module namespace " +
		"new of out override package private protected public readonly satisfies set static switch throw try type typeof unique using var void " +
		"while with yield")
)

func wordSet(words string) map[string]bool { return setOf(strings.Fields(words)) }

func (d *depth) open(bracket byte) { d.frames = append(d.frames, frame{open: bracket}) }

// close takes a closing bracket for that of the last open one. Where it is none, the
// parser may not, and what it closed stays counted.
func (d *depth) close(bracket byte) {
	if len(d.frames) == 1 {
		return
	}
	top := d.frames[len(d.frames)-1]
	switch {
	case top.open == '(' && bracket == ')', top.open == '[' && bracket == ']', (top.open == '{' || top.open == '$') && bracket == '}':
	case top.open == '$':
		return
	default:
		d.hidden++
	}
	d.pop()
	if top.head != "" {
		d.last = top.head + "()"
	}
}

func (d *depth) end(f *frame) {
	d.loose -= f.loose
	f.loose, f.bar, f.sticky = 0, 0, false
}

func (d *depth) pop() {
	d.end(&d.frames[len(d.frames)-1])
	d.frames = d.frames[:len(d.frames)-1]
}

// isElse holds of what a statement goes on with behind a semicolon: of "while" too,
// which "do" has, and where escapes may spell one, for the parser complains of them
// and reads on.
func isElse(text string) bool {
	word := text[:wordLength(text)]
	return word == "else" || word == "while" || word == "\\" || strings.HasPrefix(text[len(word):], "\\")
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
			if i++; strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
		case '\n', '\r':
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
		case c == '\n', c == '\r':
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
