package client

import (
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// answered is a gate that has its answer, for the observation of it.
type answered struct {
	rate      float64 // the draw's; 0 is not observed
	shape     metrics.Shape
	principal authz.Principal
	key       string   // of a gate of one key, else "", and keys
	keys      []string // of any other
	scope     string
	allowed   bool // the answer
	rows      bool // what the rows said, before any condition
	told      bool // implied is set
	implied   bool // by a scope further down
	fresh     bool
	snapshot  *Snapshot // that was asked; nil: the client
	at        int64

	access *compiled.Access
	chain  *compiled.Chain
}

// observeGate builds and delivers the observation of a kept gate. Attribution
// walks the rows and asks for no chain that is not at hand: an observation never
// makes a check wait for I/O. What it cannot attribute stays empty.
func (c *Client) observeGate(g answered) {
	if g.key == "" && len(g.keys) == 1 {
		g.key = g.keys[0]
	}
	o := c.observation(g.rate, g.shape, g.principal, g.at)
	o.Decision = metrics.Decided(g.allowed)
	o.AnyOf = len(g.keys) > 1
	o.ScopeType, o.Scope = c.recorder.ScopeOf(g.scope)
	o.Fresh, o.Snapshot = g.fresh, g.snapshot != nil
	first := g.key
	if first == "" && len(g.keys) > 0 {
		first = g.keys[0]
	}
	o.Permission = first
	k, declared := c.vocabulary.Lookup(first)
	switch {
	case g.told && g.key != "" && c.recorder.OmitsAttribution():
		o.Implied = g.implied
	case !g.access.Active():
	case g.key != "" && declared && !k.ImpliedOnAncestors():
		g.find(o, k)
	default:
		c.walk(g, o)
	}
	if o.Permission != "" && !(declared && o.Permission == first) {
		o.ExternalPermission = !c.vocabulary.Catalog().HasKey(o.Permission)
	}
	c.recorder.Deliver(*o)
}

// walk attributes what the rows' index cannot: lists of keys, implication, and keys
// that are not declared.
func (c *Client) walk(g answered, o *metrics.CheckObservation) {
	keys := g.keys
	if g.key != "" {
		keys = []string{g.key}
	}
	absent := false
	chains := c.chainsAtHand(g.at, &absent)
	if g.snapshot != nil {
		chains = g.snapshot.chainOf
	}
	at, err := g.access.Attribute(keys, g.chain, g.at, chains)
	if err != nil {
		return
	}
	if g.rows && at.Key >= 0 {
		o.Permission, o.Implied = keys[at.Key], at.Implied
		o.MatchedGrantIDs, o.RoleIDs = at.Grants, at.Roles
		if g.allowed && !absent { // a row whose chain is absent may allow too
			o.SoleMatchGrantID = at.Sole
		}
		return
	}
	if g.rows {
		o.Implied = g.implied
		return
	}
	o.MatchedRevokeIDs = at.Revokes
}

// find attributes a gate of one key by the rows' index. What the rows said tells which
// of them to look for.
func (g answered) find(o *metrics.CheckObservation, k compiled.Key) {
	if !g.rows {
		o.MatchedRevokeIDs = g.access.Suppressing(k, g.chain, g.at)
		return
	}
	m := g.access.Allowing(k, g.chain, g.at)
	o.MatchedGrantIDs, o.RoleIDs = m.Grants, m.Roles
	if g.allowed {
		o.SoleMatchGrantID = m.Sole
	}
}

func (c *Client) observation(rate float64, shape metrics.Shape, p authz.Principal, at int64) *metrics.CheckObservation {
	return &metrics.CheckObservation{At: at, Shape: shape, Principal: p, ScopeType: metrics.GlobalScopeType, SampleRate: rate}
}

// observeVisible delivers the observation of a kept visibility shape; name is the
// pattern or key, "" for heldKeys.
func (c *Client) observeVisible(rate float64, shape metrics.Shape, p authz.Principal, name string, allowed, snapshot bool, at int64) {
	o := c.observation(rate, shape, p, at)
	o.Permission, o.Decision, o.Snapshot = name, metrics.Decided(allowed), snapshot
	o.Fresh = c.strict && !snapshot
	if name != "" {
		o.ExternalPermission = !c.vocabulary.Catalog().IsKnownPattern(name)
	}
	c.recorder.Deliver(*o)
}

// observeHolds is observeVisible with the rows that confer the key.
func (c *Client) observeHolds(rate float64, p authz.Principal, key string, held, snapshot bool, rows *authz.SubjectAccess, at int64) {
	o := c.observation(rate, metrics.ShapeHolds, p, at)
	o.Permission, o.Decision, o.Snapshot = key, metrics.Decided(held), snapshot
	o.Fresh = c.strict && !snapshot
	o.ExternalPermission = !c.vocabulary.Catalog().HasKey(key)
	if held {
		conferring := access.Conferring(c.vocabulary.Catalog(), rows, key, at)
		o.Attribute(conferring)
		if len(conferring) == 1 {
			o.SoleMatchGrantID = conferring[0].ID
		}
	}
	c.recorder.Deliver(*o)
}

// chainsAtHand answers chains from memory only. One that is absent implies nothing, and
// is told of.
func (c *Client) chainsAtHand(now int64, absent *bool) compiled.Chains {
	return func(scope string) (*compiled.Chain, error) {
		key := cacheKey{id: scope}
		if chain, ok := c.chains.hit(key.hash(), key, now); ok {
			return chain, nil
		}
		*absent = true
		return compiled.GlobalChain, nil
	}
}
