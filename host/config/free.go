package config

import (
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (l *loader) textMap(path []string, raw any, bad refuse) (any, bool) {
	given, ok := raw.(map[string]any)
	if !ok {
		return bad("must be a mapping of names to text, not %s", kindOf(raw))
	}
	out := map[string]Secret{}
	for _, name := range sortedKeys(given) {
		p := append(slices.Clone(path), name)
		if !validVariable(name) {
			l.problem(p, "is no name of an environment variable")
			continue
		}
		s, ok := given[name].(string)
		if !ok || strings.ContainsRune(s, 0) {
			l.problem(p, "must be text, not %s; quote it", kindOf(given[name]))
			continue
		}
		secret, why := l.resolve(p, s, l.origin(p).base)
		if why != "" {
			l.problem(p, "%s", why)
			continue
		}
		out[name] = secret
	}
	return out, true
}

// settings resolves the references of a free-form tree and makes sure that it
// holds JSON values only. Variables are read as YAML scalars or lists, so that
// numbers and booleans can be given.
func (l *loader) settings(path []string, raw any) any {
	switch v := raw.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range sortedKeys(v) {
			out[name] = l.settings(append(slices.Clone(path), name), v[name])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = l.settings(append(slices.Clone(path), index(i)), one)
		}
		return out
	case []string:
		return l.settings(path, toAny(v))
	case string:
		if l.from(path) != "" {
			switch parsed := scalar(v).(type) {
			case string:
				v = parsed
			default:
				return l.settings(path, parsed)
			}
		}
		secret, why := l.resolve(path, v, l.origin(path).base)
		if why != "" {
			l.problem(path, "%s", why)
		}
		return secret
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			l.problem(path, "must be a finite number")
			return nil
		}
		return v
	case nil, bool, int, int64, uint64:
		return v
	}
	l.problem(path, "is %s, which cannot be passed to a plugin; quote it to pass text", kindOf(raw))
	return nil
}

// scalar reads a variable's text as YAML reads a plain value: a number, true,
// false, or text. Everything else stays the text it is.
func scalar(s string) any {
	var v any
	if yaml.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	switch v.(type) {
	case bool, int, int64, float64, string:
		return v
	}
	return s
}

func toAny(v []string) []any {
	out := make([]any, len(v))
	for i := range v {
		out[i] = v[i]
	}
	return out
}
