package catalogdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Change is one thing that was added, removed or changed. Members are those that
// changed.
type Change struct {
	Change  string   `json:"change"`
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Members []string `json:"members,omitempty"`
}

// Same reports that two JSON texts say the same.
func Same(a, b []byte) bool {
	left, errLeft := authz.Canonical(a)
	right, errRight := authz.Canonical(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// Documents compares member by member; lists of named things by their names.
func Documents(from, to json.RawMessage) ([]Change, error) {
	var before, after map[string]json.RawMessage
	for raw, into := range map[*json.RawMessage]*map[string]json.RawMessage{&from: &before, &to: &after} {
		if err := json.Unmarshal(*raw, into); err != nil {
			return nil, fmt.Errorf("a catalog document is no JSON object: %w", err)
		}
	}
	changes := []Change{}
	for _, list := range []struct{ member, name, kind string }{
		{"leaves", "key", "permission"}, {"groups", "path", "group"}, {"scopeTypes", "type", "scope type"},
	} {
		old, err := byName(before[list.member], list.name)
		if err != nil {
			return nil, err
		}
		new, err := byName(after[list.member], list.name)
		if err != nil {
			return nil, err
		}
		changes = append(changes, members(list.kind, old, new, true)...)
		delete(before, list.member)
		delete(after, list.member)
	}
	return append(changes, members("section", before, after, false)...), nil
}

func byName(list json.RawMessage, name string) (map[string]json.RawMessage, error) {
	named := map[string]json.RawMessage{}
	if len(list) == 0 {
		return named, nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(entry, &parts); err != nil {
			return nil, err
		}
		named[strings.Trim(string(parts[name]), `"`)] = entry
	}
	return named, nil
}

// members compares by name; deep says which members of a changed one did.
func members(kind string, before, after map[string]json.RawMessage, deep bool) (changes []Change) {
	names := slices.Sorted(maps.Keys(after))
	for name := range before {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		old, was := before[name]
		new, is := after[name]
		change := Change{Kind: kind, Name: name}
		switch {
		case !was:
			change.Change = "added"
		case !is:
			change.Change = "removed"
		case Same(old, new):
			continue
		default:
			change.Change = "changed"
			if deep {
				var o, n map[string]json.RawMessage
				_ = json.Unmarshal(old, &o) // byName has read both
				_ = json.Unmarshal(new, &n)
				for _, m := range members("", o, n, false) {
					change.Members = append(change.Members, m.Name)
				}
			}
		}
		changes = append(changes, change)
	}
	return changes
}

// Additive reports that the change takes nothing away and alters nothing of what there
// was: not where a permission counts, nor how it is judged.
func (c Change) Additive() bool {
	if c.Change == "added" && c.Kind != "section" {
		return true
	}
	if c.Change != "changed" {
		return false
	}
	words := []string{"label", "description"}
	switch c.Kind {
	case "group": // whose children are told on their own
		words = append(words, "groups", "permissions")
	case "permission", "scope type":
	case "section":
		return c.Name == "navigation" || c.Name == "conventions" // no answer depends on them
	default:
		return false
	}
	return !slices.ContainsFunc(c.Members, func(m string) bool { return !slices.Contains(words, m) })
}

func (c Change) String() string {
	text := c.Kind + " " + c.Name + " is " + c.Change
	if len(c.Members) > 0 {
		text += " (" + strings.Join(c.Members, ", ") + ")"
	}
	return text
}
