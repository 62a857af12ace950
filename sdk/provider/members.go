package provider

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Member is one member of a JSON object, as a field of a struct declares it. The json tag
// names it. The read tag lists its rules, words with commas between them.
type Member struct {
	Name  string
	Index []int
	Type  reflect.Type

	// Required members must be present and not null.
	Required bool

	// Unless names a member that excludes this one. With it this one is not required.
	Unless string

	// Null says that null is a value of the member, and nowhere absent.
	Null bool

	// Turn orders the judging of members, lowest first. Only fields that are judged out
	// of their place in the struct have one other than 0.
	Turn int

	// Filter members select: null is refused, because it would select more.
	Filter bool

	// Optional members of an answer may be missing.
	Optional bool

	// Rule is what the value must be, beyond its type.
	Rule Rule

	// Min and Max bound the number of a list's elements. "" leaves the bound to the
	// application.
	Min, Max string

	// Doc is what the OpenAPI document says of it.
	Doc string

	// Outer is the message about a value within a dictionary, "" elsewhere.
	Outer string

	// Clears belongs to a field without a member of its own. It names the member whose
	// null the field stands for.
	Clears string
}

// Rule is what a value must be, beyond its type.
type Rule string

// The rules.
const (
	RuleNonEmpty   Rule = "nonempty"   // "" would pass for absent
	RuleID         Rule = "id"         // nonempty, at most 1024 bytes
	RuleScope      Rule = "scope"      // never "", which would mean everywhere
	RulePattern    Rule = "pattern"    // never ""
	RuleTarget     Rule = "target"     // a well-formed scope that is asked about
	RuleWellFormed Rule = "wellformed" // a well-formed pattern
	RuleSequence   Rule = "sequence"   // at least 0
	RulePositive   Rule = "positive"   // at least 1
	RulePage       Rule = "page"       // from 1 to 10,000
	RuleAnswers    Rule = "answers"    // an object of strings, in which null is no answer
	RuleDocument   Rule = "document"   // an object that is handed on as it came
	RuleSource     Rule = "source"     // who sends a snapshot, never ""
)

var members sync.Map // of []Member by reflect.Type

// Members are the members of a struct in the order of its fields, those of embedded
// structs in their place.
func Members(t reflect.Type) []Member {
	if known, ok := members.Load(t); ok {
		return known.([]Member)
	}
	found := collect(t, nil, nil)
	members.Store(t, found)
	return found
}

func collect(t reflect.Type, at []int, found []Member) []Member {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		read := strings.Split(f.Tag.Get("read"), ",")
		unless, conditional := strings.CutPrefix(read[0], "unless=")
		switch {
		case f.Anonymous && tag == "":
			first := len(found)
			found = collect(f.Type, index, found)
			for i := first; conditional && i < len(found); i++ {
				found[i].Unless = unless
			}
			continue
		case conditional:
			panic("provider: unless= is for embedded structs: " + f.Name)
		case !f.IsExported():
			continue
		}
		m := Member{Name: name, Index: index, Type: f.Type, Doc: f.Tag.Get("doc"), Min: f.Tag.Get("min"), Max: f.Tag.Get("max"), Optional: strings.Contains(options, "omit")}
		for _, word := range read {
			switch clears, isClears := strings.CutPrefix(word, "clears="); {
			case isClears:
				m.Clears = clears
			case word == "first":
				m.Turn = -1
			case word == "last":
				m.Turn = 1
			case word == "required":
				m.Required = true
			case word == "null":
				m.Null = true
			case word == "filter":
				m.Filter = true
			default:
				m.Rule = Rule(word)
			}
		}
		switch {
		case m.Clears != "":
			m.Name = ""
			found = append(found, m)
		case name != "" && name != "-":
			found = append(found, m)
		}
	}
	return found
}

// Want says of what form the member must be, as a refusal tells it.
func (m Member) Want() string {
	if m.Outer != "" {
		return m.Outer
	}
	t := m.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64:
		switch m.Rule {
		case RuleSequence:
			return "an integer of at least 0"
		case RulePage:
			return fmt.Sprintf("an integer from 1 to %d", maxPage)
		}
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list of objects"
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice {
			return "an object of lists of strings"
		}
		return "an object of strings"
	}
	return "an object"
}
