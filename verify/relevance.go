package verify

import (
	"bytes"
	"slices"
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

// marks are the bytes at which canMatter looks closer.
var marks = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= 0x80
	}
	for _, c := range `(<?/\-'"` {
		table[c] = true
	}
	return table
}()

// canMatter reports whether a source could hold a finding, a reference or a
// pragma. Only what it refuses is not parsed, so it must never refuse a source that
// could: it looks at text alone, in one pass, and in doubt says yes.
func (c *candidates) canMatter(text []byte, server bool) bool {
	client := false
	for i, b := range text {
		if !marks[b] {
			continue
		}
		switch b {
		case '\\': // any name could be spelt with an escape
			if i+1 < len(text) && text[i+1] == 'u' {
				return true
			}
		case '-':
			if bytes.HasPrefix(text[max(0, i-len("authz")):], []byte("authz-verify-ignore-")) {
				return true
			}
		case '\'', '"':
			server = server || bytes.HasPrefix(text[i+1:], []byte("use server"))
			client = client || bytes.HasPrefix(text[i+1:], []byte("use client"))
		default: // what may follow a callee: arguments, type arguments, "?.", a comment, a blank
			if c.endsInName(text[:i]) {
				return true
			}
		}
	}
	has := func(name []byte) bool { return bytes.Contains(text, name) }
	return server && has([]byte("async")) || client && slices.ContainsFunc(c.forbidden, has)
}

// endsInName reports whether a name stands at the end of the text, but for blanks.
// Bytes beyond ASCII before it may be blanks too.
func (c *candidates) endsInName(text []byte) bool {
	end := len(text)
	for end > 0 && text[end-1] <= ' ' {
		end--
	}
	if end == 0 {
		return false
	}
	for _, name := range c.byLast[text[end-1]] {
		before := end - len(name)
		if bytes.HasSuffix(text[:end], name) && (before == 0 || text[before-1] >= 0x80 || !isWordByte(text[before-1])) {
			return true
		}
	}
	return false
}
