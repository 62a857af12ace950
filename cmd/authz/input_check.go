package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// maxFaults bounds how many faults of one file are told.
const maxFaults = 20

// fileCheck holds a file to the Go type that it is read into: every member known
// and given once, every value of the right kind. It collects what is wrong, each
// fault with its place.
type fileCheck struct {
	file   string
	faults []string
}

func (c *fileCheck) bad(line, column int, path, format string, args ...any) {
	at := fmt.Sprintf("%s:%d:%d: ", c.file, line, column)
	if path != "" {
		at += path + ": "
	}
	c.faults = append(c.faults, at+fmt.Sprintf(format, args...))
}

func (c *fileCheck) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	told := c.faults[:min(len(c.faults), maxFaults)]
	if more := len(c.faults) - len(told); more > 0 {
		told = append(slices.Clip(told), fmt.Sprintf("and %d more", more))
	}
	return usageError{errors.New(strings.Join(told, "\n"))}
}

// member is the type of one member of t; ok is false when t has none of that name.
// A nil type is held to nothing.
func (c *fileCheck) member(t reflect.Type, name, path string, line, column int) (member reflect.Type, ok bool) {
	switch {
	case t == nil:
		return nil, true
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() != reflect.Struct:
		return nil, false // its kind was refused
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		known, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known == name {
			return bare(f.Type), true
		}
		if known != "" && known != "-" {
			names = append(names, known)
		}
	}
	advice := "known here: " + strings.Join(names, ", ")
	if near := authz.Nearest(name, names); near != "" {
		advice = "did you mean " + strconv.Quote(near) + "?"
	}
	c.bad(line, column, joinPath(path, name), "is no member that is known here — %s", advice)
	return nil, false
}

// The kinds of value, as messages name them.
const (
	aText, aNumber, aFlag, anObject, aList, nothing = "a text", "a number", "true or false", "an object", "a list", "null"
)

// kind tells whether a value of a kind can stand for t.
func (c *fileCheck) kind(t reflect.Type, got, text, path string, line, column int) {
	if t == reflect.TypeFor[apply.Expiry]() && got == aText {
		if _, err := words.ParseInstant(text); err != nil {
			c.bad(line, column, path, "%v", err)
		}
		return
	}
	want := wanted(t)
	if want == "" || got == nothing || got == want {
		return
	}
	if want == aText && (got == aNumber || got == aFlag) {
		c.bad(line, column, path, "must be a text, not %s — write %q", got, text)
		return
	}
	c.bad(line, column, path, "must be %s, not %s", want, got)
}

// wanted is "" for what reads itself, or takes anything.
func wanted(t reflect.Type) string {
	if t == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return aText
	case reflect.Bool:
		return aFlag
	case reflect.Struct, reflect.Map:
		return anObject
	case reflect.Slice:
		return aList
	case reflect.Int, reflect.Int64, reflect.Float64:
		return aNumber
	}
	return ""
}

func bare(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	return t
}

func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice {
		return nil
	}
	return bare(t.Elem())
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// json checks a text that is valid JSON.
func (c *fileCheck) json(text []byte, t reflect.Type) error {
	r := jsonCheck{fileCheck: c, dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	r.dec.UseNumber()
	return r.value(bare(t), "")
}

// jsonCheck reads tokens and counts the lines that they lie on.
type jsonCheck struct {
	*fileCheck
	dec                  *json.Decoder
	text                 []byte
	counted, line, begin int
}

func (r *jsonCheck) next() (token json.Token, line, column int, err error) {
	start := int(r.dec.InputOffset())
	for start < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[start]) >= 0 {
		start++
	}
	for ; r.counted < start; r.counted++ {
		if r.text[r.counted] == '\n' {
			r.line, r.begin = r.line+1, r.counted+1
		}
	}
	token, err = r.dec.Token()
	return token, r.line, start - r.begin + 1, err
}

func (r *jsonCheck) value(t reflect.Type, path string) error {
	token, line, column, err := r.next()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case nil:
		r.kind(t, nothing, "null", path, line, column)
	case bool:
		r.kind(t, aFlag, strconv.FormatBool(token), path, line, column)
	case json.Number:
		r.kind(t, aNumber, token.String(), path, line, column)
	case string:
		r.kind(t, aText, token, path, line, column)
	case json.Delim:
		if token == '[' {
			r.kind(t, aList, "", path, line, column)
			for i := 0; r.dec.More(); i++ {
				if err := r.value(element(t), fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
		} else {
			r.kind(t, anObject, "", path, line, column)
			if err := r.members(t, path); err != nil {
				return err
			}
		}
		_, err = r.dec.Token() // the closing one
	}
	return err
}

func (r *jsonCheck) members(t reflect.Type, path string) error {
	seen := map[string]bool{}
	for r.dec.More() {
		token, line, column, err := r.next()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a member name always is one
		if seen[name] {
			r.bad(line, column, joinPath(path, name), "is given twice")
		}
		seen[name] = true
		member, _ := r.member(t, name, path, line, column)
		if err := r.value(bare(member), joinPath(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// yaml checks a node, and makes dates the texts that they are in JSON. The parser
// refuses names that are given twice. A node that aliases repeat is looked at once.
func (c *fileCheck) yaml(n *yaml.Node, t reflect.Type, path string, seen map[*yaml.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	switch n.Kind {
	case yaml.DocumentNode:
		c.yaml(n.Content[0], bare(t), path, seen)
	case yaml.AliasNode:
		c.yaml(n.Alias, t, path, seen)
	case yaml.SequenceNode:
		c.kind(t, aList, "", path, n.Line, n.Column)
		for i, item := range n.Content {
			c.yaml(item, element(t), fmt.Sprintf("%s[%d]", path, i), seen)
		}
	case yaml.MappingNode:
		c.kind(t, anObject, "", path, n.Line, n.Column)
		for i := 0; i+1 < len(n.Content); i += 2 {
			c.yamlMember(n.Content[i], n.Content[i+1], t, path, seen)
		}
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
		case "!!timestamp":
			n.Tag = "!!str"
		case "!!bool":
			c.kind(t, aFlag, n.Value, path, n.Line, n.Column)
		case "!!int", "!!float":
			c.kind(t, aNumber, n.Value, path, n.Line, n.Column)
		case "!!str":
			c.kind(t, aText, n.Value, path, n.Line, n.Column)
		default:
			c.bad(n.Line, n.Column, path, "values of type %s are not supported", n.ShortTag())
		}
	}
}

func (c *fileCheck) yamlMember(key, value *yaml.Node, t reflect.Type, path string, seen map[*yaml.Node]bool) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	switch tag := key.ShortTag(); {
	case tag == "!!merge" && value.Kind == yaml.SequenceNode:
		for _, merged := range value.Content {
			c.yaml(merged, t, path, seen)
		}
	case tag == "!!merge":
		c.yaml(value, t, path, seen)
	case key.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!timestamp":
		c.bad(key.Line, key.Column, path, "a member name must be a text — write %q", key.Value)
	default:
		key.Tag = "!!str"
		member, _ := c.member(t, key.Value, path, key.Line, key.Column)
		c.yaml(value, bare(member), joinPath(path, key.Value), seen)
	}
}
