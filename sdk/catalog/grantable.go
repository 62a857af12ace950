package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// AppliesAt reports whether a grant at the scope can confer the key: always at
// "*", elsewhere when the key's permission, or the region that admits the key,
// lists the scope's type.
func (c *Catalog) AppliesAt(key, scope string) bool {
	if scope == authz.Global {
		return true
	}
	scopeType := authz.ScopeType(scope)
	if leaf := c.leaves[key]; leaf != nil {
		return slices.Contains(leaf.Scopes, scopeType)
	}
	region, ok := c.RegionOf(key)
	return ok && slices.Contains(region.Scopes, scopeType)
}

// ValidateGrantableAt returns nil when a grant of the pattern may be stored at
// the scope (spec: catalog §5): at "*" always, elsewhere when some matched
// permission lists the scope's type or, where nothing is matched but open regions
// are reached, some region is wired to it.
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
		if regions := c.OpaqueRegions(pattern); len(regions) > 0 {
			return notWired(pattern, scopeType, regions)
		}
		message := "pattern matches no catalog key"
		if near := c.near(pattern, authz.ExpectedPattern); len(near) > 0 {
			message += " — did you mean " + oneOf(near) + "?"
		}
		return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
	}
	var elsewhere []string
	for _, key := range matched {
		elsewhere = append(elsewhere, c.leaves[key].Scopes...)
	}
	if slices.Contains(elsewhere, scopeType) {
		return nil
	}
	elsewhere = distinct(elsewhere)
	message := "not grantable at scope type " + spell.Quote(scopeType) + " — no matched leaf declares it "
	if len(elsewhere) > 0 {
		message += "(matched leaves are grantable at: " + strings.Join(elsewhere, ", ") + `, or globally at "*")`
	} else {
		message += "(matched leaves declare no scope types, so they are grantable at \"*\" only — add `scopes` on the leaf or an enclosing group)"
	}
	return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
}

// notWired returns nil when one of the open regions is wired to the scope type.
func notWired(pattern, scopeType string, regions []Region) *authz.Issue {
	var wired []string
	for _, r := range regions {
		wired = append(wired, r.Scopes...)
	}
	if slices.Contains(wired, scopeType) {
		return nil
	}
	ns := regions[0].Namespace
	message := "not grantable at scope type " + spell.Quote(scopeType) + " — it is imported from " + spell.Quote(ns) +
		", and an imported permission is grantable only at scope types this catalog wires it to "
	if len(wired) > 0 {
		message += "(wired to: " + strings.Join(distinct(wired), ", ") + `, or globally at "*")`
	} else {
		message += "(no scope types wired — set `scopes` on `imports." + ns + "` to grant it below the global scope)"
	}
	return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
}

// unknownScopeType words the refusal; "" is a scope id that has no type.
func (c *Catalog) unknownScopeType(scopeType string) string {
	named := "null"
	if scopeType != "" {
		named = spell.Quote(scopeType)
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
