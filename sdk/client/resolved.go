package client

import (
	"math/bits"

	"github.com/authzhost/authz/internal/compiled"
)

// resolved is a chain as one principal meets it. What a check reads stands first.
type resolved struct {
	hash  uint64
	scope string
	view  compiled.View
}

// see fills r, which is zero.
func (r *resolved) see(chain *compiled.Chain) {
	r.hash, r.scope = chain.Hash(), chain.Scopes()[0]
	r.view.See(chain)
}

// resolvedTable finds chains by their scopes: open addressing, at most half full. It is
// not changed once it can be seen. Chains bring their hashes along, which makes filling
// it several times as fast as filling a map.
type resolvedTable struct {
	places  []*resolved
	count   int
	lacking bool // a scope's type is not declared, of one at least
}

// copy makes one with room for so many more.
func (t *resolvedTable) copy(more int) *resolvedTable {
	c := &resolvedTable{lacking: t.lacking}
	if n := t.count + more; n > 0 {
		c.places = make([]*resolved, 1<<bits.Len(uint(2*n-1)))
	}
	for _, r := range t.places {
		if r != nil {
			c.put(r)
		}
	}
	return c
}

// put adds one whose scope is not there.
func (t *resolvedTable) put(r *resolved) {
	at := r.hash & uint64(len(t.places)-1)
	for t.places[at] != nil {
		at = (at + 1) & uint64(len(t.places)-1)
	}
	t.places[at] = r
	t.count++
}

func (t *resolvedTable) get(hash uint64, scope string) *resolved {
	if len(t.places) == 0 {
		return nil
	}
	mask := uint64(len(t.places) - 1)
	for at := hash & mask; t.places[at] != nil; at = (at + 1) & mask {
		if r := t.places[at]; r.hash == hash && r.scope == scope {
			return r
		}
	}
	return nil
}
