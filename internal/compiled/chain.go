// Chains that carry the hashes of their scopes, which every check would otherwise compute
// anew.

package compiled

import (
	"hash/maphash"
	"slices"

	"github.com/authzhost/authz/sdk/access"
)

// seed is fresh in every process: nobody can prepare scopes that collide.
var seed = maphash.MakeSeed()

// HashScope is what Chain.Hash is of the chain of that scope.
func HashScope(scope string) uint64 { return maphash.String(seed, scope) }

// Chain is an access.Chain with the hashes by which compiled access finds its scopes.
// It is immutable.
type Chain struct {
	hashes    []uint64 // of all but the last
	scopes    []string
	lacksType bool
	near      [9]uint64 // room for hashes, beside the header that leads there
}

// GlobalChain is the chain of the global scope.
var GlobalChain = &Chain{scopes: access.NewChain("", nil)}

// NewChain is access.NewChain with hashes.
func NewChain(scope string, ancestors []string) *Chain {
	scopes := access.NewChain(scope, ancestors)
	if len(scopes) == 1 {
		return GlobalChain
	}
	c := &Chain{scopes: scopes}
	hashed := scopes[:len(scopes)-1]
	if c.hashes = c.near[:0]; len(hashed) > len(c.near) {
		c.hashes = make([]uint64, 0, len(hashed))
	}
	for _, s := range hashed {
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

// Plain is what the definition asks for chains.
func (c Chains) Plain() access.Chains {
	return func(scope string) (access.Chain, error) {
		chain, err := c(scope)
		if err != nil {
			return nil, err
		}
		return chain.scopes, nil
	}
}
