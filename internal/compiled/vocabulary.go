// The catalog as numbers: keys in byte order, so that a wildcard is an interval of them, and
// scope types as bits, so that "grantable at the scope" is a bit of the key. Finding a key by
// its name is the half of a snapshot's 26 ns.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Vocabulary is a catalog numbered for evaluation. Keys are numbered in byte
// order, so that every group wildcard is one interval.
type Vocabulary struct {
	catalog *catalog.Catalog
	keys    map[string]Key
	spans   map[string]span // of "*", every key and every group wildcard
	types   map[string]int32
	words   int // length of a bitset over all keys

	// grantable holds for each scope type the keys grantable there. Key.types has
	// the same for the first maskedTypes types.
	grantable [][]uint64
}

// Key is a declared key, ready to be decided on.
type Key struct {
	types uint64 // bit set of the first maskedTypes scope types it is grantable at
	index uint32
	flags uint32
}

const (
	flagImplied uint32 = 1 << iota
	flagCondition
)

// maskedTypes is how many scope types a Key holds in its own mask.
const maskedTypes = 64

// ImpliedOnAncestors reports that a grant of the key at a scope also answers at
// the proper ancestors of that scope.
func (k Key) ImpliedOnAncestors() bool { return k.flags&flagImplied != 0 }

// RequiresCondition reports that every gate of the key carries a predicate.
func (k Key) RequiresCondition() bool { return k.flags&flagCondition != 0 }

// span is the interval [lo, hi) of key numbers.
type span struct{ lo, hi uint32 }

func (s span) empty() bool { return s.lo >= s.hi }

// NewVocabulary numbers a catalog.
func NewVocabulary(c *catalog.Catalog) *Vocabulary {
	keys := c.Keys()
	v := &Vocabulary{
		catalog: c,
		keys:    make(map[string]Key, len(keys)),
		spans:   make(map[string]span, 2*len(keys)+1),
		types:   map[string]int32{},
		words:   (len(keys) + 63) / 64,
	}
	for i, t := range c.ScopeTypes() {
		v.types[t.Type] = int32(i)
		v.grantable = append(v.grantable, make([]uint64, v.words))
	}
	v.spans[authz.Global] = span{0, uint32(len(keys))}
	for i, name := range keys {
		leaf, _ := c.Leaf(name)
		k := Key{index: uint32(i)}
		for _, t := range leaf.Scopes {
			n, declared := v.types[t]
			if !declared {
				continue // grantable nowhere: a grant there confers nothing
			}
			setBit(v.grantable[n], k.index)
			if n < maskedTypes {
				k.types |= 1 << n
			}
		}
		if leaf.ImpliedOnAncestors {
			k.flags |= flagImplied
		}
		if leaf.RequiresCondition {
			k.flags |= flagCondition
		}
		v.keys[name] = k
		v.spans[name] = span{k.index, k.index + 1}
		for end := range name {
			if name[end] == '.' {
				v.extend(authz.SubtreePattern(name[:end]), k.index)
			}
		}
	}
	return v
}

// extend lengthens the interval of a wildcard by the next key in order.
func (v *Vocabulary) extend(pattern string, index uint32) {
	s, ok := v.spans[pattern]
	if !ok {
		s.lo = index
	}
	s.hi = index + 1
	v.spans[pattern] = s
}

// Catalog is what was numbered.
func (v *Vocabulary) Catalog() *catalog.Catalog { return v.catalog }

// Lookup finds a declared key.
func (v *Vocabulary) Lookup(key string) (Key, bool) {
	k, ok := v.keys[key]
	return k, ok
}

// noType marks a scope whose type the catalog does not declare: no grant
// applies there.
const noType int32 = -1

func (v *Vocabulary) typeNumber(scopeType string) int32 {
	if n, ok := v.types[scopeType]; ok {
		return n
	}
	return noType
}

// applies reports whether the key is grantable at the scope type.
func (v *Vocabulary) applies(k Key, scopeType int32) bool {
	if uint32(scopeType) < maskedTypes {
		return k.types>>uint32(scopeType)&1 != 0
	}
	return scopeType != noType && hasBit(v.grantable[scopeType], k.index)
}

// Flat reports whether the scope's type is declared with chains of exactly
// [scope, "*"], and whether it is declared at all.
func (v *Vocabulary) Flat(scope string) (flat, declared bool) {
	t, ok := v.catalog.ScopeType(authz.ScopeType(scope))
	if !ok {
		return false, false
	}
	return t.Parent == "" && !t.MultiParent, true
}

// LacksTypeOf reports that the scope has a type which the catalog does not declare, though
// it declares others. It neither allocates nor locks.
func (v *Vocabulary) LacksTypeOf(scope string) bool {
	if scope == "" || scope == authz.Global || len(v.types) == 0 {
		return false
	}
	t := authz.ScopeType(scope)
	if t == "" {
		return false
	}
	_, declared := v.types[t]
	return !declared
}

// DeclaredTypes lists the scope types of the catalog, sorted.
func (v *Vocabulary) DeclaredTypes() []string {
	names := make([]string, 0, len(v.types))
	for t := range v.types {
		names = append(names, t)
	}
	slices.Sort(names)
	return names
}
