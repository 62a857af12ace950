// Which rows decided a check that was observed. It reads rows as decision.go does, and
// serves what the index of attribute_index.go cannot: lists of keys and implication.

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
	h := hold(data, now)
	for i, key := range keys {
		q := h.ask(v, key, c, chains)
		revokes := copies(q.revokes(c))
		if i == 0 {
			at.Revokes = revokes
		}
		if len(revokes) > 0 {
			continue
		}
		direct := copies(q.grants())
		implied, err := q.implied()
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
	return copies(hold(data, now).ask(v, key, GlobalChain, nil).conferring())
}
