package scripts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// rename replaces every string that is a key of names.
func rename(v any, names map[string]string) any {
	switch v := v.(type) {
	case string:
		if other, ok := names[v]; ok {
			return other
		}
		if kind, id, ok := strings.Cut(v, ":"); ok && names[id] != "" {
			return kind + ":" + names[id]
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = rename(v[i], names)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = rename(v[k], names)
		}
		return out
	}
	return v
}

// sets are the lists whose order the recording does not keep.
var sets = []string{"grants", "revokes", "roles", "groups", "users", "requests", "closure", "userIds", "unresolvedRoleIds"}

// named puts symbols in place of generated ids wherever they stand; one that is no row
// of the case is "<id>".
func named(v any, symbols map[string]string) any {
	switch v := v.(type) {
	case string:
		return generated.ReplaceAllStringFunc(v, func(id string) string {
			if symbol, ok := symbols[id]; ok {
				return symbol
			}
			return "<id>"
		})
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = named(v[i], symbols)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = named(v[k], symbols)
		}
		return out
	}
	return v
}

// normalized names rows by symbol, sorts sets and drops what is informative.
func normalized(v any, symbols map[string]string) any {
	v = fixed(named(v, symbols))
	members, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, name := range sets {
		if list, ok := members[name].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
	}
	if fault, ok := members["error"].(map[string]any); ok {
		kept := map[string]any{"name": fault["name"], "code": fault["code"]}
		if fault["code"] == "graph_cycle" || fault["name"] == "ProviderApiError" {
			kept["message"] = fault["message"]
		}
		if fault["code"] == nil { // status 500: the name only
			delete(kept, "code")
		}
		members["error"] = kept
	}
	return members
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Plain is a value as JSON has it.
func Plain(t testing.TB, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	must(t, err)
	var out any
	must(t, json.Unmarshal(raw, &out))
	return out
}
