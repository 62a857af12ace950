// Wildcard drift: what grants and roles reach by wildcards since a catalog gained keys. It
// compares documents and patterns, and decides nothing.

package access

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Drift is what changed between two publications of a catalog (spec: access §17).
// Both lists are ascending and never nil.
type Drift struct {
	GainedKeys  []string `json:"gainedKeys"`
	RemovedKeys []string `json:"removedKeys"`
}

// DriftReport is the drift from one published version to another, with the rows
// that reach further by it. Findings are read as they are consumed.
type DriftReport struct {
	FromVersion int64 `json:"fromVersion"`
	ToVersion   int64 `json:"toVersion"`
	Drift

	Findings iter.Seq2[DriftFinding, error] `json:"-"`
}

// DriftFinding is one wildcard in use that now matches keys it did not match
// before.
type DriftFinding struct {
	Via        DriftVia `json:"via"`
	Pattern    string   `json:"pattern"`
	GainedKeys []string `json:"gainedKeys"`
}

// DriftVia is where the wildcard stands: in a grant, or in a role together with
// the unexpired grants that name it.
type DriftVia struct {
	Kind     string       `json:"kind"` // DriftViaGrant or DriftViaRole
	Grant    *authz.Grant `json:"grant,omitempty"`
	Role     *authz.Role  `json:"role,omitempty"`
	GrantIDs []string     `json:"grantIds,omitempty"`
}

// The kinds of DriftVia.
const (
	DriftViaGrant = "grant"
	DriftViaRole  = "role"
)

// NewDrift compares the keys of two published documents.
func NewDrift(from, to []string) Drift {
	return Drift{GainedKeys: missing(to, from), RemovedKeys: missing(from, to)}
}

// missing lists the keys that the other list lacks, ascending.
func missing(keys, other []string) []string {
	has := make(map[string]bool, len(other))
	for _, k := range other {
		has[k] = true
	}
	found := []string{}
	for _, k := range keys {
		if !has[k] {
			found = append(found, k)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Findings lists the wildcards in use that match gained keys: first those of
// unexpired grants, in the order of the grants, then those of roles that some
// unexpired grant names, in the order of the roles. Roles are read before grants,
// each once and only when some key was gained, and no more is kept of them than
// what is found by role. It ends with the first error of either.
func (d Drift) Findings(grants iter.Seq2[authz.Grant, error], roles iter.Seq2[authz.Role, error], now int64) iter.Seq2[DriftFinding, error] {
	return func(yield func(DriftFinding, error) bool) {
		if len(d.GainedKeys) == 0 {
			return
		}
		reaching, err := d.reachingRoles(roles)
		if err != nil {
			yield(DriftFinding{}, err)
			return
		}
		naming := make(map[string][]string, len(reaching)) // role id → ids of grants
		for _, r := range reaching {
			naming[r.ID] = nil
		}
		for g, err := range grants {
			if err != nil {
				yield(DriftFinding{}, err)
				return
			}
			if g.ExpiresAt.Expired(now) {
				continue
			}
			if g.Pattern == "" {
				if ids, reaches := naming[g.RoleID]; reaches {
					naming[g.RoleID] = append(ids, g.ID)
				}
				continue
			}
			gained := d.GainedBy(g.Pattern)
			if len(gained) > 0 && !yield(DriftFinding{Via: DriftVia{Kind: DriftViaGrant, Grant: &g}, Pattern: g.Pattern, GainedKeys: gained}, nil) {
				return
			}
		}
		for _, r := range reaching {
			if len(naming[r.ID]) == 0 {
				continue
			}
			for _, p := range r.Patterns {
				gained := d.GainedBy(p)
				via := DriftVia{Kind: DriftViaRole, Role: &r, GrantIDs: naming[r.ID]}
				if len(gained) > 0 && !yield(DriftFinding{Via: via, Pattern: p, GainedKeys: gained}, nil) {
					return
				}
			}
		}
	}
}

func (d Drift) reachingRoles(roles iter.Seq2[authz.Role, error]) ([]authz.Role, error) {
	var found []authz.Role
	for r, err := range roles {
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.Patterns, func(p string) bool { return len(d.GainedBy(p)) > 0 }) {
			found = append(found, r)
		}
	}
	return found, nil
}

// GainedBy is the part of GainedKeys that a wildcard matches, none for a concrete
// pattern.
func (d Drift) GainedBy(pattern string) []string {
	if pattern == authz.Global {
		return d.GainedKeys
	}
	if !authz.IsWildcard(pattern) {
		return nil
	}
	prefix := strings.TrimSuffix(pattern, "*")
	from, _ := slices.BinarySearch(d.GainedKeys, prefix)
	rest := d.GainedKeys[from:]
	length := sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i], prefix) })
	return rest[:length:length]
}
