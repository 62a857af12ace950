package condition

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// maxContext bounds what a caller sends, in bytes.
const maxContext = 16 << 10

// Read reads what a caller sent: an object whose every member is declared, once, and of
// its type. Else it is validation, with the place.
func (s *Set) Read(raw json.RawMessage) (Context, error) {
	if len(raw) > maxContext {
		return nil, authz.Validation("context has %d bytes, at most %d", len(raw), maxContext)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, authz.Validation("context must be an object")
	}
	in := Context{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, authz.Validation("context is not JSON")
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, authz.Validation("context is not JSON")
		}
		spelled, declared := s.context[name]
		_, twice := in[name]
		switch {
		case !declared:
			return nil, authz.Validation("context.%s is not declared%s", spell.Echo(name), meant(name, slices.Sorted(maps.Keys(s.context))))
		case twice:
			return nil, authz.Validation("context.%s is given twice", name)
		}
		if in[name], ok = read(value, spelled); !ok {
			return nil, authz.Validation("context.%s must be %s", name, wanted[spelled])
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, authz.Validation("context is not JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, authz.Validation("context is not JSON")
	}
	return in, nil
}

// wanted says what a type takes.
var wanted = map[string]string{
	"bool": "true or false", "int": "an integer of 64 bits", "double": "a number", "string": "a string", "timestamp": "an instant such as \"2027-01-31T17:00:00Z\"",
	"list(bool)": "a list of true and false", "list(int)": "a list of integers", "list(double)": "a list of numbers", "list(string)": "a list of strings",
}

// read makes a value of a type of what JSON held.
func read(value any, spelled string) (any, bool) {
	if of, ok := strings.CutPrefix(spelled, "list("); ok {
		list, ok := value.([]any)
		if !ok {
			return nil, false
		}
		out := make([]any, len(list))
		for i := range list {
			if out[i], ok = read(list[i], strings.TrimSuffix(of, ")")); !ok {
				return nil, false
			}
		}
		return out, true
	}
	switch spelled {
	case "bool":
		b, ok := value.(bool)
		return b, ok
	case "int":
		n, ok := value.(json.Number)
		i, err := n.Int64()
		return i, ok && err == nil
	case "double":
		n, ok := value.(json.Number)
		f, err := n.Float64()
		return f, ok && err == nil && !math.IsInf(f, 0)
	case "timestamp":
		text, ok := value.(string)
		at, err := time.Parse(time.RFC3339, text)
		return at, ok && err == nil
	default:
		text, ok := value.(string)
		return text, ok
	}
}
