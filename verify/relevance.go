package verify

import (
	"bytes"
	"slices"
)

// candidates are the marks by which a source may matter.
type candidates struct {
	names     [][]byte // of gates and visibility functions
	forbidden [][]byte
}

func newCandidates(gates, visible, forbidden map[string]bool) candidates {
	var c candidates
	for _, set := range []map[string]bool{gates, visible} {
		for _, name := range sorted(set) {
			c.names = append(c.names, []byte(name))
		}
	}
	for _, name := range sorted(forbidden) {
		c.forbidden = append(c.forbidden, []byte(name))
	}
	return c
}

// canMatter reports whether a source could hold a finding, a reference or a
// pragma. Only what it refuses is not parsed, so it must never refuse a source that
// could: it looks at text alone, and in doubt says yes.
func (c *candidates) canMatter(text []byte, serverPath bool) bool {
	has := func(mark string) bool { return bytes.Contains(text, []byte(mark)) }
	switch {
	case (serverPath || has("use server")) && has("async"),
		has("authz-verify-ignore-"),
		has(`\u`): // any name could be spelt with it
		return true
	}
	if len(c.forbidden) > 0 && has("use client") &&
		slices.ContainsFunc(c.forbidden, func(name []byte) bool { return bytes.Contains(text, name) }) {
		return true
	}
	return slices.ContainsFunc(c.names, func(name []byte) bool { return mayBeCalled(text, name) })
}

// mayBeCalled reports whether the name stands where a call's callee may end: before
// arguments, type arguments, "?." or a comment.
func mayBeCalled(text, name []byte) bool {
	for {
		at := bytes.Index(text, name)
		if at < 0 {
			return false
		}
		before := at > 0 && text[at-1] < 0x80 && isWordByte(text[at-1])
		text = text[at+len(name):]
		if !before && opensCall(text) {
			return true
		}
	}
}

func opensCall(text []byte) bool {
	for _, c := range text {
		switch {
		case c == '(' || c == '<' || c == '?' || c == '/' || c >= 0x80:
			return true
		case c > ' ':
			return false
		}
	}
	return false
}
