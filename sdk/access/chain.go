// Chains: a scope and its ancestors. They carry the hashes of their scopes, which every
// check would otherwise compute anew.

package access

import (
	"hash/maphash"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// seed is fresh in every process: nobody can prepare scopes that collide.
var seed = maphash.MakeSeed()

// HashScope is what Chain.Hash is of the chain of that scope.
func HashScope(scope string) uint64 { return maphash.String(seed, scope) }

// Chain is a scope with its ancestors, nearest first, "*" last. It is immutable
// and carries the hashes by which compiled access finds its scopes.
type Chain struct {
	hashes    []uint64 // of all but the last
	scopes    []string
	lacksType bool
	near      [9]uint64 // room for hashes, beside the header that leads there
}

// GlobalChain is the chain of the global scope.
var GlobalChain = &Chain{scopes: []string{authz.Global}}

// NewChain makes the chain of a scope from its ancestors as a resolver answered
// them: duplicates, the scope itself and "*" are dropped, "*" is appended.
func NewChain(scope string, ancestors []string) *Chain {
	if scope == authz.Global || scope == "" {
		return GlobalChain
	}
	scopes := make([]string, 1, len(ancestors)+2)
	scopes[0] = scope
	seen := map[string]bool{scope: true, authz.Global: true}
	for _, a := range ancestors {
		if !seen[a] {
			seen[a] = true
			scopes = append(scopes, a)
		}
	}
	c := &Chain{scopes: append(scopes, authz.Global)}
	if c.hashes = c.near[:0]; len(scopes) > len(c.near) {
		c.hashes = make([]uint64, 0, len(scopes))
	}
	for _, s := range scopes {
		c.hashes = append(c.hashes, HashScope(s))
	}
	return c
}

// NewChain is NewChain, and the chain tells whether the catalog lacks the type of its scope.
func (v *Vocabulary) NewChain(scope string, ancestors []string) *Chain {
	c := NewChain(scope, ancestors)
	if v.LacksTypeOf(scope) { // never the global one, which all share
		c.lacksType = true
	}
	return c
}

// LacksType is LacksTypeOf of the chain's own scope, where a Vocabulary made it.
func (c *Chain) LacksType() bool { return c.lacksType }

// Hash is a number of the chain's own scope, in this process; 0 of the global one.
func (c *Chain) Hash() uint64 {
	if len(c.hashes) == 0 {
		return 0
	}
	return c.hashes[0]
}

// Scopes lists the chain, "*" last. Callers must not modify it.
func (c *Chain) Scopes() []string { return c.scopes }

// Contains reports whether the scope is on the chain.
func (c *Chain) Contains(scope string) bool { return slices.Contains(c.scopes, scope) }

// Chains answers the chain of a scope, for questions that reach below the one asked.
type Chains func(scope string) (*Chain, error)
