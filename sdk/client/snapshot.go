package client

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// SnapshotOptions says what a snapshot holds.
type SnapshotOptions struct {
	// Scopes are resolved beside those of the principal's own rows.
	Scopes []string

	// Fresh bypasses the caches, also in later Resolve calls.
	Fresh bool
}

// Snapshot answers for one principal at one instant without I/O. It agrees with
// the client on every scope that it can resolve, and does not see later writes.
// Use one for a request; readers may share it.
type Snapshot struct {
	client    *Client
	principal authz.Principal
	access    *compiled.Access
	at        int64
	fresh     bool
	global    resolved

	held struct {
		once sync.Once
		keys []string
	}

	mu     sync.Mutex // serialises Resolve
	chains atomic.Pointer[resolvedTable]
}

// onSnapshot tells errors of a snapshot from those of the client.
const onSnapshot = "snapshot "

// What reports call the shapes that take scopes and no key.
const (
	shapeSnapshot = "snapshot"
	shapeResolve  = "resolve"
)

// Snapshot fetches the principal's closure once, then the chains of the scopes
// asked for and of every scope in the principal's rows. Any chain that fails
// fails the snapshot.
func (c *Client) Snapshot(ctx context.Context, p authz.Principal, o SnapshotOptions) (*Snapshot, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.verifyScopes(o.Scopes, shapeSnapshot); err != nil {
		return nil, err
	}
	fresh := o.Fresh || c.strict
	now, err := c.begin(ctx, fresh)
	if err != nil {
		return nil, err
	}
	a, now, err := c.access(ctx, p, fresh, now)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{client: c, principal: p, access: a, at: now, fresh: fresh}
	s.global.see(compiled.GlobalChain)
	s.chains.Store(new(resolvedTable))
	if err := s.resolveAll(ctx, now, o.Scopes, true); err != nil {
		return nil, err
	}
	return s, nil
}

// Resolve makes further scopes checkable. The principal's data and the instant
// stay. After a failure the chains that did resolve are usable.
func (s *Snapshot) Resolve(ctx context.Context, scopes ...string) error {
	if err := s.client.verifyScopes(scopes, shapeResolve); err != nil {
		return err
	}
	now, err := s.client.begin(ctx, s.fresh)
	if err != nil {
		return err
	}
	return s.resolveAll(ctx, now, scopes, false)
}

// resolveAll finds the chains of scopes, and of the rows' own when asked to.
func (s *Snapshot) resolveAll(ctx context.Context, now int64, scopes []string, rows bool) (failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []string
	var hashes []uint64
	if rows {
		own, hashes = s.access.RowScopes(), s.access.RowScopeHashes()
	}
	all := s.chains.Load().copy(len(scopes) + len(own))
	room := make([]resolved, len(scopes)+len(own))
	find := func(scope string, hash uint64) {
		if scope == "" || scope == authz.Global || all.get(hash, scope) != nil {
			return
		}
		if failure != nil && (rows || ctx.Err() != nil) {
			return // of a new snapshot nothing is used then, and nobody waits for more
		}
		chain, _, err := s.client.chainBy(ctx, scope, hash, s.fresh, now)
		if err != nil {
			if failure == nil {
				failure = err
			}
			return
		}
		r := &room[0]
		room = room[1:]
		r.see(chain)
		all.put(r)
		all.lacking = all.lacking || chain.LacksType()
	}
	for _, scope := range scopes {
		find(scope, compiled.HashScope(scope))
	}
	for i, scope := range own {
		find(scope, hashes[i])
	}
	s.chains.Store(all)
	return failure
}

// Unobserved is the same snapshot, whose checks are not observed.
func (s *Snapshot) Unobserved() *Snapshot {
	if s.client.recorder == nil {
		return s
	}
	silent := &Snapshot{client: s.client.Unobserved(), principal: s.principal, access: s.access, at: s.at, fresh: s.fresh}
	silent.global.see(compiled.GlobalChain)
	silent.chains.Store(s.chains.Load())
	return silent
}

// Principal is whom the snapshot is about.
func (s *Snapshot) Principal() authz.Principal { return s.principal }

// Active reports whether the principal has any access at all.
func (s *Snapshot) Active() bool { return s.access.Active() }

// At is the one instant of all checks, epoch milliseconds.
func (s *Snapshot) At() int64 { return s.at }

// Rows is what the provider supplied. Callers must not modify it.
func (s *Snapshot) Rows() *authz.SubjectAccess { return s.access.Rows() }

// ResolvedScopes lists the scopes with a known chain, sorted.
func (s *Snapshot) ResolvedScopes() []string {
	known := s.chains.Load()
	scopes := make([]string, 0, known.count)
	for _, r := range known.places {
		if r != nil {
			scopes = append(scopes, r.scope)
		}
	}
	slices.Sort(scopes)
	return scopes
}

// Can is the client's Can on the snapshot. A scope whose chain is neither known
// nor follows from the catalog is an *authz.UnresolvedScopeError.
func (s *Snapshot) Can(key, scope string) (bool, error) {
	return s.decide(key, scope, metrics.ShapeCan)
}

// Require is Can whose denial is an *authz.AccessDeniedError.
func (s *Snapshot) Require(key, scope string) error {
	allowed, err := s.decide(key, scope, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	return s.denied([]string{key}, false, scope)
}

func (s *Snapshot) denied(keys []string, anyOf bool, scope string) error {
	e := denied(s.principal, keys, anyOf, scope, s.Active())
	e.Expired = s.expired(keys, scope)
	return e
}

func (s *Snapshot) expired(keys []string, scope string) []authz.Grant {
	chain, err := s.chainOf(scope)
	if err != nil {
		return nil
	}
	return s.client.expired(s.access, keys, chain, s.at, s.chainOf)
}

func (s *Snapshot) decide(key, scope string, shape metrics.Shape) (allowed bool, err error) {
	c := s.client
	k, declared, err := c.verify(key, string(shape))
	if err != nil {
		return false, err
	}
	if k.RequiresCondition() {
		return false, &authz.MissingConditionError{Permission: key, Shape: onSnapshot + string(shape)}
	}
	rate := c.recorder.DrawGate()
	var chain *compiled.Chain
	implied := false
	if s.access.Active() {
		r, err := s.target(scope, string(shape))
		if err != nil {
			return false, err
		}
		if chain = r.view.Chain(); declared {
			var revoked bool
			// Most keys imply nothing: what was decided, which no processor foresees, is asked last.
			if allowed, revoked = s.access.DecideView(k, &r.view); k.ImpliedOnAncestors() && !allowed && !revoked {
				if allowed, err = s.access.Implied(k, chain, s.chainOf); err != nil {
					return false, err
				}
				implied = allowed
			}
		} else {
			allowed = s.access.DecideUndeclared(key, chain, s.at)
		}
	} else if err := c.verifyScope(scope, string(shape)); err != nil {
		return false, err
	}
	if rate != 0 {
		c.observeGate(answered{rate: rate, shape: shape, principal: s.principal, key: key, scope: scope, allowed: allowed, rows: allowed, told: true, implied: implied,
			snapshot: s, at: s.at, access: s.access, chain: chain})
	}
	return allowed, nil
}

// Explain shows the working of Can.
func (s *Snapshot) Explain(key, scope string) (access.Explanation, error) {
	if _, _, err := s.client.verify(key, shapeExplain); err != nil {
		return access.Explanation{}, err
	}
	r, err := s.target(scope, shapeExplain)
	if err != nil {
		return access.Explanation{}, err
	}
	return access.Explain(s.client.vocabulary.Catalog(), s.access.Rows(), key, r.view.Chain().Scopes(), s.at, compiled.Chains(s.chainOf).Plain())
}

// target is resolved for the scope that a question is about.
func (s *Snapshot) target(scope, shape string) (*resolved, error) {
	r, err := s.resolved(scope)
	if err != nil || s.chains.Load().lacking {
		if err := s.client.verifyScope(scope, shape); err != nil {
			return nil, err
		}
	}
	return r, err
}

func (s *Snapshot) resolved(scope string) (*resolved, error) {
	if scope == "" || scope == authz.Global {
		return &s.global, nil
	}
	if r := s.chains.Load().get(compiled.HashScope(scope), scope); r != nil {
		return r, nil
	}
	flat, declared := s.client.vocabulary.Flat(scope)
	if flat {
		// An unresolved flat scope carries no row of the principal.
		chain := compiled.NewChain(scope, nil)
		r := new(resolved)
		r.see(chain)
		return r, nil
	}
	return nil, &authz.UnresolvedScopeError{
		Scope: scope, ScopeType: authz.ScopeType(scope), Declared: declared,
		ResolvedScopes: s.ResolvedScopes(), DeclaredTypes: s.client.vocabulary.DeclaredTypes(),
	}
}

func (s *Snapshot) chainOf(scope string) (*compiled.Chain, error) {
	r, err := s.resolved(scope)
	if err != nil {
		return nil, err
	}
	return r.view.Chain(), nil
}
