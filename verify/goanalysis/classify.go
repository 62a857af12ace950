package goanalysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// verdict is what a literal at a call comes to (verifier contract §4.3). No
// rule means that nothing is wrong with it.
type verdict struct {
	rule       string
	severity   authz.Severity
	message    string
	instead    []string // what may have been meant, closest first
	key        string   // recorded as referenced
	pattern    string   // recorded with every key that it matches
	conditions bool     // names a leaf that requires a condition
}

func (c *Checker) classify(value string, k kind) verdict {
	exact := !k.visibility // a gate asks about one key, and so does a look at one
	if value == authz.Global {
		if exact {
			return verdict{} // the global scope
		}
		return verdict{pattern: value}
	}
	if !authz.IsPattern(value) {
		return verdict{}
	}
	if !strings.Contains(value, ".") {
		if group, ok := c.catalog.Group(value); ok && !group.Hollow {
			return c.unknown(RuleUnknownPattern, value, k)
		}
		return verdict{}
	}
	rule := RuleUnknownPattern
	switch c.catalog.NamespaceOrigin(authz.NamespaceOf(value)) {
	case authz.NamespaceImported:
		rule = RuleUnknownImport
	case authz.NamespaceOwned:
	default:
		return c.foreign(value)
	}
	switch {
	case c.catalog.HasKey(value):
		leaf, ok := c.catalog.Leaf(value)
		return verdict{key: value, conditions: ok && leaf.RequiresCondition}
	case !c.catalog.IsKnownPattern(value):
		return c.unknown(rule, value, k)
	case !exact:
		return verdict{pattern: value}
	case authz.IsWildcard(value):
		return verdict{rule: rule, severity: authz.SeverityError, pattern: value,
			message: authz.Quote(value) + " is a pattern, not a permission key — a gate checks one concrete key; the visibility question is CanAny"}
	}
	return verdict{rule: rule, severity: authz.SeverityError, pattern: value,
		message: authz.Quote(value) + " is not in the catalog (typo, or an undeclared key) (the import of its namespace is strict: it admits no key that it does not name)"}
}

func (c *Checker) unknown(rule, value string, k kind) verdict {
	v := verdict{rule: rule, severity: authz.SeverityError}
	why := c.catalog.UnknownPermission(value, authz.ExpectedPattern)
	if why.Suggestion != "" {
		v.message = authz.Quote(value) + " is a group, not a key — groups are folders and match nothing; did you mean " + authz.Quote(why.Suggestion) + "?"
		if !k.gate {
			v.instead = []string{why.Suggestion} // at a gate a wildcard would be wrong again
		}
		return v
	}
	v.message = authz.Quote(value) + " is not in the catalog (typo, or an undeclared key)"
	if issue := c.catalog.ValidateKnownPattern(value); issue != nil {
		// The catalog's own refusal ends as this message must: names, then hint.
		_, advice, _ := strings.Cut(issue.Message, "references nothing in the catalog")
		v.message += advice
	}
	for _, name := range why.DidYouMean {
		if k.visibility || !authz.IsWildcard(name) {
			v.instead = append(v.instead, name)
		}
	}
	return v
}

func (c *Checker) foreign(value string) verdict {
	ns := authz.NamespaceOf(value)
	if c.implicit == ImplicitOff || slices.Contains(c.allowed, ns) {
		return verdict{}
	}
	v := verdict{rule: RuleImplicitImport, severity: authz.SeverityError,
		message: fmt.Sprintf("%s is in namespace %s, which this catalog neither owns nor imports.", authz.Quote(value), authz.Quote(ns))}
	if c.implicit == ImplicitWarn {
		v.severity = authz.SeverityWarning
		v.message += fmt.Sprintf(" — declare it: imports: { %s: { permissions: { %s: true } } }", authz.Echo(ns), authz.Quote(value))
		return v
	}
	v.message += " If it belongs to another application, declare it in the catalog's `imports`; as it stands the check will throw at runtime"
	return v
}
