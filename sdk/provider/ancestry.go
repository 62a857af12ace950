package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Ancestry records parent edges of scopes, where the application keeps them.
type Ancestry interface {
	// SetScopeParents returns how many entries changed something.
	SetScopeParents(ctx context.Context, entries []ScopeParents, prov authz.Provenance) (changed int, err error)
}

// ScopeParents records the parents of one scope: empty is a root, nil forgets
// the scope.
type ScopeParents struct {
	Scope   string    `json:"scope" read:"required"`
	Parents *[]string `json:"parents" read:"required,null"`
}

type (
	changedOut struct {
		Changed int `json:"changed"`
	}

	setScopeParentsIn struct {
		Entries    []ScopeParents   `json:"entries" read:"required" min:"1" max:"1000" doc:"A scope at most once."`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
)

var opSetScopeParents = declare(Operation{Op: "setScopeParents", Kind: Write, Method: "SetScopeParents", Requires: FeatureAncestry,
	Tag: "ancestry", Summary: "Record the parents of scopes", Notes: "`unsupported` where the application does not record ancestry.",
	Answer: "How many entries changed something."},
	func(ctx context.Context, to Provider, in *setScopeParentsIn) (changedOut, error) {
		changed, err := to.SetScopeParents(ctx, in.Entries, in.Provenance)
		return changedOut{changed}, err
	})

func (c Calls) SetScopeParents(ctx context.Context, entries []ScopeParents, prov authz.Provenance) (int, error) {
	out, err := ask(ctx, c, opSetScopeParents, setScopeParentsIn{orNone(entries), prov})
	return out.Changed, err
}
