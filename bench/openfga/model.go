package openfga

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/bench/workload"
)

// model writes the authorization model of a world. Roles are static there, so each
// is a relation, as OpenFGA's guide to modeling roles prefers for such; so is each
// area and each key. A key's "has" is the union of what confers it here or above,
// its "lost" of what was taken from the user here or above, its "can" the
// difference: the check's relation.
func model(w *workload.World) string {
	var b strings.Builder
	b.WriteString("model\n  schema 1.1\n\ntype user\n\ntype group\n  relations\n    define member: [user, group#member]\n")
	for _, kind := range []string{"folder", "document"} {
		fmt.Fprintf(&b, "\ntype %s\n  relations\n    define parent: [folder]\n", kind)
		for _, name := range direct(w) {
			fmt.Fprintf(&b, "    define %s: [user, group#member]\n", name)
		}
		for _, name := range patterns(w) {
			fmt.Fprintf(&b, "    define no_%s: [user]\n", name)
		}
		for _, key := range w.Keys {
			k, area := relation(key), relation(workload.Area(key))
			sources := []string{k, area}
			for _, r := range w.Roles {
				if slices.ContainsFunc(r.Patterns, func(p string) bool { return workload.Covers(p, key) }) {
					sources = append(sources, relation(r.ID))
				}
			}
			fmt.Fprintf(&b, "    define has_%s: %s or has_%s from parent\n", k, strings.Join(sources, " or "), k)
			fmt.Fprintf(&b, "    define lost_%s: no_%s or no_%s or lost_%s from parent\n", k, k, area, k)
			fmt.Fprintf(&b, "    define can_%s: has_%s but not lost_%s\n", k, k, k)
		}
	}
	return b.String()
}

// relation names what a grant or revoke names: a role, an area or a key.
func relation(name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "docs."), ".*")
	return strings.ReplaceAll(name, ".", "_")
}

// patterns lists the relations of keys and areas.
func patterns(w *workload.World) []string {
	var names []string
	for _, key := range w.Keys {
		names = append(names, relation(key))
		if area := relation(workload.Area(key)); !slices.Contains(names, area) {
			names = append(names, area)
		}
	}
	return names
}

// direct lists the relations that a grant may name.
func direct(w *workload.World) []string {
	names := patterns(w)
	for _, r := range w.Roles {
		names = append(names, relation(r.ID))
	}
	return names
}
