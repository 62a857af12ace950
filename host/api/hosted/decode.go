package hosted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// maxElements bounds lists in a body, unless the tag max says otherwise.
const maxElements = 1000

// Nullable is an optional member to which null means something.
type Nullable[T any] struct {
	Set   bool // the member was there
	Value *T   // nil is null
}

// Pointer distinguishes absent (nil) from null (a pointer to nil).
func (n Nullable[T]) Pointer() **T {
	if !n.Set {
		return nil
	}
	return &n.Value
}

func (n *Nullable[T]) target() any { n.Set, n.Value = true, new(T); return n.Value }
func (n *Nullable[T]) null()       { n.Set, n.Value = true, nil }

type nullable interface {
	target() any
	null()
}

// decode reads the object body into target, a pointer to a struct. Member names
// are compared byte for byte; what the struct does not name, a wrong type and a
// missing member are issues. A member is optional when its tag has omitempty or
// it is Nullable. Everything wrong is reported at once.
func decode(body []byte, target any) *fault.Error {
	if problem := scan(body); problem != nil {
		return problem
	}
	d := &decoder{}
	d.value(body, reflect.ValueOf(target).Elem(), "", "")
	if len(d.issues) > 0 {
		return fault.Invalid(d.issues...)
	}
	return nil
}

type decoder struct{ issues []fault.Issue }

func (d *decoder) issue(path, format string, args ...any) {
	d.issues = append(d.issues, fault.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
}

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func (d *decoder) value(raw []byte, v reflect.Value, path string, tag reflect.StructTag) {
	raw = bytes.TrimSpace(raw)
	switch {
	case v.Type() == rawType:
		v.SetBytes(slices.Clone(raw))
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(raw, v.Elem(), path, tag)
		return
	case reflect.PointerTo(v.Type()).Implements(unmarshalerType) && len(bodyFields(v.Type())) == 0:
		// One with members of its own is read by them: its reader would fold case and
		// skip what it does not know.
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			d.issue(path, "not of the expected form")
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(raw, v, path)
	case reflect.Slice:
		d.list(raw, v, path, tag)
	case reflect.Map:
		d.named(raw, v, path)
	case reflect.String:
		d.text(raw, v, path, tag)
	case reflect.Bool:
		switch string(raw) {
		case "true", "false":
			v.SetBool(raw[0] == 't')
		default:
			d.issue(path, "must be true or false")
		}
	case reflect.Int, reflect.Int64:
		d.integer(raw, v, path, tag)
	default:
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			d.issue(path, "not of the expected form")
		}
	}
}

func (d *decoder) object(raw []byte, v reflect.Value, path string) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		d.issue(path, "must be an object")
		return
	}
	known := bodyFields(v.Type())
	for _, f := range known {
		at := member(path, f.name)
		text, there := members[f.name]
		delete(members, f.name)
		null := there && string(bytes.TrimSpace(text)) == "null"
		field := v.FieldByIndex(f.index)
		if n, ok := field.Addr().Interface().(nullable); ok {
			switch {
			case null:
				n.null()
			case there:
				d.value(text, reflect.ValueOf(n.target()).Elem(), at, f.tag)
			}
			continue
		}
		switch {
		case there && !null:
			d.value(text, field, at, f.tag)
		case f.optional:
		case null:
			d.issue(at, "must not be null")
		default:
			d.issue(at, "is required")
		}
	}
	unknown := make([]string, 0, len(members))
	for name := range members {
		unknown = append(unknown, name)
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		d.issue(member(path, name), "is no member that this endpoint knows%s", meant(name, known))
	}
}

// meant ends the message about an unknown name: the nearest that is known, else all.
func meant(name string, known []field) string {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	if near := spell.Nearest(name, names); near != "" {
		return ": did you mean " + near + "?"
	}
	if len(names) == 0 {
		return ": it takes none"
	}
	return ": it knows " + strings.Join(names, ", ")
}

func (d *decoder) list(raw []byte, v reflect.Value, path string, tag reflect.StructTag) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil || elements == nil {
		d.issue(path, "must be a list")
		return
	}
	least, most := bounds(tag, 0, maxElements)
	if int64(len(elements)) < least || int64(len(elements)) > most {
		d.issue(path, "must have %d to %d elements", least, most)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
	for i, element := range elements {
		d.value(element, v.Index(i), index(path, i), "")
	}
}

// named reads an object whose members are what their names say.
func (d *decoder) named(raw []byte, v reflect.Value, path string) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		d.issue(path, "must be an object")
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(members)))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		one := reflect.New(v.Type().Elem()).Elem()
		d.value(members[name], one, member(path, name), "")
		v.SetMapIndex(reflect.ValueOf(name), one)
	}
}

func (d *decoder) text(raw []byte, v reflect.Value, path string, tag reflect.StructTag) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		d.issue(path, "must be a string")
		return
	}
	if problem := checkText(s, tag); problem != "" {
		d.issue(path, "%s", problem)
		return
	}
	v.SetString(s)
}

func (d *decoder) integer(raw []byte, v reflect.Value, path string, tag reflect.StructTag) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	least, most := bounds(tag, -authz.MaxInstant, authz.MaxInstant)
	if err != nil || raw[0] == '+' || n < least || n > most {
		d.issue(path, "must be an integer from %d to %d", least, most)
		return
	}
	v.SetInt(n)
}

// defaultText bounds strings whose tag has no max, in bytes.
const defaultText = 4096

// checkText holds s to the tags enum, pattern, min and max (characters).
func checkText(s string, tag reflect.StructTag) string {
	if enum := tag.Get("enum"); enum != "" {
		if words := strings.Split(enum, ","); !slices.Contains(words, s) {
			return "must be one of " + strings.Join(words, ", ")
		}
	}
	if p := tag.Get("pattern"); p != "" && !pattern(p).MatchString(s) {
		return "must match " + p
	}
	least, most := bounds(tag, 0, defaultText)
	if n := int64(utf8.RuneCountInString(s)); n < least || n > most {
		return fmt.Sprintf("must have %d to %d characters", least, most)
	}
	return ""
}

func bounds(tag reflect.StructTag, least, most int64) (int64, int64) {
	if n, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil {
		least = n
	}
	if n, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil {
		most = n
	}
	return least, most
}

var patterns sync.Map // of *regexp.Regexp by text

func pattern(text string) *regexp.Regexp {
	if p, ok := patterns.Load(text); ok {
		return p.(*regexp.Regexp)
	}
	p := regexp.MustCompile(text)
	patterns.Store(text, p)
	return p
}

// field is a member of a body, or a parameter, with where it lies in its struct.
type field struct {
	name     string
	index    []int
	tag      reflect.StructTag
	typ      reflect.Type
	optional bool
}

// bodyFields are the members of a body or of an object in one: the fields with a
// json tag, those of embedded structs included.
func bodyFields(t reflect.Type) []field { return tagged(t, "json") }

// changesSomething refuses a body that leaves everything as it is: it would be a success,
// another etag and an entry in the log, for nothing.
func changesSomething(in any) *fault.Error {
	v := reflect.ValueOf(in)
	var names []string
	for _, f := range bodyFields(v.Type()) {
		if !v.FieldByIndex(f.index).IsZero() {
			return nil
		}
		names = append(names, f.name)
	}
	return fault.Invalid(fault.Issue{Path: "", Message: "changes nothing: it needs at least one of " + strings.Join(names, ", ")})
}

func tagged(t reflect.Type, tag string) []field {
	var found []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		_, isNullable := reflect.New(f.Type).Interface().(nullable)
		found = append(found, field{name: name, index: f.Index, tag: f.Tag, typ: f.Type,
			optional: isNullable || strings.Contains(options, "omit")})
	}
	return found
}
