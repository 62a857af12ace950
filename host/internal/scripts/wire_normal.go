package scripts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// mapped is a value with every string in it put through a function.
func mapped(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mapped(v[i], text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = mapped(v[k], text)
		}
		return out
	}
	return v
}

// rename replaces every string that is a key of names.
func rename(v any, names map[string]string) any {
	return mapped(v, func(s string) string {
		if other, ok := names[s]; ok {
			return other
		}
		if kind, id, ok := strings.Cut(s, ":"); ok && names[id] != "" {
			return kind + ":" + names[id]
		}
		return s
	})
}

// sets are the lists whose order the recording does not keep.
var sets = []string{"grants", "revokes", "roles", "groups", "users", "requests", "closure", "userIds", "unresolvedRoleIds"}

// named puts symbols in place of generated ids wherever they stand; one that is no row
// of the case is "<id>".
func named(v any, symbols map[string]string) any {
	return mapped(v, func(s string) string { return symbolsIn(s, symbols) })
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
