package client

import (
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
)

// warm answers from the caches alone what accessAt would, with what comes before it:
// the principal is one, the type of the scope is declared, and no look at the event
// log is due. When it is not ok, the caller takes those steps one by one.
func (c *Client) warm(p authz.Principal, scope string, fresh bool) (a *compiled.Access, chain *compiled.Chain, now int64, ok bool) {
	who := cacheKey{id: p.UserID}
	if p.UserID == "" {
		who = cacheKey{id: p.ServiceID, service: true}
	}
	if fresh || p.UserID != "" && p.ServiceID != "" {
		return nil, nil, 0, false
	}
	now = c.clock()
	if c.revalidate && c.log.due(now) {
		return nil, nil, 0, false
	}
	whoHash := who.hash()
	s, ok := c.subjects.hit(whoHash, who, now)
	if !ok {
		return nil, nil, 0, false
	}
	if a = s.compiled.Load(); a == nil || !a.ValidAt(now) {
		return nil, nil, 0, false
	}
	chain = compiled.GlobalChain
	if scope != "" && scope != authz.Global {
		at := cacheKey{id: scope}
		atHash := at.hash()
		if chain, ok = c.chains.hit(atHash, at, now); !ok || chain.LacksType() {
			return nil, nil, 0, false
		}
		c.chains.lookups.count(atHash, true)
	}
	c.subjects.lookups.count(whoHash, true)
	return a, chain, now, true
}
