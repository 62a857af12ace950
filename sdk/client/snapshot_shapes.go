package client

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/access"
)

// Check asks a Gate; Gate.Fresh does not matter, a fresh snapshot is taken fresh.
// The condition must answer at once and gets a context without a deadline.
func (s *Snapshot) Check(g Gate) (bool, error) { return s.gate(g, "can") }

// RequireGate is Check whose denial is an *authz.AccessDeniedError.
func (s *Snapshot) RequireGate(g Gate) error {
	allowed, err := s.gate(g, "require")
	if err != nil || allowed {
		return err
	}
	return denied(s.principal, g.Keys, len(g.Keys) != 1, g.Scope, s.Active())
}

func (s *Snapshot) gate(g Gate, shape string) (bool, error) {
	v, err := s.client.verifyGate(g, shape, onSnapshot)
	if err != nil {
		return false, err
	}
	allowed, err := s.rows(g, v)
	if err != nil || !allowed || g.Condition == nil {
		return allowed, err
	}
	return conditioned(context.Background(), g)
}

// rows judges a verified gate on the rows alone.
func (s *Snapshot) rows(g Gate, v verified) (bool, error) {
	if !s.access.Active() {
		return false, nil
	}
	r, err := s.resolved(g.Scope)
	if err != nil {
		return false, err
	}
	return anyOf(v.keys, func(i int, k access.Key) (bool, bool) {
		if !v.declared[i] {
			return access.DecideUndeclared(s.client.vocabulary, s.access.Rows(), g.Keys[i], r.chain, s.at), true
		}
		return s.access.DecideView(k, r.view)
	}, func(k access.Key) (bool, error) { return s.access.Implied(k, r.chain, s.chainOf) })
}

// CanAny is the client's CanAny on the snapshot.
func (s *Snapshot) CanAny(pattern string) (bool, error) { return s.canAny(pattern, "canAny") }

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (s *Snapshot) RequireAny(pattern string) error {
	visible, err := s.canAny(pattern, "requireAny")
	if err != nil || visible {
		return err
	}
	return denied(s.principal, []string{pattern}, false, "", s.Active())
}

func (s *Snapshot) canAny(pattern, shape string) (bool, error) {
	if err := s.client.verifyPattern(pattern, shape); err != nil {
		return false, err
	}
	return s.access.Visible(pattern, s.at, s.chainOf)
}

// Holds is the client's Holds on the snapshot.
func (s *Snapshot) Holds(key string) (bool, error) {
	k, declared, err := s.client.verify(key, "holds")
	if err != nil {
		return false, err
	}
	if !declared {
		return access.HoldsUndeclared(s.client.vocabulary, s.access.Rows(), key, s.at), nil
	}
	return s.access.HeldAnywhere(k), nil
}

// HeldKeys is the client's HeldKeys on the snapshot, computed once. The list is
// the caller's own.
func (s *Snapshot) HeldKeys() []string {
	s.held.once.Do(func() { s.held.keys = s.access.HeldKeys() })
	return slices.Clone(s.held.keys)
}

// GrantedScopes is the client's GrantedScopes on the snapshot.
func (s *Snapshot) GrantedScopes(key string) (access.GrantedScopes, error) {
	k, declared, err := s.client.verify(key, "grantedScopes")
	if err != nil {
		return access.GrantedScopes{}, err
	}
	if !declared {
		return access.GrantedScopesUndeclared(s.client.vocabulary, s.access.Rows(), key, s.at), nil
	}
	return s.access.GrantedScopes(k), nil
}
