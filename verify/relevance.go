package verify

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// candidates are the marks by which a source may matter.
type candidates struct {
	byLast    [256][][]byte // names of gates and visibility functions by their last byte
	forbidden [][]byte
}

func newCandidates(gates, visible, forbidden map[string]bool) candidates {
	var c candidates
	for _, set := range []map[string]bool{gates, visible} {
		for name := range set {
			last := name[len(name)-1]
			c.byLast[last] = append(c.byLast[last], []byte(name))
		}
	}
	for name := range forbidden {
		c.forbidden = append(c.forbidden, []byte(name))
	}
	return c
}

// relevance is what of a source may matter. Only what it leaves out is not parsed or
// not visited, so it must never leave out what could hold a finding, a reference
// or a pragma: it is told by the text alone, and in doubt it is there.
type relevance struct {
	parse      bool
	everywhere bool  // every node may matter
	calls      []int // else those that cover one of these offsets, which ascend
	cut        int   // where what follows may be left out of parsing, 0 for nowhere
}

// everything is what matters when nothing is to be left out.
var everything = relevance{parse: true, everywhere: true}

// in tells whether a part of the source may matter.
func (p relevance) in(start, end int) bool {
	if p.everywhere {
		return true
	}
	i, _ := slices.BinarySearch(p.calls, start)
	return i < len(p.calls) && p.calls[i] < end
}

// conflictMarkers are what a merge leaves and the parser reads over, besides "<<<<<<<".
var conflictMarkers = [][]byte{[]byte("======="), []byte("|||||||"), []byte(">>>>>>>")}

// find looks for what may matter in a source. Each mark is sought by itself: that is
// several times as fast as a look at every byte.
func (c *candidates) find(text []byte, server bool) relevance {
	var p relevance
	p.everywhere = bytes.Contains(text, []byte(`\u`)) // any name could be spelt with an escape
	// What may follow a callee: arguments, type arguments, "?.", a comment, a conflict
	// marker, or a blank beyond ASCII before one of these.
	for _, mark := range []byte("(<?/") {
		for at := range each(text, mark) {
			if c.endsInName(text[:at]) {
				p.calls = append(p.calls, at)
			}
		}
	}
	for _, marker := range conflictMarkers {
		for at := range each(text, marker[0]) {
			if bytes.HasPrefix(text[at:], marker) && c.endsInName(text[:at]) {
				p.calls = append(p.calls, at)
			}
		}
	}
	for at := range beyondASCII(text) {
		if c.endsInName(text[:at]) {
			p.calls = append(p.calls, at)
		}
	}
	slices.Sort(p.calls)
	client := false
	for _, quote := range []byte(`'"`) {
		for at := range each(text, quote) {
			server = server || bytes.HasPrefix(text[at+1:], []byte("use server"))
			client = client || bytes.HasPrefix(text[at+1:], []byte("use client"))
		}
	}
	has := func(name []byte) bool { return bytes.Contains(text, name) }
	p.everywhere = p.everywhere || client && slices.ContainsFunc(c.forbidden, has)
	pragma := bytes.Contains(text, []byte(pragmaMark))
	p.parse = p.everywhere || len(p.calls) > 0 || server && has([]byte("async")) || pragma
	if p.parse && !p.everywhere && !server && !pragma {
		p.cut = nextDeclaration(text, p.calls[len(p.calls)-1])
	}
	return p
}

// declarations begin with words that continue no statement: where one begins a line,
// and all that was opened before is closed, what is before it stands for itself, but for
// what parseUntil asks.
var declarations = [][]byte{[]byte("export "), []byte("function "), []byte("const "), []byte("class ")}

// nextDeclaration is the offset of the first line after another that seems to begin a
// declaration, 0 without one. It may lie in a comment, a template or JSX text.
func nextDeclaration(text []byte, after int) int {
	for at := range each(text[after:], '\n') {
		line := text[after+at+1:]
		for _, word := range declarations {
			if bytes.HasPrefix(line, word) {
				return after + at + 1
			}
		}
	}
	return 0
}

// each gives the offsets of a byte.
func each(text []byte, mark byte) func(func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; from++ {
			n := bytes.IndexByte(text[from:], mark)
			if n < 0 {
				return
			}
			from += n
			if !yield(from) {
				return
			}
		}
	}
}

// beyondASCII gives the offsets of the bytes that are not ASCII.
func beyondASCII(text []byte) func(func(int) bool) {
	const high = 0x8080808080808080
	return func(yield func(int) bool) {
		for i := 0; i < len(text); i++ {
			for i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&high == 0 {
				i += 8
			}
			if i < len(text) && text[i] >= utf8.RuneSelf && !yield(i) {
				return
			}
		}
	}
}

// endsInName reports whether a name stands at the end of the text, but for blanks.
// Bytes beyond ASCII before it may be blanks too, and a number before it is a word of
// its own, though a wrong one.
func (c *candidates) endsInName(text []byte) bool {
	end := len(text)
	for end > 0 && text[end-1] <= ' ' {
		end--
	}
	if end == 0 {
		return false
	}
	for _, name := range c.byLast[text[end-1]] {
		if !bytes.HasSuffix(text[:end], name) {
			continue
		}
		word := end - len(name)
		for word > 0 && text[word-1] < utf8.RuneSelf && isWordByte(text[word-1]) {
			word--
		}
		if word == end-len(name) || text[word] >= '0' && text[word] <= '9' || word > 0 && text[word-1] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// servingMarks are in every source that serves something without being a server file:
// inline server actions, procedures, routers and controllers.
var servingMarks = [][]byte{[]byte("use server"), []byte("rocedure"), []byte("express"), []byte("Router"), []byte("Hono"), []byte("astify"),
	[]byte("@Controller"), []byte("@Resolver"), []byte("APP_GUARD"), []byte("useGlobalGuards"), []byte("WebSocketGateway"), []byte("Controller("),
	[]byte(".query("), []byte(".mutation("), []byte(".subscription("), []byte(".route("), []byte(`.openapi(`)}

// routeMarks begin the path of a route in a call.
var routeMarks = [][]byte{[]byte(`("/`), []byte(`('/`), []byte("(`/"), []byte(`("*`), []byte(`('*`), []byte(".use(")}

// matters reports whether a source may say anything with Exports. A module that it
// leaves out is read all the same where another one refers to it.
func (c *candidates) matters(text []byte, server bool) bool {
	if server || c.find(text, server).parse {
		return true
	}
	for _, marks := range [][][]byte{servingMarks, routeMarks} {
		for _, mark := range marks {
			if bytes.Contains(text, mark) {
				return true
			}
		}
	}
	// A path on a line of its own.
	for at := range each(text, '(') {
		rest := bytes.TrimLeft(text[at+1:min(len(text), at+80)], " \t\r\n")
		if len(rest) > 1 && (rest[0] == '"' || rest[0] == '\'' || rest[0] == '`') && rest[1] == '/' {
			return true
		}
	}
	return bytes.Contains(text, []byte(`\u`))
}
