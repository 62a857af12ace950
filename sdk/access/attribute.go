package access

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Attribution says which rows decided a gate. It walks the rows and serves
// observations that were kept, never the answer.
type Attribution struct {
	Key     int            // of the keys asked for, the one whose rows allow; -1 when none does
	Implied bool           // by implication only
	Grants  []authz.Grant  // the rows that allow Key
	Revokes []authz.Revoke // the revokes that suppress the first key, when no key is allowed
	Sole    string         // the id of the only row that allows any key, "" unless exactly one does
}

// Attribute finds the deciding rows of an any-of gate of an active principal.
func Attribute(v *Vocabulary, data *authz.SubjectAccess, keys []string, c *Chain, now int64, chains Chains) (Attribution, error) {
	at := Attribution{Key: -1}
	carriers := map[string]bool{}
	impliedKey, impliedRows := -1, []authz.Grant(nil)
	for i, name := range keys {
		w := newWalk(v, data, name, now)
		revokes := w.revokes(c)
		if i == 0 {
			at.Revokes = revokes
		}
		if len(revokes) > 0 {
			continue
		}
		direct := w.onChain(c)
		implied, err := w.implied(c, chains)
		if err != nil {
			return Attribution{}, err
		}
		for _, g := range slices.Concat(direct, implied) {
			carriers[g.ID] = true
		}
		if len(direct) > 0 && at.Key < 0 {
			at.Key, at.Grants = i, direct
		}
		if len(implied) > 0 && impliedKey < 0 {
			impliedKey, impliedRows = i, implied
		}
	}
	if at.Key < 0 && impliedKey >= 0 {
		at.Key, at.Implied, at.Grants = impliedKey, true, impliedRows
	}
	if at.Key >= 0 {
		at.Revokes = nil
	}
	if len(carriers) == 1 {
		for id := range carriers {
			at.Sole = id
		}
	}
	return at, nil
}

// Conferring lists the live rows that confer the key at any scope.
func Conferring(v *Vocabulary, data *authz.SubjectAccess, key string, now int64) []authz.Grant {
	w := newWalk(v, data, key, now)
	var rows []authz.Grant
	for i := range data.Grants {
		if w.live(&data.Grants[i]) {
			rows = append(rows, data.Grants[i])
		}
	}
	return rows
}

// onChain lists the live rows at the scopes of the chain.
func (w *walk) onChain(c *Chain) []authz.Grant {
	matched := []authz.Grant{}
	for i := range w.data.Grants {
		if g := &w.data.Grants[i]; w.live(g) && c.Contains(g.Scope) {
			matched = append(matched, *g)
		}
	}
	return matched
}
