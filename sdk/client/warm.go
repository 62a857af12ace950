package client

import "github.com/authzhost/authz/sdk/authz"

// warm answers a check from the caches alone. It is decide for what nearly every check
// is: a declared key without condition, an active principal and a scope that are both
// cached, a scope type that is declared, and nobody who observes. When anything else is the case it is not ok, and
// decide begins anew.
func (c *Client) warm(p authz.Principal, key, scope string) (allowed, ok bool) {
	k, declared := c.vocabulary.Lookup(key)
	if !declared || k.RequiresCondition() || c.strict || c.recorder != nil {
		return false, false
	}
	who := cacheKey{id: p.UserID}
	if p.UserID == "" {
		who = cacheKey{id: p.ServiceID, service: true}
	} else if p.ServiceID != "" {
		return false, false
	}
	now := c.clock()
	if c.revalidate && c.epoch.due(now) {
		return false, false
	}
	whoHash := who.hash()
	s, ok := c.subjects.hit(whoHash, who, now)
	if !ok {
		return false, false
	}
	a := s.compiled.Load()
	if a == nil || !a.ValidAt(now) || !a.Active() {
		return false, false
	}
	if scope == "" || scope == authz.Global {
		c.subjects.lookups.count(whoHash, true)
		return a.DecideGlobal(k), true
	}
	at := cacheKey{id: scope}
	atHash := at.hash()
	chain, ok := c.chains.hit(atHash, at, now)
	if !ok || chain.LacksType() {
		return false, false
	}
	allowed, revoked := a.Decide(k, chain)
	if k.ImpliedOnAncestors() && !allowed && !revoked {
		return false, false
	}
	c.subjects.lookups.count(whoHash, true)
	c.chains.lookups.count(atHash, true)
	return allowed, true
}
