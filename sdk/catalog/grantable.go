package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// AppliesAt reports whether a grant at the scope can confer the key: always at
// "*", elsewhere when the key's permission lists the scope's type.
func (c *Catalog) AppliesAt(key, scope string) bool {
	if scope == authz.Global {
		return true
	}
	leaf := c.leaves[key]
	return leaf != nil && slices.Contains(leaf.Scopes, authz.ScopeType(scope))
}

// ValidateGrantableAt returns nil when a grant of the pattern may be stored at
// the scope (catalog contract §5): at "*" always, elsewhere when some matched
// permission lists the scope's type.
func (c *Catalog) ValidateGrantableAt(pattern, scope string) *authz.Issue {
	if scope == authz.Global {
		return nil
	}
	scopeType := authz.ScopeType(scope)
	if c.scopeTypeOf[scopeType] == nil {
		return &authz.Issue{Severity: authz.SeverityError, Path: scope, Message: c.unknownScopeType(scopeType)}
	}
	matched := c.KeysMatching(pattern)
	if len(matched) == 0 {
		message := "pattern matches no catalog key"
		if near := c.near(pattern, authz.ExpectedPattern); len(near) > 0 {
			message += " — did you mean " + oneOf(near) + "?"
		}
		return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
	}
	var elsewhere []string
	seen := map[string]bool{}
	for _, key := range matched {
		for _, t := range c.leaves[key].Scopes {
			if t == scopeType {
				return nil
			}
			if !seen[t] {
				seen[t] = true
				elsewhere = append(elsewhere, t)
			}
		}
	}
	message := "not grantable at scope type " + authz.Quote(scopeType) + " — no matched leaf declares it "
	if len(elsewhere) > 0 {
		message += "(matched leaves are grantable at: " + strings.Join(elsewhere, ", ") + `, or globally at "*")`
	} else {
		message += "(matched leaves declare no scope types, so they are grantable at \"*\" only — add `scopes` on the leaf or an enclosing group)"
	}
	return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
}

// unknownScopeType words the refusal; "" is a scope id that has no type.
func (c *Catalog) unknownScopeType(scopeType string) string {
	named := "null"
	if scopeType != "" {
		named = authz.Quote(scopeType)
	}
	message := "unknown scope type " + named + " — declare it in the catalog's scopeTypes "
	if len(c.scopeTypes) == 0 {
		return message + "(this catalog declares no scope types yet)"
	}
	types := make([]string, len(c.scopeTypes))
	for i, t := range c.scopeTypes {
		types[i] = t.Type
	}
	return message + "(declared scope types: " + strings.Join(types, ", ") + ")"
}
