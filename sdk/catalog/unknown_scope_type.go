package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// LacksTypeOf reports that the scope has a type which the catalog does not declare, though
// it declares others: the sign of a slip. "*", scopes without a type and catalogs without
// scope types have nothing to compare.
func (c *Catalog) LacksTypeOf(scope string) bool {
	if len(c.scopeTypes) == 0 {
		return false
	}
	t := authz.ScopeType(scope)
	return t != "" && c.scopeTypeOf[t] == nil
}

// UnknownScopeType explains a scope whose type the catalog lacks. Call it only to raise its
// result.
func (c *Catalog) UnknownScopeType(scope string) *authz.UnknownScopeTypeError {
	declared := make([]string, len(c.scopeTypes))
	for i := range c.scopeTypes {
		declared[i] = c.scopeTypes[i].Type
	}
	slices.Sort(declared)
	t := authz.ScopeType(scope)
	e := &authz.UnknownScopeTypeError{Scope: scope, ScopeType: t, DidYouMean: nearest(t, declared, nil), DeclaredTypes: declared}
	e.Message = "the scope type " + spell.Quote(t) + " of " + spell.Quote(scope) + " is not declared in this catalog (typo, or an undeclared type)."
	if len(e.DidYouMean) > 0 {
		e.Message += " Did you mean " + oneOf(e.DidYouMean) + "?"
	}
	e.Message += " Declared scope types: " + strings.Join(declared, ", ") + "."
	return e
}
