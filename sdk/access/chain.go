// Chains: a scope and its ancestors.

package access

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Chain is a scope with its ancestors, nearest first, "*" last. "*" is on every
// chain, also where the list leaves it out.
type Chain []string

// Chains answers the chain of a scope, for questions that reach below the one asked.
type Chains func(scope string) (Chain, error)

// NewChain makes the chain of a scope from its ancestors as a resolver answered
// them: duplicates, the scope itself and "*" are dropped, "*" is appended. Scope ""
// means "*", which has no ancestors.
func NewChain(scope string, ancestors []string) Chain {
	if scope == authz.Global || scope == "" {
		return Chain{authz.Global}
	}
	chain := append(make(Chain, 0, len(ancestors)+2), scope)
	seen := map[string]bool{scope: true, authz.Global: true}
	for _, a := range ancestors {
		if !seen[a] {
			seen[a] = true
			chain = append(chain, a)
		}
	}
	return append(chain, authz.Global)
}

// own is the scope that the chain begins with.
func (c Chain) own() string {
	if len(c) == 0 {
		return authz.Global
	}
	return c[0]
}

func (c Chain) contains(scope string) bool { return scope == authz.Global || slices.Contains(c, scope) }
