package apply

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// GrantBatch is how many grants one commit makes: a few are all there or none is.
const GrantBatch = 500

// grants deletes those of ours that a declared one makes superfluous, makes the
// declared ones, and deletes those that they replace.
func (p *planner) grants() {
	type making struct {
		Grant
		older []authz.Grant
	}
	var missing []making
	mine := p.f.Provenance()
	for _, g := range p.f.Grants {
		exact := false
		var older, others []authz.Grant
		for _, stored := range p.s.grants[g.key()] {
			switch {
			case stored.ExpiresAt == g.Expires.Expiry:
				exact = true
			case madeBy(stored, mine):
				older = append(older, stored)
			case !stored.ExpiresAt.Expired(p.now.UnixMilli()):
				others = append(others, stored)
			}
		}
		for _, o := range others {
			p.warn("%s is also given by grant %s, which this file did not make and which expires %s", g.key(), o.ID, words.Expiry(o.ExpiresAt, p.now))
		}
		if !exact && g.Expires.Expired(p.now.UnixMilli()) {
			p.warn("%s has expired (%s) and is not made: take it out of the file", g.key(), words.Expiry(g.Expires.Expiry, p.now))
			exact = true
		}
		if !exact {
			missing = append(missing, making{g, older})
			continue
		}
		for _, o := range older {
			p.do("deleteGrant", fields{"grantId": o.ID}, p.add("delete", "grant", o.ID, g.key().String()+", which is declared with another expiry"))
		}
	}
	if p.s.homes {
		slices.SortStableFunc(missing, func(a, b making) int { return strings.Compare(a.home(), b.home()) })
	}
	changes := make([]*Change, len(missing))
	for i, m := range missing {
		if len(m.older) > 0 {
			changes[i] = p.add("update", "grant", "", m.key().String()+", expires "+words.Expiry(m.older[0].ExpiresAt, p.now)+" → "+words.Expiry(m.Expires.Expiry, p.now))
		} else {
			changes[i] = p.add("create", "grant", "", m.key().String()+", expires "+words.Expiry(m.Expires.Expiry, p.now))
		}
	}
	for from, to := 0, 0; from < len(missing); from = to {
		for to = from + 1; to < min(from+GrantBatch, len(missing)) && (!p.s.homes || missing[to].home() == missing[from].home()); to++ {
		}
		var inputs []provider.GrantInput
		for _, m := range missing[from:to] {
			inputs = append(inputs, m.Input())
		}
		p.do("createGrants", fields{"inputs": inputs}, changes[from:to]...)
	}
	for i, m := range missing {
		for _, o := range m.older {
			p.do("deleteGrant", fields{"grantId": o.ID}, changes[i])
		}
	}
}
