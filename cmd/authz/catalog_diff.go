package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// catalogDiff is how a file differs from the newest published catalog.
type catalogDiff struct {
	Version int64           `json:"version"` // 0: nothing was published
	Changes []catalogChange `json:"changes"`
}

// catalogChange is one thing that was added, removed or changed. Members are those
// that changed.
type catalogChange struct {
	Change  string   `json:"change"`
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Members []string `json:"members,omitempty"`
}

func newCatalogDiff() *cobra.Command {
	a := &admin{}
	var exit bool
	c := &cobra.Command{
		Use:   "diff FILE",
		Short: "Compare a catalog with the newest published one",
		Long: `Compare a catalog (JSON or YAML) with the newest published one: permissions, groups, scope
types, and what else changed. What publishing it does to wildcards in use, 'authz drift'
says afterwards.`,
		Example: `  authz catalog diff docs.catalog.yaml
  authz catalog diff docs.catalog.yaml --exit-code || echo 'the catalog is not published'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, built, err := loadCatalog(c.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			document, err := built.Document()
			if err != nil {
				return err
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			head, err := published(c.Context(), app)
			if err != nil {
				return err
			}
			diff, before := catalogDiff{}, json.RawMessage("{}")
			if head != nil {
				diff.Version, before = head.Version, head.Document
			}
			if diff.Changes, err = diffDocuments(before, document); err != nil {
				return err
			}
			if err := a.printed(c, diff, func(w io.Writer) { printDiff(w, diff) }); err != nil {
				return err
			}
			if exit && len(diff.Changes) > 0 {
				return errDenied
			}
			return nil
		},
	}
	a.reads(c)
	c.Flags().BoolVar(&exit, "exit-code", false, fmt.Sprintf("exit with %d when they differ", exitDenied))
	c.ValidArgsFunction = catalogFiles
	return c
}

// diffDocuments compares member by member; lists of named things by their names.
func diffDocuments(from, to json.RawMessage) ([]catalogChange, error) {
	var before, after map[string]json.RawMessage
	for raw, into := range map[*json.RawMessage]*map[string]json.RawMessage{&from: &before, &to: &after} {
		if err := json.Unmarshal(*raw, into); err != nil {
			return nil, fmt.Errorf("a catalog document is no JSON object: %w", err)
		}
	}
	changes := []catalogChange{}
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
		changes = append(changes, diffMembers(list.kind, old, new, true)...)
		delete(before, list.member)
		delete(after, list.member)
	}
	return append(changes, diffMembers("section", before, after, false)...), nil
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
		var members map[string]json.RawMessage
		if err := json.Unmarshal(entry, &members); err != nil {
			return nil, err
		}
		named[strings.Trim(string(members[name]), `"`)] = entry
	}
	return named, nil
}

// diffMembers compares by name; deep says which members of a changed one did.
func diffMembers(kind string, before, after map[string]json.RawMessage, deep bool) (changes []catalogChange) {
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
		change := catalogChange{Kind: kind, Name: name}
		switch {
		case !was:
			change.Change = "added"
		case !is:
			change.Change = "removed"
		case sameJSON(old, new):
			continue
		default:
			change.Change = "changed"
			if deep {
				var o, n map[string]json.RawMessage
				_ = json.Unmarshal(old, &o) // byName has read both
				_ = json.Unmarshal(new, &n)
				for _, m := range diffMembers("", o, n, false) {
					change.Members = append(change.Members, m.Name)
				}
			}
		}
		changes = append(changes, change)
	}
	return changes
}

func printDiff(w io.Writer, d catalogDiff) {
	if len(d.Changes) == 0 {
		fmt.Fprintf(w, "no difference from version %d\n", d.Version)
		return
	}
	var b bytes.Buffer
	for _, c := range d.Changes {
		sign := map[string]string{"added": "+", "removed": "-", "changed": "~"}[c.Change]
		fmt.Fprintf(&b, "%s %s %s", sign, c.Kind, c.Name)
		if len(c.Members) > 0 {
			fmt.Fprintf(&b, ": %s", strings.Join(c.Members, ", "))
		}
		b.WriteByte('\n')
	}
	_, _ = w.Write(b.Bytes()) // as table does
}
