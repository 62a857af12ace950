// The working of a check, for people: the answer of decision.go and the rows that gave it.
// It walks the rows: some 6 µs of 100.

package access

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Explanation is the working of a check.
type Explanation struct {
	Allowed        bool           `json:"allowed"`
	MatchedGrants  []authz.Grant  `json:"matchedGrants"`  // live rows on the chain, listed even when something denies
	MatchedRevokes []authz.Revoke `json:"matchedRevokes"` // the user's revokes on the chain; any one denies
	ObjectClosure  []string       `json:"objectClosure"`  // the chain used
	Active         bool           `json:"active"`
	Implied        bool           `json:"implied"`   // allowed by implication only
	ImpliedBy      []authz.Grant  `json:"impliedBy"` // rows at descendants that implied it

	// RequiresCondition says that the rows are not all: a gate of the key also asks the
	// application's predicate, which no explanation can.
	RequiresCondition bool `json:"requiresCondition,omitempty"`

	// Expired are the rows of a denial that would allow had they not expired, as far as
	// they were supplied.
	Expired []authz.Grant `json:"expired,omitempty"`
}

// Denied reports a denial for want of a grant: another grant would change it.
func (e Explanation) Denied() bool { return !e.Allowed && e.Active && len(e.MatchedRevokes) == 0 }

// Explain decides a key and shows the rows by which Decide does, whose arguments it
// takes. Rows come in supply order.
func Explain(c *catalog.Catalog, rows *authz.SubjectAccess, key string, chain Chain, now int64, chains Chains) (Explanation, error) {
	q := hold(rows, now).ask(c, key, chain, chains)
	allowed, err := q.decide()
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{
		Allowed:        allowed,
		MatchedGrants:  copies(q.grants()),
		MatchedRevokes: copies(q.revokes(chain)),
		ObjectClosure:  chain,
		Active:         rows.Active,
		ImpliedBy:      []authz.Grant{},

		RequiresCondition: q.leaf != nil && q.leaf.RequiresCondition,
	}
	switch {
	case e.Allowed && len(e.MatchedGrants) == 0:
		e.Implied = true
		if e.ImpliedBy, err = q.implied(); err != nil {
			return Explanation{}, err
		}
	case e.Denied():
		e.Expired = q.wouldAllow()
	}
	return e, nil
}

// implied lists implying; never nil.
func (q *question) implied() ([]authz.Grant, error) {
	found := []authz.Grant{}
	for g, err := range q.implying() {
		if err != nil {
			return nil, err
		}
		found = append(found, *g)
	}
	return found, nil
}

// wouldAllow lists the expired rows that would allow on the chain, or else imply. Where a
// chain below is not known nothing is said of it.
func (q *question) wouldAllow() []authz.Grant {
	q.expired = true
	defer func() { q.expired = false }()
	if found := copies(q.grants()); len(found) > 0 {
		return found
	}
	if found, err := q.implied(); err == nil && len(found) > 0 {
		return found
	}
	return nil
}
