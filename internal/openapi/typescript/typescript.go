// Package typescript makes TypeScript types of the OpenAPI document of the hosted API,
// in exactly the forms of JSON Schema that this document uses; any other is an error.
package typescript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Summary    string
	Parameters []struct {
		In, Name string
		Required bool
		Schema   schema
	}
	RequestBody *struct {
		Required bool
		Content  media
	}
	Responses map[string]struct{ Content media }
}

type media map[string]struct{ Schema schema }

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Enum                 []string
	AnyOf                []schema
	Items                *schema
	Properties           map[string]schema
	Required             []string
	AdditionalProperties *schema
}

// UnmarshalJSON reads true and false too, the schemas of any value and of none.
func (s *schema) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true":
		return nil
	case "false":
		s.Type = types{"never"}
		return nil
	}
	type plain schema
	return json.Unmarshal(text, (*plain)(s))
}

// types is one type, or several.
type types []string

func (t *types) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*t = types{""}
		return json.Unmarshal(text, &(*t)[0])
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// Types are the schemas as interfaces, and every endpoint with what it takes and
// answers, by "METHOD /path".
func Types(openapi []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(openapi, &d); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("// Made from the OpenAPI document of the hosted API by go generate ./web. Do not edit.\n\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		of, err := d.Components.Schemas[name].typescript()
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		fmt.Fprintf(&out, "export type %s = %s\n", name, of)
	}
	out.WriteString("\nexport interface Endpoints {\n")
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			of, err := d.Paths[path][method].typescript()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			fmt.Fprintf(&out, "\t%q: %s\n", strings.ToUpper(method)+" "+path, of)
		}
	}
	out.WriteString("}\n")
	return out.Bytes(), nil
}

func (o operation) typescript() (string, error) {
	path, query := schema{Type: types{"object"}, Properties: map[string]schema{}}, schema{Type: types{"object"}, Properties: map[string]schema{}}
	for _, p := range o.Parameters {
		in := map[string]*schema{"path": &path, "query": &query}[p.In]
		if in == nil {
			continue // headers are the client's affair
		}
		in.Properties[p.Name] = p.Schema
		if p.Required {
			in.Required = append(in.Required, p.Name)
		}
	}
	body, answer := schema{Type: types{"null"}}, schema{Type: types{"null"}}
	if o.RequestBody != nil {
		body = o.RequestBody.Content["application/json"].Schema
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if of, ok := o.Responses[status].Content["application/json"]; ok && strings.HasPrefix(status, "2") {
			answer = of.Schema
		}
	}
	var parts []string
	for _, of := range []struct {
		name string
		schema
	}{{"path", path}, {"query", query}, {"body", body}, {"answer", answer}} {
		text, err := of.typescript()
		if err != nil {
			return "", fmt.Errorf("%s: %w", of.name, err)
		}
		parts = append(parts, of.name+": "+text)
	}
	return "{ " + strings.Join(parts, "; ") + " }", nil
}

func (s schema) typescript() (string, error) {
	switch {
	case s.Ref != "":
		name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/")
		if !ok {
			return "", fmt.Errorf("a reference to %s", s.Ref)
		}
		return name, nil
	case s.AnyOf != nil:
		return union(s.AnyOf, schema.typescript)
	case s.Enum != nil:
		return union(s.Enum, func(v string) (string, error) { return fmt.Sprintf("%q", v), nil })
	case len(s.Type) == 0:
		return "unknown", nil
	}
	return union(s.Type, func(kind string) (string, error) {
		switch kind {
		case "string", "boolean", "null", "never":
			return kind, nil
		case "integer", "number":
			return "number", nil
		case "array":
			of, err := s.Items.typescript()
			return "Array<" + of + ">", err
		case "object":
			return s.object()
		}
		return "", fmt.Errorf("the type %q", kind)
	})
}

func (s schema) object() (string, error) {
	if s.AdditionalProperties != nil && len(s.Properties) == 0 {
		of, err := s.AdditionalProperties.typescript()
		return "Record<string, " + of + ">", err
	}
	if len(s.Properties) == 0 {
		return "{}", nil
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of, err := s.Properties[name].typescript()
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		members = append(members, name+optional+": "+of)
	}
	return "{ " + strings.Join(members, "; ") + " }", nil
}

func union[T any](of []T, text func(T) (string, error)) (string, error) {
	var parts []string
	for _, one := range of {
		part, err := text(one)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " | "), nil
}
