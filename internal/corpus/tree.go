package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// node is a JSON value that keeps the order of its members, names that stand
// twice included.
type node struct {
	raw     string // of a scalar
	open    byte   // '{', '[' or 0
	members []member
}

// member is one of an object, or of a list, without a name there.
type member struct {
	name  string
	value node
}

// parse panics over text that is no JSON: good requests are constants.
func parse(text string) node {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	n, err := read(dec)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return n
}

func read(dec *json.Decoder) (node, error) {
	token, err := dec.Token()
	if err != nil {
		return node{}, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return node{raw: marshal(token)}, nil
	}
	n := node{open: byte(open)}
	for dec.More() {
		var m member
		if n.open == '{' {
			name, err := dec.Token()
			if err != nil {
				return node{}, err
			}
			m.name = name.(string)
		}
		if m.value, err = read(dec); err != nil {
			return node{}, err
		}
		n.members = append(n.members, m)
	}
	_, err = dec.Token()
	return n, err
}

func marshal(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func (n node) text() string {
	if n.open == 0 {
		return n.raw
	}
	parts := make([]string, len(n.members))
	for i, m := range n.members {
		parts[i] = m.value.text()
		if n.open == '{' {
			parts[i] = marshal(m.name) + ":" + parts[i]
		}
	}
	if n.open == '{' {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// kind is one of null, bool, number, string, object and list.
func (n node) kind() string {
	switch {
	case n.open == '{':
		return "object"
	case n.open == '[':
		return "list"
	case n.raw[0] == '"':
		return "string"
	case n.raw[0] == 't' || n.raw[0] == 'f':
		return "bool"
	case n.raw == "null":
		return "null"
	}
	return "number"
}

// path leads from the root to a value, by places.
type path []int

// all are the paths to every value below n, in the order of the text. Of lists
// only the first and the last member count.
func (n node) all(above path) []path {
	var found []path
	for i, m := range n.members {
		if n.open == '[' && i > 0 && i < len(n.members)-1 {
			continue
		}
		at := append(slices.Clone(above), i)
		found = append(append(found, at), m.value.all(at)...)
	}
	return found
}

// at is the value at p and its name there, such as filter.cursor.at or stages[0].
func (n node) at(p path) (node, string) {
	name := ""
	for _, i := range p {
		if n.open == '[' {
			name += fmt.Sprintf("[%d]", i)
		} else if name += "." + n.members[i].name; len(name) == len(n.members[i].name)+1 {
			name = name[1:]
		}
		n = n.members[i].value
	}
	return n, name
}

// change is n with the members around p, which are of the value above it,
// replaced by what edit makes of them.
func (n node) change(p path, edit func(around []member, i int) []member) node {
	n.members = slices.Clone(n.members)
	if len(p) == 1 {
		n.members = edit(n.members, p[0])
		return n
	}
	n.members[p[0]].value = n.members[p[0]].value.change(p[1:], edit)
	return n
}

// put is n with another value at p.
func (n node) put(p path, text string) node {
	return n.change(p, func(around []member, i int) []member {
		around[i].value = node{raw: text}
		return around
	})
}

// without is n without what is at p.
func (n node) without(p path) node {
	return n.change(p, func(around []member, i int) []member { return slices.Delete(around, i, i+1) })
}
