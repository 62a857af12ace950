// The numbers of scopes within one compilation, instead of a map made for each: numbering
// is 12 % of it, and the hashes are needed for the slots anyway.

package compiled

import "github.com/authzhost/authz/sdk/authz"

// scopeNumbers numbers the scopes of one compilation in order of appearance, "*"
// first, and keeps their hashes for the index.
type scopeNumbers struct {
	names  []string
	hashes []uint64
	table  []uint32 // number plus one, 0 is free; open addressing
}

const minNumberTable = 64

func (n *scopeNumbers) reset() {
	if n.table == nil {
		n.table = make([]uint32, minNumberTable)
	}
	n.names = append(n.names[:0], authz.Global)
	n.hashes = append(n.hashes[:0], 0)
}

// release forgets the names; their table is cleared for the next compilation.
func (n *scopeNumbers) release() {
	if len(n.names) > len(n.table)/8 {
		clear(n.table)
	} else {
		for _, h := range n.hashes[1:] {
			mask := uint64(len(n.table) - 1)
			for at := h & mask; n.table[at] != 0; at = (at + 1) & mask {
				n.table[at] = 0
			}
		}
	}
	clear(n.names)
	n.names, n.hashes = n.names[:0], n.hashes[:0]
}

// number finds the scope, or numbers it.
func (n *scopeNumbers) number(scope string) (number uint32, fresh bool) {
	if scope == authz.Global {
		return globalSlot, false
	}
	h := HashScope(scope)
	mask := uint64(len(n.table) - 1)
	at := h & mask
	for ; n.table[at] != 0; at = (at + 1) & mask {
		if known := n.table[at] - 1; n.hashes[known] == h && n.names[known] == scope {
			return known, false
		}
	}
	number = uint32(len(n.names))
	n.names = append(n.names, scope)
	n.hashes = append(n.hashes, h)
	n.table[at] = number + 1
	if 2*len(n.names) > len(n.table) {
		n.grow()
	}
	return number, true
}

func (n *scopeNumbers) grow() {
	n.table = make([]uint32, 2*len(n.table))
	mask := uint64(len(n.table) - 1)
	for i, h := range n.hashes[1:] {
		at := h & mask
		for n.table[at] != 0 {
			at = (at + 1) & mask
		}
		n.table[at] = uint32(i + 2)
	}
}
