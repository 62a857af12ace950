package text

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// FaultKind says what a fault is about.
type FaultKind int

// The kinds of fault.
const (
	Wrong    FaultKind = iota // a value is not what the field holds
	Unknown                   // the object has no such field
	Repeated                  // the field was given before
)

// Fault is a problem with one field, before it is known how it will be reported.
type Fault struct {
	Kind    FaultKind
	Field   string // as the reader named it
	Problem string
	Got     *Value // what stands where something else was wanted, nil for none
	At      Place
}

// String tells the fault whole.
func (f Fault) String() string {
	told := f.Brief()
	if f.Got != nil {
		told += " — got " + f.Got.Echo()
	}
	return told
}

// Brief leaves out what was there instead.
func (f Fault) Brief() string { return spell.Echo(f.Field) + " " + f.Problem }

// Fields reads members of objects, and collects what is wrong with them. Without
// Places, unknown members are ignored.
type Fields struct {
	Places Places
	Under  string // what the fields lie under in Places
	Here   Place  // of the member or item that is being read
	Faults []Fault
}

// Bad adds a fault of kind Wrong.
func (f *Fields) Bad(field, problem string) { f.add(Wrong, field, problem, nil) }

// BadValue adds a fault of kind Wrong, which tells the value.
func (f *Fields) BadValue(field, problem string, got *Value) { f.add(Wrong, field, problem, got) }

func (f *Fields) add(kind FaultKind, field, problem string, got *Value) {
	f.Faults = append(f.Faults, Fault{Kind: kind, Field: field, Problem: problem, Got: got, At: f.Here})
}

// Members yields the members that are not null, each name once.
func (f *Fields) Members(object *Value, under string, s Shape) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for m, repeated := range object.Named() {
			field := under + m.Name
			f.Here = m.At
			f.Places.Note(f.Under+field, m.At)
			switch {
			case f.Places != nil && !s.has(m.Name):
				f.add(Unknown, field, s.unknown(m.Name), nil)
			case repeated:
				f.add(Repeated, field, "is given more than once", nil)
			case m.Value.Kind != Null && !yield(m):
				return
			}
		}
	}
}

// Object yields the members of what has to be an object.
func (f *Fields) Object(field string, v *Value, s Shape) iter.Seq[Member] {
	if v.Kind != Object {
		f.BadValue(field, "must be an object", v)
	}
	return f.Members(v, field+".", s)
}

// List yields the items of what has to be an array.
func (f *Fields) List(field string, v *Value) iter.Seq2[int, *Value] {
	if v.Kind != Array {
		f.BadValue(field, "must be an array", v)
	}
	return func(yield func(int, *Value) bool) {
		for i, item := range v.Items {
			f.Here = item.At
			if !yield(i, item) {
				return
			}
		}
	}
}

// Text reads a string.
func (f *Fields) Text(field string, v *Value) string {
	if v.Kind != String {
		f.BadValue(field, "must be a string", v)
	}
	return v.AsString()
}

// Texts reads an array of strings.
func (f *Fields) Texts(field string, v *Value) []string {
	list, ok := v.AsStrings()
	if !ok {
		f.BadValue(field, "must be an array of strings", v)
	}
	return list
}

// Flag reads a boolean.
func (f *Fields) Flag(field string, v *Value) bool {
	if v.Kind != Bool {
		f.BadValue(field, "must be a boolean", v)
	}
	return v.IsTrue()
}

// Index is the end of the path of an item.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// Shape names the members that an object may have. The zero Shape takes any.
type Shape struct {
	What    string
	Members []string
}

func (s Shape) has(name string) bool { return s.Members == nil || slices.Contains(s.Members, name) }

// unknown says what to write in place of a name that the shape does not have.
func (s Shape) unknown(name string) string {
	problem := "is not a field of " + s.What
	if near := spell.Nearest(name, s.Members); near != "" {
		return problem + ". Did you mean " + spell.Quote(near) + "?"
	}
	return problem + ", which has " + strings.Join(s.Members, ", ")
}
