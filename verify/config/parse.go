package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/verify/internal/pattern"
)

// commentMark begins the names of members that are remarks: JSON has no comments.
const commentMark = "//"

// Parse reads the text of a configuration file; see Load.
func Parse(raw []byte) (c *Config, unknown []string, err error) {
	c = &Config{Include: []string{"src"}}
	err = object(raw, "", &unknown, map[string]func(field) error{
		"catalog":                 one(&c.Catalog, nonEmpty),
		"include":                 many(&c.Include, nonEmpty),
		"exclude":                 many(&c.Exclude, nonEmpty),
		"gateNames":               many(&c.GateNames, nonEmpty),
		"visibilityNames":         many(&c.VisibilityNames, nonEmpty),
		"serverFilePatterns":      many(&c.ServerFilePatterns, nil),
		"forbidClientIdentifiers": many(&c.ForbidClientIdentifiers, nonEmpty),
		"importManifest":          one(&c.ImportManifest, nonEmpty),
		"imports":                 c.readImports,
		"importSource":            one(&c.ImportSource, among("registry", "none")),
		"implicitImports":         one(&c.ImplicitImports, among("error", "warn", "off")),
		"implicitImportAllow":     many(&c.ImplicitImportAllow, nonEmpty),
		"judge":                   one(&c.Judge, among(JudgeExports)),
		"gateWrappers":            many(&c.GateWrappers, nonEmpty),
		"passThroughWrappers":     many(&c.PassThroughWrappers, nonEmpty),
		"publicWrappers":          many(&c.PublicWrappers, nonEmpty),
		"gateMiddleware":          many(&c.GateMiddleware, nonEmpty),
		"refusalsGate":            flag(&c.RefusalsGate),
		"exempt":                  c.readExempt,
		"go": func(f field) error {
			c.Go = &Go{Packages: []string{"./..."}}
			return c.Go.read(f)
		},
	})
	if err == nil {
		err = c.together(unknown)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.Catalog == "" {
		return nil, nil, &FieldError{"catalog", "is required: the path of the emitted catalog document"}
	}
	return c, unknown, nil
}

// members are the names of all members, for suggestions.
var members = []string{"catalog", "include", "exclude", "gateNames", "visibilityNames", "serverFilePatterns", "forbidClientIdentifiers", "importManifest",
	"imports", "importSource", "implicitImports", "implicitImportAllow", "judge", "gateWrappers", "passThroughWrappers", "publicWrappers", "gateMiddleware",
	"refusalsGate", "exempt", "go", "go.packages", "go.tests", "go.clientPackages", "go.serverFunctions", "go.clientFilePatterns"}

// together judges what members mean beside each other. What is declared for exports
// must not be there in vain, nor be misspelt.
func (c *Config) together(unknown []string) error {
	if c.Judge == "" {
		for name, given := range map[string]bool{"gateWrappers": c.GateWrappers != nil, "passThroughWrappers": c.PassThroughWrappers != nil,
			"publicWrappers": c.PublicWrappers != nil, "gateMiddleware": c.GateMiddleware != nil, "refusalsGate": c.RefusalsGate, "exempt": c.Exempt != nil} {
			if given {
				return &FieldError{name, `has an effect only beside "judge": "exports"`}
			}
		}
		return nil
	}
	if len(unknown) > 0 {
		return unknownMember(unknown[0])
	}
	said := map[string]string{}
	for _, l := range []struct {
		name  string
		names []string
	}{{"gateWrappers", c.GateWrappers}, {"passThroughWrappers", c.PassThroughWrappers}, {"publicWrappers", c.PublicWrappers}} {
		for _, n := range l.names {
			if before := said[n]; before != "" && before != l.name {
				return &FieldError{l.name, fmt.Sprintf("%q is in %s too: a wrapper is one or the other", n, before)}
			}
			said[n] = l.name
		}
	}
	return nil
}

func unknownMember(name string) error {
	reason := "there is no such field"
	if near := spell.Nearest(name, members); near != "" {
		reason += fmt.Sprintf(": did you mean %q?", near)
	}
	return &FieldError{name, reason}
}

// readExempt reads reasons by pattern.
func (c *Config) readExempt(f field) error {
	c.Exempt = map[string]string{}
	all, err := f.members("an object of path pattern to reason")
	for _, m := range all {
		reason, ok := m.text()
		if strings.HasPrefix(m.name, commentMark) {
			continue
		}
		_, twice := c.Exempt[m.name]
		switch _, err := pattern.Compile(m.name); {
		case err != nil:
			return f.bad("%q: %v", m.name, err)
		case m.name == "":
			return f.bad("the pattern \"\" matches every file")
		case !ok || strings.TrimSpace(reason) == "":
			return f.bad("%q needs a reason, as a string: why its server functions need no gate", m.name)
		case twice:
			return f.bad("%q is given more than once", m.name)
		}
		c.Exempt[m.name] = reason
	}
	return err
}

func (c *Config) readImports(f field) error {
	c.Imports = map[string]string{}
	members, err := f.members("an object of namespace to path")
	for _, m := range members {
		switch path, ok := m.text(); {
		case !ok:
			return f.bad("the path of %q must be a string", m.name)
		case m.name == "" || path == "":
			return f.bad("namespaces and paths must not be empty")
		case c.Imports[m.name] != "":
			return f.bad("%q is given more than once", m.name)
		default:
			c.Imports[m.name] = path
		}
	}
	return err
}

// object reads the members of one JSON object by their readers and adds the names
// that have none to unknown.
func object(raw []byte, prefix string, unknown *[]string, readers map[string]func(field) error) error {
	members, err := decode(raw)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range members {
		read, known := readers[m.name]
		m.name = prefix + m.name
		switch {
		case strings.HasPrefix(m.name, prefix+commentMark):
		case !known:
			*unknown = append(*unknown, m.name)
		case seen[m.name]:
			return m.bad("is given more than once")
		default:
			seen[m.name] = true
			if err := read(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode splits one JSON object into its members, in order.
func decode(raw []byte) ([]field, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil { // also of what lies behind the value
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil {
		return nil, err
	} else if open != json.Delim('{') {
		return nil, errors.New("it must be one JSON object")
	}
	var list []field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: name.(string)}
		if err := d.Decode(&f.raw); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// field is a member and its value as written.
type field struct {
	name string
	raw  json.RawMessage
}

func (f field) bad(format string, args ...any) error {
	return &FieldError{f.name, fmt.Sprintf(format, args...)}
}

// kind is the first byte of the value, which tells its type.
func (f field) kind() byte { return f.raw[0] }

func (f field) what() string {
	switch f.kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

func (f field) text() (value string, ok bool) {
	if f.kind() != '"' {
		return "", false
	}
	return value, json.Unmarshal(f.raw, &value) == nil
}

func (f field) members(want string) ([]field, error) {
	if f.kind() != '{' {
		return nil, f.bad("must be %s, not %s", want, f.what())
	}
	return decode(f.raw)
}

// check judges a string: what it must be, or "".
type check func(string) string

func nonEmpty(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return ""
}

func among(values ...string) check {
	return func(s string) string {
		if slices.Contains(values, s) {
			return ""
		}
		return fmt.Sprintf("must be one of %q", values)
	}
}

func one(into *string, judge check) func(field) error {
	return func(f field) error {
		value, ok := f.text()
		if !ok {
			return f.bad("must be a string, not %s", f.what())
		}
		if fault := judge(value); fault != "" {
			return f.bad("%s", fault)
		}
		*into = value
		return nil
	}
}

func many(into *[]string, judge check) func(field) error {
	return func(f field) error {
		if f.kind() != '[' {
			return f.bad("must be an array of strings, not %s", f.what())
		}
		var items []json.RawMessage
		if err := json.Unmarshal(f.raw, &items); err != nil {
			return err
		}
		*into = make([]string, len(items))
		for i, raw := range items {
			item := field{raw: raw}
			value, ok := item.text()
			if !ok {
				return f.bad("entry %d must be a string, not %s", i, item.what())
			}
			if judge != nil {
				if fault := judge(value); fault != "" {
					return f.bad("entry %d %s", i, fault)
				}
			}
			(*into)[i] = value
		}
		return nil
	}
}

func flag(into *bool) func(field) error {
	return func(f field) error {
		if kind := f.kind(); kind != 't' && kind != 'f' {
			return f.bad("must be a boolean, not %s", f.what())
		}
		return json.Unmarshal(f.raw, into)
	}
}
