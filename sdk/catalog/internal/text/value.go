package text

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Kind is the JSON type of a value.
type Kind int

// The kinds of value.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is a value of a text, whatever its format; the zero one is null. An object
// keeps its members in order and keeps repeated names.
type Value struct {
	Kind    Kind
	Text    string // of a string or number; "true" or "false"
	Items   []*Value
	Members []Member
	At      Place
}

// Member is one entry of an object; it lies where its name does.
type Member struct {
	Name  string
	Value *Value
	At    Place
}

// maxRendered bounds how much of a value a message may need: more than is
// echoed of it.
const maxRendered = 1024

// Echo renders the value as JSON for a message; a long one is cut.
func (v *Value) Echo() string { return spell.Echo(string(v.appendJSON(nil))) }

func (v *Value) appendJSON(b []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(b, v.Text...)
	case String:
		return append(b, spell.Quote(v.Text)...)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if len(b) > maxRendered {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if len(b) > maxRendered {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, spell.Quote(m.Name)...), ':')
			b = m.Value.appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// Raw renders the whole value, members in order and repeats kept. A number that
// JSON cannot write becomes a string, which no number field accepts.
func (v *Value) Raw() json.RawMessage { return v.appendRaw(nil) }

func (v *Value) appendRaw(b []byte) []byte {
	switch v.Kind {
	case Bool:
		return append(b, v.Text...)
	case Number:
		if json.Valid([]byte(v.Text)) {
			return append(b, v.Text...)
		}
		return appendString(b, v.Text)
	case String:
		return appendString(b, v.Text)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendRaw(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.Name), ':')
			b = m.Value.appendRaw(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := authz.Marshal(s) // a string always encodes
	return append(b, quoted...)
}

// Member returns the first member of that name; nil when there is none or when
// it is null.
func (v *Value) Member(name string) *Value {
	for _, m := range v.Members {
		if m.Name == name {
			if m.Value.Kind == Null {
				return nil
			}
			return m.Value
		}
	}
	return nil
}

// StringMember returns a member that is a string.
func (v *Value) StringMember(name string) (text string, ok bool) {
	m := v.Member(name)
	if m == nil || m.Kind != String {
		return "", false
	}
	return m.Text, true
}

// Named yields the members in order, and whether the name was seen before.
func (v *Value) Named() iter.Seq2[Member, bool] {
	return func(yield func(Member, bool) bool) {
		seen := make(map[string]bool, len(v.Members))
		for _, m := range v.Members {
			if !yield(m, seen[m.Name]) {
				return
			}
			seen[m.Name] = true
		}
	}
}

// AsInteger returns the value of a number that is whole and within
// authz.MaxInstant, however it is written: "3", "3.0" and "3e0" alike.
func (v *Value) AsInteger() (int64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	if i, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		return i, authz.ValidInstant(i)
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > float64(authz.MaxInstant) {
		return 0, false
	}
	return int64(f), true
}

// IsTrue reports the boolean true.
func (v *Value) IsTrue() bool { return v.Kind == Bool && v.Text == "true" }

// AsString returns the text of a string, and "" for everything else.
func (v *Value) AsString() string {
	if v.Kind != String {
		return ""
	}
	return v.Text
}

// AsStrings returns the elements of an array of strings. ok is false for
// everything else.
func (v *Value) AsStrings() (list []string, ok bool) {
	if v.Kind != Array {
		return nil, false
	}
	list = make([]string, len(v.Items))
	for i, item := range v.Items {
		if item.Kind != String {
			return nil, false
		}
		list[i] = item.Text
	}
	return list, true
}
