package input

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
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
	return &Error{errors.New(strings.Join(told, "\n"))}
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
	if near := spell.Nearest(name, names); near != "" {
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
	if got == aText && t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			c.bad(line, column, path, "%v", err)
		}
		return
	}
	if scalar := got == aText || got == aNumber || got == aFlag; scalar && readsItself(t) {
		if err := itself(t, got, text); err != nil {
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

func readsItself(t reflect.Type) bool {
	return t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// itself has a type read a scalar, so that what it says is told with its place.
func itself(t reflect.Type, got, text string) error {
	raw := []byte(text)
	if got == aText {
		raw, _ = json.Marshal(text) // a string always is JSON
	}
	if !json.Valid(raw) { // a number as YAML alone writes it: judged when it is one of JSON
		return nil
	}
	err := reflect.New(t).Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) { // in words of the library
		return fmt.Errorf("must not be %s", got)
	}
	return err
}

// wanted is "" for what reads itself, or takes anything.
func wanted(t reflect.Type) string {
	if t == nil || readsItself(t) {
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
