package condition

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// File declares the conditions of an application.
type File struct {
	// Context are the members that callers may send with a check, by name: bool, int,
	// double, string, timestamp, or list(T) of one of the first four.
	Context map[string]string `json:"context,omitempty"`

	// Conditions are expressions by key.
	Conditions map[string]string `json:"conditions"`
}

// The bounds of a file.
const (
	maxMembers    = 64
	maxExpression = 4096 // bytes
)

// Load reads and compiles a file, YAML or JSON. The error names everything wrong in it.
func Load(path string, c *catalog.Catalog) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var file File
	if err := input.Into(f, path, &file); err != nil {
		return nil, err
	}
	set, err := New(&file, c)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", path, err)
	}
	return set, nil
}

var memberName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// types are those of members of the context, by how a file spells them.
var types = map[string]*cel.Type{
	"bool": cel.BoolType, "int": cel.IntType, "double": cel.DoubleType, "string": cel.StringType, "timestamp": cel.TimestampType,
	"list(bool)": cel.ListType(cel.BoolType), "list(int)": cel.ListType(cel.IntType), "list(double)": cel.ListType(cel.DoubleType), "list(string)": cel.ListType(cel.StringType),
}

// New compiles what a file declares, for keys of a catalog.
func New(f *File, c *catalog.Catalog) (*Set, error) {
	s := &Set{context: maps.Clone(f.Context), byKey: map[string]*condition{}}
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if len(f.Conditions) == 0 {
		note("conditions: at least one is required")
	}
	if len(f.Context) > maxMembers {
		note("context: %d members, at most %d", len(f.Context), maxMembers)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Context)) {
		if !memberName.MatchString(name) {
			note("context.%s: a name has letters, digits and underscores, and begins with none of the digits", spell.Echo(name))
		}
		if types[f.Context[name]] == nil {
			known := slices.Sorted(maps.Keys(types))
			note("context.%s: %s is no type%s", name, spell.Quote(f.Context[name]), meant(f.Context[name], known))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(f.Conditions)) {
		leaf, declared := c.Leaf(key)
		switch {
		case !declared:
			note("conditions.%s: %w", spell.Echo(key), c.UnknownPermission(key, authz.ExpectedKey))
			continue
		case !leaf.RequiresCondition:
			note("conditions.%s: the catalog does not declare the key requiresCondition, so that nobody would ask it", key)
			continue
		}
		compiled, err := s.compile(env, f.Conditions[key])
		if err != nil {
			note("conditions.%s: %w", key, err)
			continue
		}
		s.byKey[key] = compiled
	}
	return s, errors.Join(wrong...)
}

// meant suggests one of the words that are known, or lists them.
func meant(word string, known []string) string {
	if near := spell.Nearest(word, known); near != "" {
		return ": did you mean " + spell.Quote(near) + "?"
	}
	if len(known) == 0 {
		return ": none is"
	}
	return ": there are " + spell.QuoteList(known)
}
