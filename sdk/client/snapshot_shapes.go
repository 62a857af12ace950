package client

import (
	"context"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/metrics"
)

// Check asks a Gate; Gate.Fresh does not matter, a fresh snapshot is taken fresh.
// The condition must answer at once and gets a context without a deadline.
func (s *Snapshot) Check(g Gate) (bool, error) { return s.gate(g, metrics.ShapeCan) }

// RequireGate is Check whose denial is an *authz.AccessDeniedError.
func (s *Snapshot) RequireGate(g Gate) error {
	allowed, err := s.gate(g, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	return s.denied(g.Keys, len(g.Keys) != 1, g.Scope)
}

func (s *Snapshot) gate(g Gate, shape metrics.Shape) (bool, error) {
	v, err := s.client.verifyGate(g, shape, onSnapshot)
	if err != nil {
		return false, err
	}
	if err := s.client.verifyScope(g.Scope, string(shape)); err != nil {
		return false, err
	}
	rate := s.client.recorder.DrawGate()
	r, err := s.rows(g, v)
	if err != nil {
		return false, err
	}
	allowed := r.rows
	if allowed && g.Condition != nil {
		if allowed, err = conditioned(context.Background(), g); err != nil {
			return false, err
		}
	}
	if rate != 0 {
		r.rate, r.shape, r.allowed = rate, shape, allowed
		s.client.observeGate(r)
	}
	return allowed, nil
}

// rows judges a verified gate on the rows alone.
func (s *Snapshot) rows(g Gate, v verified) (r answered, err error) {
	r = answered{principal: s.principal, keys: g.Keys, scope: g.Scope, snapshot: s, at: s.at, access: s.access}
	if !s.access.Active() {
		return r, nil
	}
	at, err := s.resolved(g.Scope)
	if err != nil {
		return r, err
	}
	r.chain = at.view.Chain()
	r.rows, err = anyOf(v.keys, func(i int, k compiled.Key) (bool, bool) {
		if !v.declared[i] {
			return s.access.DecideUndeclared(g.Keys[i], r.chain, s.at), true
		}
		return s.access.DecideView(k, &at.view)
	}, func(k compiled.Key) (bool, error) {
		r.implied, err = s.access.Implied(k, r.chain, s.chainOf)
		return r.implied, err
	})
	r.told = true
	return r, err
}

// CanAny is the client's CanAny on the snapshot.
func (s *Snapshot) CanAny(pattern string) (bool, error) {
	return s.canAny(pattern, metrics.ShapeCanAny)
}

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (s *Snapshot) RequireAny(pattern string) error {
	visible, err := s.canAny(pattern, metrics.ShapeRequireAny)
	if err != nil || visible {
		return err
	}
	return denied(s.principal, []string{pattern}, false, "", s.Active())
}

func (s *Snapshot) canAny(pattern string, shape metrics.Shape) (bool, error) {
	if err := s.client.verifyPattern(pattern, string(shape)); err != nil {
		return false, err
	}
	rate := s.client.recorder.DrawVisibility()
	visible, err := s.access.Visible(pattern, s.at, s.chainOf)
	if err != nil {
		return false, err
	}
	if rate != 0 {
		s.client.observeVisible(rate, shape, s.principal, pattern, visible, true, s.at)
	}
	return visible, nil
}

// Holds is the client's Holds on the snapshot.
func (s *Snapshot) Holds(key string) (bool, error) {
	k, declared, err := s.client.verify(key, string(metrics.ShapeHolds))
	if err != nil {
		return false, err
	}
	rate := s.client.recorder.DrawVisibility()
	var held bool
	if declared {
		held = s.access.HeldAnywhere(k)
	} else {
		held = s.access.HoldsUndeclared(key, s.at)
	}
	if rate != 0 {
		s.client.observeHolds(rate, s.principal, key, held, true, s.access.Rows(), s.at)
	}
	return held, nil
}

// HeldKeys is the client's HeldKeys on the snapshot, computed, and observed, once.
// The list is the caller's own.
func (s *Snapshot) HeldKeys() []string {
	s.held.once.Do(func() {
		rate := s.client.recorder.DrawVisibility()
		s.held.keys = s.access.HeldKeys()
		if rate != 0 {
			s.client.observeVisible(rate, metrics.ShapeHeldKeys, s.principal, "", len(s.held.keys) > 0, true, s.at)
		}
	})
	return slices.Clone(s.held.keys)
}

// GrantedScopes is the client's GrantedScopes on the snapshot.
func (s *Snapshot) GrantedScopes(key string) (access.GrantedScopes, error) {
	k, declared, err := s.client.verify(key, "grantedScopes")
	if err != nil {
		return access.GrantedScopes{}, err
	}
	if !declared {
		return s.access.GrantedScopesUndeclared(key, s.at), nil
	}
	return s.access.GrantedScopes(k), nil
}
