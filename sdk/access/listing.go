// Lists: which rows of a table a principal may see, said as scopes to include and exclude.
// One query takes the place of a check for each row.

package access

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// GrantedScopes are the scopes at which a key is granted and those at which it is
// revoked, each sorted; for listing. Granted is not reduced by Revoked and never
// holds implied ancestors.
type GrantedScopes struct {
	Granted []string `json:"granted"`
	Revoked []string `json:"revoked"`
}

// ListingMode says which rows of a list a principal may see.
type ListingMode string

// The modes of a ListingPlan.
const (
	// ListNone: no row. Return an empty list without a query.
	ListNone ListingMode = "none"

	// ListAll: every row.
	ListAll ListingMode = "all"

	// ListAllExcept: every row but those at or below a scope of Exclude.
	ListAllExcept ListingMode = "all_except"

	// ListScoped: the rows at or below a scope of Include and not at or below a
	// scope of Exclude.
	ListScoped ListingMode = "scoped"
)

// ListingPlan is the row filter of one key for one principal (spec: access §12).
// Include and Exclude are sorted, without duplicates and without "*"; both match
// a row by its ancestry, never by equality with the row's own scope. A list that
// the mode does not use is nil and left out of the JSON.
type ListingPlan struct {
	Mode    ListingMode `json:"mode"`
	Include []string    `json:"include,omitzero"`
	Exclude []string    `json:"exclude,omitzero"`
}

// PlanListing plans a list from the scopes at which a key is granted and those
// at which it is revoked, as GrantedScopes holds them. A plan never lists a row
// that the same rows deny; a key declared impliedOnAncestors may also be allowed
// at rows above a granted scope, which no plan lists.
func PlanListing(granted, revoked []string) ListingPlan {
	everywhere := slices.Contains(granted, authz.Global)
	switch {
	case slices.Contains(revoked, authz.Global):
		return ListingPlan{Mode: ListNone}
	case everywhere && len(revoked) == 0:
		return ListingPlan{Mode: ListAll}
	case everywhere:
		return ListingPlan{Mode: ListAllExcept, Exclude: sortedSet(revoked)}
	case len(granted) == 0:
		return ListingPlan{Mode: ListNone}
	}
	return ListingPlan{Mode: ListScoped, Include: sortedSet(granted), Exclude: sortedSet(revoked)}
}

// Shows reports whether the plan lists a row that a program has at hand: by the scope of
// the row and all that lies above it, in any order, with or without "*". An ancestor that
// is left out could hide a revoke. Many rows are better filtered by their database, with
// PathFilter or ClosureFilter.
func (p ListingPlan) Shows(scope string, ancestors ...string) bool {
	in := func(list []string) bool {
		return slices.Contains(list, scope) || slices.ContainsFunc(ancestors, func(above string) bool { return slices.Contains(list, above) })
	}
	switch {
	case scope == "": // of which nothing is known, so no revoke either
		return false
	case p.Mode == ListAll:
		return true
	case p.Mode == ListAllExcept:
		return !in(p.Exclude)
	case p.Mode == ListScoped:
		return in(p.Include) && !in(p.Exclude)
	}
	return false
}

// sortedSet copies; it is never nil, so that a list in use shows in JSON.
func sortedSet(scopes []string) []string {
	set := append([]string{}, scopes...)
	slices.Sort(set)
	return slices.Compact(set)
}
