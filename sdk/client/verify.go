package client

import (
	"errors"
	"sync"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// maxExternalNames is after how many names the client goes quiet under
// ExternalWarn; it goes on evaluating.
const maxExternalNames = 1024

// externalNames remembers what was reported.
type externalNames struct {
	mu       sync.Mutex
	reported map[string]struct{}
}

// verify looks up a key before anything is fetched. declared is false for a key
// that the catalog cannot list: an open region or the policy admits it.
func (c *Client) verify(key, shape string) (k compiled.Key, declared bool, err error) {
	if k, ok := c.vocabulary.Lookup(key); ok {
		return k, true, nil
	}
	if c.vocabulary.Catalog().HasKey(key) {
		return compiled.Key{}, false, nil
	}
	return compiled.Key{}, false, c.admit(key, authz.ExpectedKey, shape)
}

// verifyPattern is verify for a pattern.
func (c *Client) verifyPattern(pattern, shape string) error {
	if c.vocabulary.Catalog().IsKnownPattern(pattern) {
		return nil
	}
	return c.admit(pattern, authz.ExpectedPattern, shape)
}

// admit decides on a name that the catalog does not know.
func (c *Client) admit(name string, expected authz.Expected, shape string) error {
	cat := c.vocabulary.Catalog()
	namespace := authz.NamespaceOf(name)
	well := authz.IsKey
	if expected == authz.ExpectedPattern {
		well = authz.IsPattern
	}
	foreign := namespace != "" && cat.NamespaceOrigin(namespace) == authz.NamespaceForeign
	if !foreign || !well(name) || c.settings.external == ExternalError {
		return cat.UnknownPermission(name, expected)
	}
	if c.settings.external == ExternalWarn {
		c.reportExternal(ExternalPermission{Permission: name, Expected: expected, Namespace: namespace, Shape: shape})
	}
	return nil
}

func (c *Client) reportExternal(p ExternalPermission) {
	c.external.mu.Lock()
	_, known := c.external.reported[p.Permission]
	if !known && len(c.external.reported) < maxExternalNames {
		if c.external.reported == nil {
			c.external.reported = map[string]struct{}{}
		}
		c.external.reported[p.Permission] = struct{}{}
	} else {
		known = true
	}
	c.external.mu.Unlock()
	if !known && c.onExternal != nil {
		c.onExternal(p)
	}
}

// VerifyGate says, before anybody asks, what of a gate is a mistake of the program: no
// keys, keys that the catalog does not declare, a condition that is missing, a scope of an
// undeclared type. Middleware asks it where a route is declared.
func (c *Client) VerifyGate(g Gate) error {
	if len(g.Keys) == 0 {
		return errors.New("a gate without keys denies everybody: name one")
	}
	if _, err := c.verifyGate(g, metrics.ShapeRequire, ""); err != nil {
		return err
	}
	if c.vocabulary.LacksTypeOf(g.Scope) {
		return c.vocabulary.Catalog().UnknownScopeType(g.Scope)
	}
	return nil
}
