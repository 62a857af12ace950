package application

import (
	"context"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	maxScopeEntries = 1000
	// maxAuditedEntries bounds what one audit entry repeats of a bulk write.
	maxAuditedEntries = 50
)

// SetScopeParents records parents of scopes and returns how many entries changed
// something (spec: host §4). It is the application's own data and never
// the org root's alone.
func (a *Application) SetScopeParents(ctx context.Context, entries []provider.ScopeParents, prov authz.Provenance) (int, error) {
	if !a.HasStoredAncestry() {
		return 0, authz.Rejected(authz.CodeUnsupported, "this storage driver does not record scope parents (capability %q)", storage.CapAncestry)
	}
	entries, err := checkScopeEntries(entries)
	if err != nil {
		return 0, err
	}
	if prov, err = provenance(prov); err != nil {
		return 0, err
	}
	for _, e := range entries {
		if err := a.checkScopeEntry(e); err != nil {
			return 0, err
		}
	}
	changed := 0
	plan := func(ctx context.Context, d *draft) error {
		var err error
		changed, err = d.scopeParents(ctx, entries)
		return err
	}
	err = a.run(ctx, write{op: "setScopeParents", prov: prov, sections: []string{sectionScopes}, plan: plan})
	return answered(&changed, err)
}

// checkScopeEntries judges shape alone and returns the entries without repeated
// parents.
func checkScopeEntries(in []provider.ScopeParents) ([]provider.ScopeParents, error) {
	if len(in) == 0 || len(in) > maxScopeEntries {
		return nil, authz.Validation("entries must hold 1 to %d entries", maxScopeEntries)
	}
	var s shape
	out := make([]provider.ScopeParents, len(in))
	seen := make(map[string]bool, len(in))
	for i, e := range in {
		s.text("scope", e.Scope, maxID)
		s.texts("parent", deref(e.Parents))
		if len(deref(e.Parents)) > 0 { // none takes a scope's record away
			s.newID("scope", e.Scope)
			s.newID("parent", strings.Join(*e.Parents, ""))
		}
		if s.err == nil && seen[e.Scope] {
			s.err = authz.Validation("scope %s is named more than once", spell.Quote(e.Scope))
		}
		seen[e.Scope] = true
		out[i] = provider.ScopeParents{Scope: e.Scope}
		if e.Parents != nil {
			parents := distinct(*e.Parents)
			out[i].Parents = &parents
		}
	}
	return out, s.err
}

func (a *Application) undeclaredType(scope string) error {
	hint := ""
	if near := a.catalog.UnknownScopeType(scope).DidYouMean; len(near) > 0 {
		hint = "; did you mean " + spell.Quote(near[0]) + "?"
	}
	return authz.Validation("the catalog declares no scope type for %s%s", spell.Quote(scope), hint)
}

// checkScopeEntry judges one entry against what the catalog declares of its type.
func (a *Application) checkScopeEntry(e provider.ScopeParents) error {
	if err := checkScope(e.Scope); err != nil {
		return err
	}
	scopeType := authz.ScopeType(e.Scope)
	t, declared := a.catalog.ScopeType(scopeType)
	if !declared {
		return a.undeclaredType(e.Scope)
	}
	parents := deref(e.Parents)
	switch {
	case len(parents) == 0:
		return nil
	case t.Parent == "" && !t.MultiParent:
		return authz.Validation("scope type %s is flat: %s takes no parents", spell.Quote(scopeType), spell.Quote(e.Scope))
	case len(parents) > 1 && !t.MultiParent:
		return authz.Validation("scope type %s takes one parent: %s has %d", spell.Quote(scopeType), spell.Quote(e.Scope), len(parents))
	}
	for _, p := range parents {
		if err := checkScope(p); err != nil {
			return err
		}
		parentType := authz.ScopeType(p)
		_, declared := a.catalog.ScopeType(parentType)
		switch {
		case !declared:
			return a.undeclaredType(p)
		case t.Parent != "" && t.Parent != scopeType && t.Parent != parentType:
			return authz.Validation("scope type %s is nested under %s: %s cannot be a parent of %s",
				spell.Quote(scopeType), spell.Quote(t.Parent), spell.Quote(p), spell.Quote(e.Scope))
		}
	}
	return nil
}

// scopeParents drafts the entries that differ from what is recorded.
func (d *draft) scopeParents(ctx context.Context, entries []provider.ScopeParents) (changed int, err error) {
	scopes := make([]string, len(entries))
	edges := make(map[string][]string, len(entries))
	for i, e := range entries {
		scopes[i] = e.Scope
		edges[e.Scope] = deref(e.Parents)
	}
	recorded, err := d.app.judged.GetScopeParents(ctx, scopes)
	if err != nil {
		return 0, err
	}
	if err := d.checkScopeCycles(ctx, scopes, edges); err != nil {
		return 0, err
	}
	var differing []provider.ScopeParents
	for _, e := range entries {
		before, known := recorded[e.Scope]
		switch {
		case e.Parents == nil && known:
			d.change(storage.DeleteScopeParents{Scope: e.Scope})
		case e.Parents != nil && (!known || !slices.Equal(before, *e.Parents)):
			d.change(storage.PutScopeParents{Scope: e.Scope, Parents: *e.Parents})
		default:
			continue
		}
		differing = append(differing, e)
		d.emit(authz.ScopeEvent(e.Scope))
	}
	if len(differing) == 0 {
		return 0, nil
	}
	target := "bulk"
	if len(differing) == 1 {
		target = differing[0].Scope
	}
	d.audit("scope.set_parents", target, struct {
		Count   int                     `json:"count"`
		Entries []provider.ScopeParents `json:"entries"`
	}{len(differing), differing[:min(len(differing), maxAuditedEntries)]})
	return len(differing), nil
}

// checkScopeCycles loads what is recorded above the new edges, a level at a time,
// and refuses a cycle through an edited scope. edges holds the new parents and
// gains the recorded ones.
func (d *draft) checkScopeCycles(ctx context.Context, edited []string, edges map[string][]string) error {
	level := edited
	for depth := 0; len(level) > 0; depth++ {
		if depth > maxAncestryLevels {
			return authz.Validation("ancestry of %s exceeds %d levels — parent cycle?", spell.Quote(edited[0]), maxAncestryLevels)
		}
		var unknown []string
		for _, s := range level {
			for _, parent := range edges[s] {
				if _, loaded := edges[parent]; !loaded {
					edges[parent] = nil
					unknown = append(unknown, parent)
				}
			}
		}
		if len(unknown) == 0 {
			break
		}
		found, err := readScopeParents(ctx, d.app.judged, unknown)
		if err != nil {
			return err
		}
		for s, parents := range found {
			edges[s] = parents
		}
		level = unknown
	}
	if path := cycle.Find(edges, edited...); path != nil {
		return authz.Cycle(path)
	}
	return nil
}

// NotifyScopeMoved tells every cache that the scope has other ancestors now; it
// is durable when it returns. The program that keeps the resources calls it
// wherever one changes parents.
func (a *Application) NotifyScopeMoved(ctx context.Context, scope string) error {
	var s shape
	s.text("scope", scope, maxID)
	switch {
	case s.err != nil:
	case scope == authz.Global:
		s.err = authz.Validation("the global scope cannot move")
	default:
		s.err = checkScope(scope)
	}
	if s.err != nil {
		return s.err
	}
	return a.run(ctx, write{op: "notifyScopeMoved", plan: func(_ context.Context, d *draft) error {
		d.emit(authz.ScopeEvent(scope))
		return nil
	}})
}
