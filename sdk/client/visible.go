package client

import (
	"context"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// CanAny asks a visibility question: can the principal see anything under the
// pattern, anywhere? It is never a gate, and ignores conditions.
func (c *Client) CanAny(ctx context.Context, p authz.Principal, pattern string) (bool, error) {
	return c.canAny(ctx, p, pattern, metrics.ShapeCanAny)
}

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (c *Client) RequireAny(ctx context.Context, p authz.Principal, pattern string) error {
	visible, err := c.canAny(ctx, p, pattern, metrics.ShapeRequireAny)
	if err != nil || visible {
		return err
	}
	return denied(p, []string{pattern}, false, "", true)
}

func (c *Client) canAny(ctx context.Context, p authz.Principal, pattern string, shape metrics.Shape) (visible bool, err error) {
	if err := c.verifyPattern(pattern, string(shape)); err != nil {
		return false, err
	}
	if err := p.Validate(); err != nil {
		return false, err
	}
	rate := c.recorder.DrawVisibility()
	a, now, err := c.held(ctx, p)
	if err != nil {
		return false, err
	}
	if a.Active() {
		// Every chain is looked at, also of grants that turn out not to matter: an
		// answer must not depend on which of them could be resolved.
		chains := c.chainsAt(ctx, c.strict, now)
		for scope := range grantScopes(a.Rows()) {
			if _, err := chains(scope); err != nil {
				return false, err
			}
		}
		if visible, err = a.Visible(pattern, now, chains); err != nil {
			return false, err
		}
	}
	if rate != 0 {
		c.observeVisible(rate, shape, p, pattern, visible, false, now)
	}
	return visible, nil
}

// grantScopes is the set of scopes other than "*" that the rows are granted at.
func grantScopes(rows *authz.SubjectAccess) map[string]struct{} {
	scopes := map[string]struct{}{}
	for i := range rows.Grants {
		if s := rows.Grants[i].Scope; s != authz.Global {
			scopes[s] = struct{}{}
		}
	}
	return scopes
}

// held fetches the access of a valid principal for shapes that take no scope.
func (c *Client) held(ctx context.Context, p authz.Principal) (*compiled.Access, int64, error) {
	now, err := c.begin(ctx, c.strict)
	if err != nil {
		return nil, 0, err
	}
	return c.access(ctx, p, c.strict, now)
}

// Holds asks whether the principal holds the key at any scope, unless a revoke at
// "*" takes it away. It is never a gate.
func (c *Client) Holds(ctx context.Context, p authz.Principal, key string) (bool, error) {
	k, declared, err := c.verify(key, "holds")
	if err != nil {
		return false, err
	}
	if err := p.Validate(); err != nil {
		return false, err
	}
	rate := c.recorder.DrawVisibility()
	a, now, err := c.held(ctx, p)
	if err != nil {
		return false, err
	}
	var held bool
	if declared {
		held = a.HeldAnywhere(k)
	} else {
		held = a.HoldsUndeclared(key, now)
	}
	if rate != 0 {
		c.observeHolds(rate, p, key, held, false, a.Rows(), now)
	}
	return held, nil
}

// HeldKeys lists every declared key that the principal holds somewhere, in catalog
// order.
func (c *Client) HeldKeys(ctx context.Context, p authz.Principal) ([]string, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	rate := c.recorder.DrawVisibility()
	a, now, err := c.held(ctx, p)
	if err != nil {
		return nil, err
	}
	keys := a.HeldKeys()
	if rate != 0 {
		c.observeVisible(rate, metrics.ShapeHeldKeys, p, "", len(keys) > 0, false, now)
	}
	return keys, nil
}

// GrantedScopes lists the scopes at which the key is granted and revoked, for
// listing what the principal may see; see access.PlanListing.
func (c *Client) GrantedScopes(ctx context.Context, p authz.Principal, key string) (access.GrantedScopes, error) {
	k, declared, err := c.verify(key, "grantedScopes")
	if err != nil {
		return access.GrantedScopes{}, err
	}
	if err := p.Validate(); err != nil {
		return access.GrantedScopes{}, err
	}
	a, now, err := c.held(ctx, p)
	if err != nil {
		return access.GrantedScopes{}, err
	}
	if !declared {
		return a.GrantedScopesUndeclared(key, now), nil
	}
	return a.GrantedScopes(k), nil
}
