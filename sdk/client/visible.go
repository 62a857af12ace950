package client

import (
	"context"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// CanAny asks a visibility question: can the principal see anything under the
// pattern, anywhere? It is never a gate, and ignores conditions.
func (c *Client) CanAny(ctx context.Context, p authz.Principal, pattern string) (bool, error) {
	return c.canAny(ctx, p, pattern, "canAny")
}

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (c *Client) RequireAny(ctx context.Context, p authz.Principal, pattern string) error {
	visible, err := c.canAny(ctx, p, pattern, "requireAny")
	if err != nil || visible {
		return err
	}
	return denied(p, []string{pattern}, false, "", true)
}

func (c *Client) canAny(ctx context.Context, p authz.Principal, pattern, shape string) (bool, error) {
	if err := c.verifyPattern(pattern, shape); err != nil {
		return false, err
	}
	a, now, err := c.held(ctx, p)
	if err != nil || !a.Active() {
		return false, err
	}
	// Every chain is looked at, also of grants that turn out not to matter: an
	// answer must not depend on which of them could be resolved.
	chains := c.chainsAt(ctx, c.strict, now)
	for scope := range grantScopes(a.Rows()) {
		if _, err := chains(scope); err != nil {
			return false, err
		}
	}
	return a.Visible(pattern, now, chains)
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

// held fetches the principal's access for shapes that take no scope.
func (c *Client) held(ctx context.Context, p authz.Principal) (*access.Access, int64, error) {
	if err := p.Validate(); err != nil {
		return nil, 0, err
	}
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
	a, now, err := c.held(ctx, p)
	if err != nil {
		return false, err
	}
	if !declared {
		return access.HoldsUndeclared(c.vocabulary, a.Rows(), key, now), nil
	}
	return a.HeldAnywhere(k), nil
}

// HeldKeys lists every declared key that the principal holds somewhere, in catalog
// order.
func (c *Client) HeldKeys(ctx context.Context, p authz.Principal) ([]string, error) {
	a, _, err := c.held(ctx, p)
	if err != nil {
		return nil, err
	}
	return a.HeldKeys(), nil
}

// GrantedScopes lists the scopes at which the key is granted and revoked, for
// listing what the principal may see; see access.PlanListing.
func (c *Client) GrantedScopes(ctx context.Context, p authz.Principal, key string) (access.GrantedScopes, error) {
	k, declared, err := c.verify(key, "grantedScopes")
	if err != nil {
		return access.GrantedScopes{}, err
	}
	a, now, err := c.held(ctx, p)
	if err != nil {
		return access.GrantedScopes{}, err
	}
	if !declared {
		return access.GrantedScopesUndeclared(c.vocabulary, a.Rows(), key, now), nil
	}
	return a.GrantedScopes(k), nil
}
