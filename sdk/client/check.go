package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// Gate is a check in its general form.
type Gate struct {
	// Keys is any-of, in this order; an empty list denies.
	Keys []string

	// Scope "" means "*".
	Scope string

	// Fresh bypasses the caches.
	Fresh bool

	// Condition is the application's predicate, the final AND: it runs after
	// the rows allow, at most once. Keys declared requiresCondition need one. Its
	// error is returned; there is no answer then.
	Condition func(context.Context) (bool, error)
}

// Can asks whether the principal may do this here. Scope "" means "*", the
// global question, which only global grants answer.
func (c *Client) Can(ctx context.Context, p authz.Principal, key, scope string) (bool, error) {
	allowed, _, err := c.decide(ctx, p, key, scope, c.strict, metrics.ShapeCan)
	return allowed, err
}

// CanFresh is Can past the caches, for destructive actions and grants just made.
func (c *Client) CanFresh(ctx context.Context, p authz.Principal, key, scope string) (bool, error) {
	allowed, _, err := c.decide(ctx, p, key, scope, true, metrics.ShapeCan)
	return allowed, err
}

// Fresh is CanFresh.
//
// Deprecated: use CanFresh.
func (c *Client) Fresh(ctx context.Context, p authz.Principal, key, scope string) (bool, error) {
	return c.CanFresh(ctx, p, key, scope)
}

// Require is Can whose denial is an *authz.AccessDeniedError.
func (c *Client) Require(ctx context.Context, p authz.Principal, key, scope string) error {
	allowed, active, err := c.decide(ctx, p, key, scope, c.strict, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	return c.denied(p, []string{key}, false, scope, active)
}

// Check asks a Gate.
func (c *Client) Check(ctx context.Context, p authz.Principal, g Gate) (bool, error) {
	allowed, _, err := c.gate(ctx, p, g, metrics.ShapeCan)
	return allowed, err
}

// RequireGate is Check whose denial is an *authz.AccessDeniedError.
func (c *Client) RequireGate(ctx context.Context, p authz.Principal, g Gate) error {
	allowed, active, err := c.gate(ctx, p, g, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	return c.denied(p, g.Keys, len(g.Keys) != 1, g.Scope, active)
}

// denied tells of the grants that have expired too, as far as the caches still have them: no
// denial waits for I/O.
func (c *Client) denied(p authz.Principal, keys []string, anyOf bool, scope string, active bool) error {
	e := denied(p, keys, anyOf, scope, active)
	now, who := c.clock(), principalKey(p)
	s, ok := c.subjects.hit(who.hash(), who, now)
	if !ok || !active {
		return e
	}
	absent := false
	chains := c.chainsAtHand(now, &absent)
	chain := compiled.GlobalChain
	if scope != "" && scope != authz.Global {
		if chain, _ = chains(scope); absent {
			return e
		}
	}
	e.Expired = c.expired(c.compiled(s, now), keys, chain, now, chains)
	return e
}

// expired lists, by one key after the other, the rows that would allow had they not
// expired.
func (c *Client) expired(a *compiled.Access, keys []string, chain *compiled.Chain, now int64, chains compiled.Chains) (rows []authz.Grant) {
	if !a.HasExpired() {
		return nil
	}
	for _, key := range keys {
		e, err := access.Explain(c.vocabulary.Catalog(), a.Rows(), key, chain.Scopes(), now, chains.Plain())
		if err != nil {
			continue // a chain below that is not known says nothing
		}
		for _, g := range e.Expired {
			if !slices.ContainsFunc(rows, func(known authz.Grant) bool { return known.ID == g.ID }) {
				rows = append(rows, g)
			}
		}
	}
	return rows
}

func denied(p authz.Principal, keys []string, anyOf bool, scope string, active bool) *authz.AccessDeniedError {
	reason := authz.ReasonForbidden
	if !active {
		reason = authz.ReasonInactive
	}
	return &authz.AccessDeniedError{Reason: reason, Permissions: keys, AnyOf: anyOf, Scope: scope, Principal: p}
}

// decide is the path of one unconditional key: no allocation when all is cached.
func (c *Client) decide(ctx context.Context, p authz.Principal, key, scope string, fresh bool, shape metrics.Shape) (allowed, active bool, err error) {
	k, declared, err := c.verify(key, string(shape))
	if err != nil {
		return false, false, err
	}
	if k.RequiresCondition() {
		return false, false, &authz.MissingConditionError{Permission: key, Shape: string(shape)}
	}
	a, chain, now, warm := c.warm(p, scope, fresh)
	if !warm {
		if err := c.admitted(p, scope, shape); err != nil {
			return false, false, err
		}
	}
	rate := c.recorder.DrawGate()
	var unresolved error
	if !warm {
		if a, chain, now, err, unresolved = c.supplied(ctx, p, scope, fresh); err != nil {
			return false, false, err
		}
	}
	implied := false
	switch {
	case !a.Active(): // denied also when the chain could not be resolved
	case unresolved != nil:
		return false, true, unresolved
	case !declared:
		active, allowed = true, a.DecideUndeclared(key, chain, now)
	default:
		var revoked bool
		active = true
		allowed, revoked = a.Decide(k, chain)
		if k.ImpliedOnAncestors() && !allowed && !revoked { // in this order, as in Snapshot.decide
			if allowed, err = c.implied(ctx, a, k, chain, fresh, now); err != nil {
				return false, true, err
			}
			implied = allowed
		}
	}
	if rate != 0 {
		c.observeGate(answered{rate: rate, shape: shape, principal: p, key: key, scope: scope, allowed: allowed, rows: allowed, told: true, implied: implied,
			fresh: fresh, at: now, access: a, chain: chain})
	}
	return allowed, active, nil
}

// admitted judges whom and what place a question is about, before anything is fetched.
func (c *Client) admitted(p authz.Principal, scope string, shape metrics.Shape) error {
	if err := p.Validate(); err != nil {
		return err
	}
	return c.verifyScope(scope, string(shape))
}

// supplied is accessAt after a look at the event log, if one is due.
func (c *Client) supplied(ctx context.Context, p authz.Principal, scope string, fresh bool) (a *compiled.Access, chain *compiled.Chain, at int64, err, unresolved error) {
	now, err := c.begin(ctx, fresh)
	if err != nil {
		return nil, nil, now, err, nil
	}
	return c.accessAt(ctx, p, scope, fresh, now)
}

// gate is decide for any-of lists and conditions.
func (c *Client) gate(ctx context.Context, p authz.Principal, g Gate, shape metrics.Shape) (allowed, active bool, err error) {
	if len(g.Keys) == 1 && g.Condition == nil {
		return c.decide(ctx, p, g.Keys[0], g.Scope, g.Fresh || c.strict, shape)
	}
	v, err := c.verifyGate(g, shape, "")
	if err != nil {
		return false, false, err
	}
	if err := c.admitted(p, g.Scope, shape); err != nil {
		return false, false, err
	}
	rate := c.recorder.DrawGate()
	r, err := c.rows(ctx, p, g, v)
	if err != nil {
		return false, false, err
	}
	if allowed = r.rows; allowed && g.Condition != nil {
		if allowed, err = conditioned(ctx, g); err != nil {
			return false, r.access.Active(), err
		}
	}
	if rate != 0 {
		r.rate, r.shape, r.allowed = rate, shape, allowed
		c.observeGate(r)
	}
	return allowed, r.access.Active(), nil
}

// rows judges a verified gate on the rows alone.
func (c *Client) rows(ctx context.Context, p authz.Principal, g Gate, v verified) (r answered, err error) {
	fresh := g.Fresh || c.strict
	a, chain, now, err, unresolved := c.supplied(ctx, p, g.Scope, fresh)
	if err != nil {
		return r, err
	}
	r = answered{principal: p, keys: g.Keys, scope: g.Scope, fresh: fresh, at: now, access: a, chain: chain}
	if !a.Active() {
		return r, nil // denied also when the chain could not be resolved
	}
	if unresolved != nil {
		return r, unresolved
	}
	r.rows, err = anyOf(v.keys, func(i int, k compiled.Key) (bool, bool) {
		if !v.declared[i] {
			return a.DecideUndeclared(g.Keys[i], chain, now), true
		}
		return a.Decide(k, chain)
	}, func(k compiled.Key) (bool, error) {
		r.implied, err = c.implied(ctx, a, k, chain, fresh, now)
		return r.implied, err
	})
	r.told = true
	return r, err
}

// verified are the keys of a gate as the catalog knows them.
type verified struct {
	keys     []compiled.Key
	declared []bool
}

// verifyGate looks up every key, and that those which require a condition have
// one.
func (c *Client) verifyGate(g Gate, shape metrics.Shape, surface string) (v verified, err error) {
	v = verified{make([]compiled.Key, len(g.Keys)), make([]bool, len(g.Keys))}
	for i, name := range g.Keys {
		if v.keys[i], v.declared[i], err = c.verify(name, string(shape)); err != nil {
			return v, err
		}
	}
	for i, k := range v.keys {
		if k.RequiresCondition() && g.Condition == nil {
			return v, &authz.MissingConditionError{Permission: g.Keys[i], Shape: surface + string(shape)}
		}
	}
	return v, nil
}

// anyOf allows by the first key that its rows allow, else by the first that is
// implied and that no revoke on the chain matched.
func anyOf(keys []compiled.Key, decide func(int, compiled.Key) (allowed, revoked bool), implied func(compiled.Key) (bool, error)) (bool, error) {
	var candidates []compiled.Key
	for i, k := range keys {
		allowed, revoked := decide(i, k)
		if allowed {
			return true, nil
		}
		if !revoked && k.ImpliedOnAncestors() {
			candidates = append(candidates, k)
		}
	}
	for _, k := range candidates {
		if allowed, err := implied(k); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// conditioned is the final AND of a gate whose rows allow.
func conditioned(ctx context.Context, g Gate) (bool, error) {
	allowed, err := g.Condition(ctx)
	return allowed && err == nil, err
}

// implied looks for a scope below the chain's own that implies the key there.
func (c *Client) implied(ctx context.Context, a *compiled.Access, k compiled.Key, target *compiled.Chain, fresh bool, now int64) (bool, error) {
	return a.Implied(k, target, c.chainsAt(ctx, fresh, now))
}

// shapeExplain is what reports call Explain.
const shapeExplain = "explain"

// Explain shows the working of Can, on the caches as Can is. The condition of a
// key is not evaluated.
func (c *Client) Explain(ctx context.Context, p authz.Principal, key, scope string) (access.Explanation, error) {
	if _, _, err := c.verify(key, shapeExplain); err != nil {
		return access.Explanation{}, err
	}
	if err := c.admitted(p, scope, shapeExplain); err != nil {
		return access.Explanation{}, err
	}
	a, chain, now, err, unresolved := c.supplied(ctx, p, scope, c.strict)
	if err := cmp.Or(err, unresolved); err != nil {
		return access.Explanation{}, err
	}
	return access.Explain(c.vocabulary.Catalog(), a.Rows(), key, chain.Scopes(), now, c.chainsAt(ctx, c.strict, now).Plain())
}

// ExplainRows is Explain on rows of the caller's instead of those that the provider
// supplies.
func (c *Client) ExplainRows(ctx context.Context, rows *authz.SubjectAccess, key, scope string) (access.Explanation, error) {
	if _, _, err := c.verify(key, shapeExplain); err != nil {
		return access.Explanation{}, err
	}
	if err := c.verifyScope(scope, shapeExplain); err != nil {
		return access.Explanation{}, err
	}
	now, err := c.begin(ctx, c.strict)
	if err != nil {
		return access.Explanation{}, err
	}
	chain, now, err := c.chain(ctx, scope, c.strict, now)
	if err != nil {
		return access.Explanation{}, err
	}
	return access.Explain(c.vocabulary.Catalog(), rows, key, chain.Scopes(), now, c.chainsAt(ctx, c.strict, now).Plain())
}
