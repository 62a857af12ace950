package catalog

import (
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// nodeKind is the JSON type of a node.
type nodeKind int

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// node is a value of a declaration file, whatever its format. An object keeps
// its members in order and keeps repeated names.
type node struct {
	kind    nodeKind
	text    string // of a string or number; "true" or "false"
	items   []*node
	members []member
	at      place
}

// member is one entry of an object; it lies where its name does.
type member struct {
	name  string
	value *node
	at    place
}

// maxRendered bounds how much of a value a message may need: more than is
// echoed of it.
const maxRendered = 1024

// json renders the value for a message; a long one is cut.
func (n *node) json() string { return string(n.appendJSON(nil)) }

func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case boolNode, numberNode:
		return append(b, n.text...)
	case stringNode:
		return append(b, spell.Quote(n.text)...)
	case arrayNode:
		b = append(b, '[')
		for i, item := range n.items {
			if len(b) > maxRendered {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case objectNode:
		b = append(b, '{')
		for i, m := range n.members {
			if len(b) > maxRendered {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, spell.Quote(m.name)...), ':')
			b = m.value.appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// raw renders the whole value, members in order and repeats kept. A number that
// JSON cannot write becomes a string, which no number field accepts.
func (n *node) raw() json.RawMessage { return n.appendRaw(nil) }

func (n *node) appendRaw(b []byte) []byte {
	switch n.kind {
	case boolNode:
		return append(b, n.text...)
	case numberNode:
		if json.Valid([]byte(n.text)) {
			return append(b, n.text...)
		}
		return appendString(b, n.text)
	case stringNode:
		return appendString(b, n.text)
	case arrayNode:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendRaw(b)
		}
		return append(b, ']')
	case objectNode:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.name), ':')
			b = m.value.appendRaw(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := authz.Marshal(s) // a string always encodes
	return append(b, quoted...)
}

// member returns the first member of that name; nil when there is none or when
// it is null.
func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			if m.value.kind == nullNode {
				return nil
			}
			return m.value
		}
	}
	return nil
}

// named yields the members in order, and whether the name was seen before.
func (n *node) named() iter.Seq2[member, bool] {
	return func(yield func(member, bool) bool) {
		seen := make(map[string]bool, len(n.members))
		for _, m := range n.members {
			if !yield(m, seen[m.name]) {
				return
			}
			seen[m.name] = true
		}
	}
}

// integer returns the value of a number that is whole and within
// authz.MaxInstant, however it is written.
func (n *node) integer() (int64, bool) {
	if n.kind != numberNode {
		return 0, false
	}
	return wholeNumber(n.text)
}

// string returns the text of a string, and "" for everything else.
func (n *node) string() string {
	if n.kind != stringNode {
		return ""
	}
	return n.text
}

// strings returns the elements of an array of strings. ok is false for
// everything else.
func (n *node) strings() (list []string, ok bool) {
	if n.kind != arrayNode {
		return nil, false
	}
	list = make([]string, len(n.items))
	for i, item := range n.items {
		if item.kind != stringNode {
			return nil, false
		}
		list[i] = item.text
	}
	return list, true
}
