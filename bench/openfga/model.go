package openfga

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/bench/workload"
)

// relations writes the authorization model of a world as OpenFGA's guides do: a
// relation a permission. Roles are static here, so each is a relation too, as the
// guide to modeling roles prefers for such, and so is each area. A key's "has" is
// the union of what confers it here or above, its "lost" of what was taken from
// the user here or above, its "can" the difference: the check's relation. Folders
// and documents are of one type, which halves the model and with it each check.
func relations(w *workload.World) string {
	var b strings.Builder
	b.WriteString("model\n  schema 1.1\n\ntype user\n\ntype group\n  relations\n    define member: [user, group#member]\n" +
		"\ntype node\n  relations\n    define parent: [node]\n")
	for _, r := range w.Roles {
		fmt.Fprintf(&b, "    define %s: [user, group#member]\n", r.ID)
	}
	for _, name := range patterns(w) {
		fmt.Fprintf(&b, "    define %s: [user, group#member]\n    define no_%s: [user]\n", name, name)
	}
	for _, key := range w.Keys {
		k, area := relation(key), relation(workload.Area(key))
		sources := []string{k, area}
		for _, r := range w.Roles {
			if slices.ContainsFunc(r.Patterns, func(p string) bool { return workload.Covers(p, key) }) {
				sources = append(sources, r.ID)
			}
		}
		fmt.Fprintf(&b, "    define has_%s: %s or has_%s from parent\n", k, strings.Join(sources, " or "), k)
		fmt.Fprintf(&b, "    define lost_%s: no_%s or no_%s or lost_%s from parent\n", k, k, area, k)
		fmt.Fprintf(&b, "    define can_%s: has_%s but not lost_%s\n", k, k, k)
	}
	return b.String()
}

// conditions is a model without a relation a permission: tuples carry the keys
// that they are about, and a check the key that it asks for.
const conditions = `model
  schema 1.1

type user

type group
  relations
    define member: [user, group#member]

type node
  relations
    define parent: [node]
    define granted: [user with covers, group#member with covers] or granted from parent
    define revoked: [user with covers] or revoked from parent
    define can: granted but not revoked

condition covers(key: string, keys: list<string>) {
  key in keys
}
`

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
