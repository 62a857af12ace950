package corpus

import (
	"slices"
	"strings"
)

// Case is one request's body, with what is said of it.
type Case struct{ Name, Body string }

// Long is how many characters a string has that is longer than any may be.
const Long = 5000

// Good are the cases of requests as they should be.
func Good(bodies ...string) []Case {
	var cases []Case
	for _, body := range bodies {
		cases = append(cases, Case{"as it should be", body})
	}
	return cases
}

// Wrong are the requests that differ from a good one at one value, whatever a JSON
// value can be instead, or at two.
func Wrong(good string) []Case {
	root := parse(good)
	var cases []Case
	add := func(name string, n node) { cases = append(cases, Case{name, n.text()}) }
	for _, p := range root.all(nil) {
		value, name := root.at(p)
		for _, other := range others(value) {
			add(name+" = "+brief(other), root.put(p, other))
		}
		above, _ := root.at(p[:len(p)-1])
		add(name+" left out", root.without(p))
		if above.open == '[' {
			add(name+" twice", root.change(p, func(around []member, i int) []member { return slices.Insert(around, i, around[i]) }))
			continue
		}
		add(name+" twice, the last as it should be", root.change(p, func(around []member, i int) []member {
			return slices.Insert(around, i, member{around[i].name, node{raw: wrongKind(value)}})
		}))
		add(name+" twice, the first as it should be", root.change(p, func(around []member, i int) []member {
			return slices.Insert(around, i+1, member{around[i].name, node{raw: wrongKind(value)}})
		}))
		for _, other := range []string{strings.ToUpper(value.nameIn(above, p)[:1]) + value.nameIn(above, p)[1:], value.nameIn(above, p) + "s"} {
			add(name+" misspelt "+other, root.change(p, func(around []member, i int) []member {
				around[i].name = other
				return around
			}))
		}
	}
	add("unknown members", root.plus())
	for _, p := range root.all(nil) {
		if value, name := root.at(p); value.open == '{' {
			add("unknown members in "+name, root.change(p, func(around []member, i int) []member {
				around[i].value = around[i].value.plus()
				return around
			}))
		}
	}
	return append(cases, pairs(root)...)
}

// Shallow are the requests that lack one member of the outermost object, or have
// another kind of value there.
func Shallow(good string) []Case {
	root := parse(good)
	var cases []Case
	for i, m := range root.members {
		cases = append(cases, Case{m.name + " left out", root.without(path{i}).text()}, Case{m.name + " of another kind", root.put(path{i}, wrongKind(m.value)).text()})
	}
	return cases
}

func (n node) nameIn(above node, p path) string { return above.members[p[len(p)-1]].name }

// plus is an object with members that nobody knows.
func (n node) plus() node {
	n.members = append(slices.Clone(n.members), member{"zzz", node{raw: "1"}}, member{"", node{raw: "null"}})
	return n
}

// others are the values that may stand in place of one.
func others(value node) []string {
	list := []string{`null`, `7`, `"text"`, `true`, `{}`, `[]`}
	switch value.kind() {
	case "string":
		list = append(list, `""`, `" "`, `"a\u0000b"`, `"a\ud800b"`, `"ü\u2028\ud83d\ude00\u202e"`, `"`+strings.Repeat("x", Long)+`"`, `["text"]`, `{"text":1}`)
	case "number":
		list = append(list, `0`, `1`, `-1`, `1.5`, `1e999`, `10001`, `9007199254740993`, `"`+value.raw+`"`, value.raw+`.0`, value.raw+`e0`)
	case "bool":
		list = append(list, `false`, `"true"`, `0`)
	case "list":
		list = append(list, `[7]`, `[null]`, `[""]`, `[{}]`, `["text",7]`, `["a\u0000b"]`)
	}
	return slices.DeleteFunc(list, func(other string) bool { return other == value.text() })
}

// wrongKind is a value of another kind.
func wrongKind(value node) string {
	if value.kind() == "number" {
		return `"text"`
	}
	return `7`
}

// manyMembers is from how many values on only neighbours are spoilt together.
const manyMembers = 14

// pairs spoil two values at a time, which shows whose fault is told.
func pairs(root node) []Case {
	var cases []Case
	var named []path
	for _, p := range root.all(nil) {
		if above, _ := root.at(p[:len(p)-1]); above.open == '{' {
			named = append(named, p)
		}
	}
	for i, p := range named {
		for j, q := range named[i+1:] {
			if len(q) > len(p) && slices.Equal(p, q[:len(p)]) ||
				len(named) > manyMembers && j > 0 && !slices.Equal(p[:len(p)-1], q[:len(q)-1]) {
				continue
			}
			first, name := root.at(p)
			second, other := root.at(q)
			// What is left out changes the places behind it: the later goes first.
			for _, c := range []struct {
				said string
				n    node
			}{
				{name + " and " + other + " of another kind", root.put(q, wrongKind(second)).put(p, wrongKind(first))},
				{name + " of another kind, " + other + " left out", root.without(q).put(p, wrongKind(first))},
				{name + " left out, " + other + " of another kind", root.put(q, wrongKind(second)).without(p)},
				{name + " empty, " + other + " of another kind", root.put(q, wrongKind(second)).put(p, empty(first))},
				{name + " of another kind, " + other + " empty", root.put(q, empty(second)).put(p, wrongKind(first))},
			} {
				cases = append(cases, Case{c.said, c.n.text()})
			}
		}
	}
	return cases
}

// empty is a value of the same kind that is not the same.
func empty(value node) string {
	switch value.kind() {
	case "object":
		return `{}`
	case "list":
		return `[]`
	case "number":
		return `-1`
	case "string":
		return `""`
	}
	return `null`
}

// Broken are bodies that are no object of parameters, or only just one.
func Broken() []Case {
	nested := func(n int) string { return `{"zzz":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	return []Case{
		{"nothing", ``}, {"no members", `{}`}, {"white space around", " \r\n\t{ } \n"}, {"white space alone", ` `},
		{"a list", `[]`}, {"a number", `7`}, {"null", `null`}, {"a string", `"text"`}, {"not ended", `{`},
		{"two objects", `{}{}`}, {"text behind", `{} x`}, {"a byte order mark", "\xef\xbb\xbf{}"},
		{"a comma too many", `{"zzz":1,}`}, {"a name without quotes", `{zzz:1}`}, {"a number that is none", `{"zzz":01}`},
		{"half a surrogate", `{"zzz":"\ud800"}`}, {"half a surrogate in a name", `{"\udc00":1}`}, {"a control character", "{\"zzz\":\"a\tb\"}"},
		{"not UTF-8", "{\"zzz\":\"\xff\"}"}, {"not UTF-8 in a name", "{\"\xff\":1}"},
		{"nested 100 deep", nested(99)}, {"nested 101 deep", nested(100)},
	}
}

func brief(text string) string {
	if len(text) > 60 {
		return "a long string"
	}
	return text
}
