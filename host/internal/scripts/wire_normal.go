package scripts

import (
	"encoding/json"
	"regexp"
	"slices"
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

// sets are the lists whose order the recording does not keep, inOrder those whose
// order means something. Any other is sorted where it names rows by their symbols,
// which do not sort as the ids that they stand for.
var (
	sets = []string{"grants", "revokes", "roles", "groups", "users", "requests", "closure", "userIds", "unresolvedRoleIds",
		"findings", "orphanedGrants", "orphanedRevokes", "danglingRoleGrants"}
	inOrder = []string{"events", "decisions", "stages", "path", "managerChain", "objectClosure"}
)

// settled is a value with the lists below it sorted that have no order of their own.
func settled(v any) any {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			settled(item)
		}
	case map[string]any:
		for name, member := range v {
			settled(member)
			list, _ := member.([]any)
			if !slices.Contains(inOrder, name) && (slices.Contains(sets, name) || slices.ContainsFunc(list, namesRow)) {
				SortJSON(member)
			}
		}
	}
	return v
}

// symbol is how the cases name rows.
var symbol = regexp.MustCompile(`(^|:)(G|R|Q|ROLE|GROUP)[0-9]+$`)

// namesRow tells whether a value is about one row.
func namesRow(v any) bool {
	switch v := v.(type) {
	case string:
		return symbol.MatchString(v)
	case map[string]any:
		for _, member := range v {
			if namesRow(member) {
				return true
			}
		}
	}
	return false
}

// named puts symbols in place of generated ids wherever they stand; one that is no row
// of the case is "<id>".
func named(v any, symbols map[string]string) any {
	return mapped(v, func(s string) string { return symbolsIn(s, symbols) })
}

// normalized is the body of an answer with rows named by symbol, sets sorted and
// without what is free or depends on ids.
func normalized(body map[string]any, symbols map[string]string) map[string]any {
	members := settled(fixed(named(body, symbols))).(map[string]any)
	entries, _ := members["events"].([]any)
	for _, entry := range entries {
		entry, _ := entry.(map[string]any)
		for _, hash := range []string{"hash", "prevHash"} { // of ids, which are not the recorded ones
			if _, ok := entry[hash].(string); ok {
				entry[hash] = "<hash>"
			}
		}
	}
	return members
}

// comparable is what is compared of an error where another is wanted: of an
// internal one the name only, of the detail the members that are wanted. The
// wording is the project's own, but for cycles and what the handler refuses itself.
func comparable(fault, want map[string]any) map[string]any {
	kept := map[string]any{"name": fault["name"]}
	if want["code"] == nil {
		return kept
	}
	kept["code"] = fault["code"]
	if want["code"] == "graph_cycle" || want["name"] == "ProviderApiError" {
		kept["message"] = fault["message"]
	}
	wanted, _ := want["detail"].(map[string]any)
	detail, _ := fault["detail"].(map[string]any)
	for name := range wanted {
		kept["detail."+name] = detail[name]
	}
	return kept
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
