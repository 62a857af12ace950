package lookup

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxParents bounds the parents that a page keeps in memory.
const maxParents = 100_000

// chains answers chains of many scopes, over recorded parents a thousand with each read.
type chains struct {
	lists   *Lists
	ctx     context.Context
	parents map[string][]string
	judged  map[string]access.Chain // over other ancestry
	shared  map[family][]string     // what lies above scopes of one parent
}

// family are the scopes of one type that have one parent, the same: whatever lies above
// one of them lies above all.
type family struct{ scopeType, parent string }

func (l *Lists) chains(ctx context.Context) *chains {
	return &chains{lists: l, ctx: ctx, parents: map[string][]string{}, judged: map[string]access.Chain{}, shared: map[family][]string{}}
}

// load reads the parents of scopes, and of all that lies above them, before their chains
// are asked for.
func (c *chains) load(scopes []string) error {
	if c.lists.Recorded == nil {
		return nil
	}
	if len(c.parents) > maxParents {
		clear(c.parents)
		clear(c.shared)
	}
	for level := scopes; len(level) > 0; {
		var missing, next []string
		for _, s := range level {
			if _, ok := c.parents[s]; !ok && s != authz.Global {
				missing = append(missing, s)
				c.parents[s] = nil
			}
		}
		for some := range slices.Chunk(missing, storage.MaxScopes) {
			found, err := c.lists.Store.GetScopeParents(c.ctx, some)
			if err != nil {
				return err
			}
			for s, parents := range found {
				c.parents[s] = parents
				next = append(next, parents...)
			}
		}
		level = next
	}
	return nil
}

// only takes what a list of edges told: the one parent of a scope. It is left to load
// where what lies above that parent was not read.
func (c *chains) only(scope, parent string) {
	if _, loaded := c.parents[parent]; !loaded {
		return
	}
	if _, loaded := c.parents[scope]; !loaded {
		c.parents[scope] = []string{parent}
	}
}

// at is the chain of the scope that is asked about, in one read.
func (c *chains) at(scope string) (access.Chain, error) {
	if scope == authz.Global {
		return access.Chain{authz.Global}, nil
	}
	above, err := c.lists.Ancestors(c.ctx, scope)
	if err != nil {
		return nil, err
	}
	return access.NewChain(scope, above), nil
}

// of is the chain of one of many scopes. What was read for those before it is not read
// again. A chain that cannot be told is an error, as in a check.
func (c *chains) of(scope string) (access.Chain, error) {
	if scope == authz.Global {
		return access.Chain{authz.Global}, nil
	}
	if c.lists.Recorded == nil {
		if known, ok := c.judged[scope]; ok {
			return known, nil
		}
		chain, err := c.at(scope)
		if err != nil {
			return nil, err
		}
		if len(c.judged) > maxParents {
			clear(c.judged)
		}
		c.judged[scope] = chain
		return chain, nil
	}
	if _, loaded := c.parents[scope]; !loaded {
		if err := c.load([]string{scope}); err != nil {
			return nil, err
		}
	}
	of := family{scopeType: authz.ScopeType(scope)}
	if parents := c.parents[scope]; len(parents) == 1 && parents[0] != authz.Global && parents[0] != scope {
		of.parent = parents[0]
		if above, known := c.shared[of]; known {
			return access.NewChain(scope, above), nil
		}
	}
	above, err := c.lists.Recorded(scope, func(level []string) (map[string][]string, error) {
		found := make(map[string][]string, len(level))
		for _, s := range level {
			if parents := c.parents[s]; parents != nil {
				found[s] = parents
			}
		}
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	// In a circle a scope is above its own parent, and so above its siblings alone.
	if of.parent != "" && !slices.ContainsFunc(above, func(a string) bool { return slices.Contains(c.parents[a], scope) }) {
		c.shared[of] = above
	}
	return access.NewChain(scope, above), nil
}
