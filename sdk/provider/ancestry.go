package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Ancestry records parent edges of scopes, where the application keeps them.
type Ancestry interface {
	// SetScopeParents returns how many entries changed something.
	SetScopeParents(ctx context.Context, entries []ScopeParents, prov authz.Provenance) (changed int, err error)

	// ListRecordedScopes lists scopes whose parents are recorded, by scope.
	ListRecordedScopes(ctx context.Context, q RecordedScopeQuery) iter.Seq2[RecordedScope, error]
}

// RecordedScopeQuery selects recorded scopes; members that are "" are absent.
type RecordedScopeQuery struct {
	Prefix string `json:"prefix,omitempty" doc:"With which the scope begins."`
	Parent string `json:"parent,omitempty" read:"target" doc:"A recorded parent of the scope."`
	Paging `json:"-"`
}

// RecordedScope is a scope with its recorded parents, none of a root.
type RecordedScope struct {
	Scope   string   `json:"scope"`
	Parents []string `json:"parents"`
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

	listRecordedScopesIn struct {
		Paged
		Filter RecordedScopeQuery `json:"filter"`
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

var opListRecordedScopes = declareList(Operation{Op: "listRecordedScopes", Method: "ListRecordedScopes", List: "scopes", Requires: FeatureAncestry,
	Tag: "ancestry", Summary: "List scopes whose parents are recorded", Notes: "`unsupported` where the application does not record ancestry, or its storage cannot list it.",
	Answer: "Ascending by scope."},
	func(s *RecordedScope) any { return s.Scope },
	func(ctx context.Context, to Provider, in *listRecordedScopesIn) iter.Seq2[RecordedScope, error] {
		in.Filter.Paging = in.paging()
		return to.ListRecordedScopes(ctx, in.Filter)
	})

func (c Calls) ListRecordedScopes(ctx context.Context, q RecordedScopeQuery) iter.Seq2[RecordedScope, error] {
	return rows(ctx, c, opListRecordedScopes, listRecordedScopesIn{q.paged(), q})
}
