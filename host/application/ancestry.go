package application

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Ancestry answers the ancestors of one scope: nearest first, without the scope
// itself, ending at "*"; for multi-parent types the union of all parents' chains
// without duplicates. An empty list says nothing about the scope, ["*"] says that
// it is a root. What cannot answer returns an error, never a partial chain.
type Ancestry interface {
	Ancestors(ctx context.Context, scope string) ([]string, error)
}

// AncestryFunc adapts a function of an embedding program.
type AncestryFunc func(ctx context.Context, scope string) ([]string, error)

// Ancestors calls f.
func (f AncestryFunc) Ancestors(ctx context.Context, scope string) ([]string, error) {
	return f(ctx, scope)
}

// noAncestry stands for an application without an ancestry source.
var noAncestry = AncestryFunc(func(context.Context, string) ([]string, error) { return nil, nil })

// maxAncestryLevels ends a walk that no real hierarchy reaches.
const maxAncestryLevels = 10_000

// maxScopesPerRead is how many scopes one read of recorded parents may ask for.
const maxScopesPerRead = 1000

// FromParents is ancestry over parent pointers: parents answers one, several or
// no parents of a scope. The walk is breadth-first, survives cycles and fails
// beyond 10,000 levels.
func FromParents(parents func(ctx context.Context, scope string) ([]string, error)) Ancestry {
	return AncestryFunc(func(ctx context.Context, scope string) ([]string, error) {
		return walkUp(scope, func(level []string) (map[string][]string, error) {
			found := make(map[string][]string, len(level))
			for _, s := range level {
				p, err := parents(ctx, s)
				if err != nil {
					return nil, err
				}
				found[s] = p
			}
			return found, nil
		})
	})
}

// Stored is ancestry over the parents recorded in the store by SetScopeParents.
// A scope never recorded answers the empty list, a recorded root ["*"]. A chain
// through an ancestor that must have a parent, but has none recorded, is an
// error: it would hide rows above the gap.
func Stored(store storage.Ancestry) Ancestry { return &recorded{store: store} }

type recorded struct {
	store  storage.Ancestry
	deep   func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) // nil: level by level
	nested func(scope string) (*authz.WriteRejectedError, bool)                     // nil: no catalog to judge by
}

// within returns the source over a store, bound to the catalog of an application.
func (r *recorded) within(store storage.Ancestry, nested func(string) (*authz.WriteRejectedError, bool)) *recorded {
	bound := &recorded{store: store, nested: nested}
	if s, ok := store.(storage.Store); ok && s.Info().Capabilities.Has(storage.CapAncestors) {
		bound.deep = s.ReadAccess
	}
	return bound
}

// errMoved ends a walk under which a scope got other parents.
var errMoved = storage.Unavailable("", nil, "the parents of the scope's ancestors kept changing while they were read")

// Ancestors is a chain of one instant, else a revoke could be passed by while
// scopes are moved below it and away.
func (r *recorded) Ancestors(ctx context.Context, scope string) (chain []string, err error) {
	if r.deep != nil {
		read, err := r.deep(ctx, storage.AccessQuery{Scope: scope})
		if err != nil {
			return nil, err
		}
		if read.Parents != nil {
			return r.chain(scope, func([]string) (map[string][]string, error) { return read.Parents, nil })
		}
	}
	for range maxSupplyReads {
		if chain, err = r.walk(ctx, scope); !errors.Is(err, errMoved) {
			break
		}
	}
	return chain, err
}

// walk reads one level of parents with each call to the driver, and all that is
// below it once more: so the last call saw the whole chain.
func (r *recorded) walk(ctx context.Context, scope string) ([]string, error) {
	read := map[string][]string{}
	return r.chain(scope, func(level []string) (map[string][]string, error) {
		found, err := readScopeParents(ctx, r.store, slices.AppendSeq(slices.Clip(level), maps.Keys(read)))
		if err != nil {
			return nil, err
		}
		for s, parents := range read {
			if !slices.Equal(found[s], parents) {
				return nil, errMoved
			}
		}
		for _, s := range level {
			read[s] = found[s]
		}
		return found, nil
	})
}

// chain judges recorded parents, which parentsOf answers by levels.
func (r *recorded) chain(scope string, parentsOf func(level []string) (map[string][]string, error)) ([]string, error) {
	known := true
	chain, err := walkUp(scope, func(level []string) (map[string][]string, error) {
		found, err := parentsOf(level)
		if err != nil {
			return nil, err
		}
		for _, s := range level {
			if _, recorded := found[s]; recorded {
				continue
			}
			if s == scope {
				known = false
			} else if r.nested != nil {
				if refusal, must := r.nested(s); must {
					return nil, refusal
				}
			}
		}
		return found, nil
	})
	if err != nil || !known {
		return nil, err
	}
	return chain, nil
}

// walkUp collects ancestors breadth-first, the levels' parents in list order, and
// ends the chain with "*".
func walkUp(scope string, parentsOf func(level []string) (map[string][]string, error)) ([]string, error) {
	var chain []string
	seen := map[string]bool{scope: true, authz.Global: true}
	for level, depth := []string{scope}, 0; len(level) > 0; depth++ {
		if depth > maxAncestryLevels {
			return nil, authz.Rejected(authz.CodeUnsupported,
				"ancestry of %s exceeds %d levels — parent cycle?", spell.Quote(scope), maxAncestryLevels)
		}
		found, err := parentsOf(level)
		if err != nil {
			return nil, err
		}
		var next []string
		for _, s := range level {
			for _, parent := range found[s] {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		chain = append(chain, next...)
		level = next
	}
	return append(chain, authz.Global), nil
}

// readScopeParents reads any number of scopes, a thousand with each call.
func readScopeParents(ctx context.Context, store storage.Ancestry, scopes []string) (map[string][]string, error) {
	if len(scopes) <= maxScopesPerRead {
		return store.GetScopeParents(ctx, scopes)
	}
	found := make(map[string][]string, len(scopes))
	for len(scopes) > 0 {
		n := min(len(scopes), maxScopesPerRead)
		some, err := store.GetScopeParents(ctx, scopes[:n])
		if err != nil {
			return nil, err
		}
		for s, parents := range some {
			found[s] = parents
		}
		scopes = scopes[n:]
	}
	return found, nil
}

// ResolveAncestors returns the answer of the ancestry source as it was given,
// judged by what the catalog declares of the scope's type (spec: access §5.2).
// The global scope has no ancestors and the source is not asked.
func (a *Application) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	return a.resolve(ctx, a.ancestry, scope)
}

func (a *Application) resolve(ctx context.Context, source Ancestry, scope string) ([]string, error) {
	var s shape
	s.text("scope", scope, maxID)
	if s.err == nil {
		s.err = checkScope(scope)
	}
	if s.err != nil {
		return nil, s.err
	}
	if scope == authz.Global {
		return []string{}, nil
	}
	chain, err := source.Ancestors(ctx, scope)
	return a.judgedChain(scope, chain, err)
}

// judgedChain is the answer of the ancestry source, held to the catalog.
func (a *Application) judgedChain(scope string, chain []string, err error) ([]string, error) {
	if err != nil {
		if storageErr := storage.CodeOf(err); storageErr != "" {
			return nil, a.readFailed("resolveAncestors", err)
		}
		return nil, err // the failure of an embedder's own resolver passes through
	}
	for _, ancestor := range chain {
		if authz.ValidateScope(ancestor) != nil {
			return nil, authz.Rejected(authz.CodeUnsupported,
				"the ancestry resolver answered %s for %s, which is not a scope id", spell.Quote(ancestor), spell.Quote(scope))
		}
	}
	// The scope itself is tolerated in its chain and says nothing of what is above it.
	if !slices.ContainsFunc(chain, func(ancestor string) bool { return ancestor != scope }) {
		switch refusal, must := a.nestedElsewhere(scope); {
		case must && a.flat: // which says nothing of this scope
			return nil, refusal
		case must:
			return nil, &authz.UnknownScopeError{Scope: scope, Refusal: refusal}
		}
		return []string{}, nil
	}
	a.warnUnexpectedAncestors(scope, chain)
	return chain, nil
}

// nestedElsewhere says that the catalog nests the scope's type under a different
// type, so that an instance without ancestors contradicts it.
func (a *Application) nestedElsewhere(scope string) (*authz.WriteRejectedError, bool) {
	scopeType := authz.ScopeType(scope)
	t, declared := a.catalog.ScopeType(scopeType)
	if !declared || t.Parent == "" || t.Parent == scopeType {
		return nil, false
	}
	return authz.Rejected(authz.CodeUnsupported,
		"the ancestry resolver returned no ancestors for %s, but the catalog declares %s nested under %s, "+
			"so rows at its parents would be missed; answer [%s] for an instance that is a root",
		spell.Quote(scope), spell.Quote(scopeType), spell.Quote(t.Parent), spell.Quote(authz.Global)), true
}

// warnUnexpectedAncestors logs, once per type, that a type declared flat has
// ancestors: snapshots take the declaration's word and will not see them.
func (a *Application) warnUnexpectedAncestors(scope string, chain []string) {
	scopeType := authz.ScopeType(scope)
	t, declared := a.catalog.ScopeType(scopeType)
	if !declared || t.Parent != "" || t.MultiParent {
		return
	}
	for _, ancestor := range chain {
		if ancestor == authz.Global {
			continue
		}
		if _, logged := a.warned.LoadOrStore(scopeType, true); !logged {
			a.log.Warn("the ancestry resolver answers ancestors for a scope type that the catalog declares flat: "+
				"snapshots will not see them", "scope", spell.Echo(scope), "type", scopeType)
		}
		return
	}
}
