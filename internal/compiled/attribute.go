// Which rows decided a check that was observed, for gates that the index of
// attribute_index.go alone cannot serve: lists of keys, implication, and keys that the
// catalog does not declare.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// Attribution says which rows decided a gate.
type Attribution struct {
	Key      int      // of the keys asked for, the one whose rows allow; -1 when none does
	Implied  bool     // by implication only
	Allowing          // the rows that allow Key; Sole is the only row that allows any key
	Revokes  []string // the revokes that suppress the first key, when no key is allowed
}

// Attribute finds the deciding rows of an any-of gate of an active principal, for an
// instant at which a is valid. It serves observations that were kept, never the answer.
func (a *Access) Attribute(keys []string, c *Chain, now int64, chains Chains) (Attribution, error) {
	at := Attribution{Key: -1}
	var carriers []string
	impliedKey, impliedRows := -1, Allowing{}
	for i, key := range keys {
		revokes, direct, implied, err := a.deciding(key, c, now, chains)
		if err != nil {
			return Attribution{}, err
		}
		if i == 0 {
			at.Revokes = revokes
		}
		carriers = append(append(carriers, direct.Grants...), implied.Grants...)
		if len(direct.Grants) > 0 && at.Key < 0 {
			at.Key, at.Allowing = i, direct
		}
		if len(implied.Grants) > 0 && impliedKey < 0 {
			impliedKey, impliedRows = i, implied
		}
	}
	if at.Key < 0 && impliedKey >= 0 {
		at.Key, at.Implied, at.Allowing = impliedKey, true, impliedRows
	}
	if at.Key >= 0 {
		at.Revokes = nil
	}
	at.Sole = sole(carriers)
	return at, nil
}

// deciding are the rows on the chain and below it that decide one key: the revokes, or
// else the grants.
func (a *Access) deciding(key string, c *Chain, now int64, chains Chains) (revokes []string, direct, implied Allowing, err error) {
	k, declared := a.vocabulary.Lookup(key)
	if !declared {
		e, err := access.Explain(a.vocabulary.catalog, a.data, key, c.scopes, now, nil)
		for _, r := range e.MatchedRevokes {
			revokes = append(revokes, r.ID)
		}
		if len(revokes) == 0 {
			direct = allowing(e.MatchedGrants)
		}
		return revokes, direct, implied, err
	}
	if revokes = a.Suppressing(k, c, now); len(revokes) > 0 {
		return revokes, direct, implied, nil
	}
	implied, err = a.implying(k, c, chains)
	return nil, a.Allowing(k, c, now), implied, err
}

func allowing(rows []authz.Grant) (m Allowing) {
	for _, g := range rows {
		m.Grants = append(m.Grants, g.ID)
		if g.Pattern == "" && g.RoleID != "" && !slices.Contains(m.Roles, g.RoleID) {
			m.Roles = append(m.Roles, g.RoleID)
		}
	}
	return m
}

// implying are the rows by which Implied answers, whether anything else allows or not;
// the index is made.
func (a *Access) implying(k Key, target *Chain, chains Chains) (Allowing, error) {
	scope := target.scopes[0]
	if !k.ImpliedOnAncestors() || scope == authz.Global {
		return Allowing{}, nil
	}
	var rows []uint32
	for below := range a.GrantedAt(k) {
		if below == scope {
			continue
		}
		switch implies, err := a.implies(k, below, scope, chains); {
		case err != nil:
			return Allowing{}, err
		case implies:
			slot, _ := a.slotOf(below)
			rows = a.index.grants.at(slot, k, rows)
		}
	}
	slices.Sort(rows)
	return a.index.allowing(rows), nil
}

// sole is the one id that all are, "" unless they are one.
func sole(ids []string) string {
	if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return id != ids[0] }) {
		return ""
	}
	return ids[0]
}
