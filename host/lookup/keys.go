package lookup

import (
	"cmp"
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// Keys lists the keys that a principal holds at a scope. Of keys that an open region
// admits it knows those that a row names whole.
func (l *Lists) Keys(ctx context.Context, in provider.KeysQuery) (page provider.KeysPage, err error) {
	in.Scope = cmp.Or(in.Scope, authz.Global)
	page.Keys = []provider.HeldKey{}
	n, err := limit(in.Limit)
	if err != nil {
		return page, err
	}
	at, err := after(in.After, listOf("keys", in.Principal.Subject(), in.Scope))
	if err != nil {
		return page, err
	}
	rows, err := l.Access(ctx, in.Principal)
	if err != nil {
		return page, err
	}
	chains := l.chains(ctx)
	chain, err := chains.at(in.Scope)
	if err != nil {
		return page, err
	}
	k := keysAt{Lists: l, rows: &rows, near: onChain(rows, chain), chain: chain, below: chains.of, now: l.Clock()}
	keys := k.candidates()
	from, found := slices.BinarySearch(keys, at.At)
	if found {
		from++
	}
	for _, key := range keys[from:] {
		held, ok, err := k.held(key)
		if err != nil {
			return page, err
		}
		if ok && len(page.Keys) == n {
			page.Next, err = place{List: at.List, At: page.Keys[n-1].Key}.cursor()
			return page, err
		}
		if ok {
			page.Keys = append(page.Keys, held)
		}
	}
	return page, nil
}

type keysAt struct {
	*Lists
	rows  *authz.SubjectAccess
	near  *authz.SubjectAccess // what of them lies on the chain: all that decides but implication
	chain access.Chain
	below access.Chains
	now   int64
}

// onChain are the rows at the scopes of a chain.
func onChain(rows authz.SubjectAccess, chain access.Chain) *authz.SubjectAccess {
	there := func(scope string) bool { return scope == authz.Global || slices.Contains(chain, scope) }
	near := rows
	near.Grants = slices.DeleteFunc(slices.Clone(rows.Grants), func(g authz.Grant) bool { return !there(g.Scope) })
	near.Revokes = slices.DeleteFunc(slices.Clone(rows.Revokes), func(r authz.Revoke) bool { return !there(r.Scope) })
	return &near
}

// candidates are the keys that may be held, in their order.
func (k *keysAt) candidates() []string {
	c := k.Vocabulary.Catalog()
	keys := slices.Clone(c.Keys())
	named := func(pattern string) {
		if _, declared := c.Leaf(pattern); !declared && authz.IsKey(pattern) && c.HasKey(pattern) {
			keys = append(keys, pattern)
		}
	}
	for i := range k.rows.Grants {
		named(k.rows.Grants[i].Pattern)
	}
	for i := range k.rows.Roles {
		for _, pattern := range k.rows.Roles[i].Patterns {
			named(pattern)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (k *keysAt) held(key string) (provider.HeldKey, bool, error) {
	c := k.Vocabulary.Catalog()
	leaf, _ := c.Leaf(key)
	if leaf == nil {
		leaf = &catalog.Leaf{}
	}
	held := provider.HeldKey{Key: key, RequiresCondition: leaf.RequiresCondition}
	allowed, err := access.Decide(c, k.near, key, k.chain, k.now, k.noChains)
	if err != nil || allowed || !leaf.ImpliedOnAncestors {
		return held, allowed, err
	}
	held.Implied, err = access.Decide(c, k.rows, key, k.chain, k.now, k.below)
	return held, held.Implied, err
}

// noChains: rows on the chain alone imply nothing at it.
func (k *keysAt) noChains(scope string) (access.Chain, error) { return access.Chain{scope}, nil }
