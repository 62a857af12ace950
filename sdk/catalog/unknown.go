package catalog

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// UnknownPermission explains a name that the catalog does not know (catalog
// contract §9). It scans the vocabulary: call it only to raise its result.
func (c *Catalog) UnknownPermission(value string, expected authz.Expected) *authz.UnknownPermissionError {
	a := c.advise(value, expected)
	return &authz.UnknownPermissionError{
		Permission:       value,
		Expected:         expected,
		Suggestion:       a.suggestion,
		DidYouMean:       a.didYouMean,
		NamespaceOrigin:  a.origin,
		ImportedPatterns: []string{},
		Message:          a.unknownMessage(value, expected),
	}
}

// ValidateKnownPattern returns nil for a known pattern, else the issue with
// which a write is refused (application contract §1.5). The grammar comes first:
// a malformed pattern should have been refused with its own reason.
func (c *Catalog) ValidateKnownPattern(pattern string) *authz.Issue {
	if c.IsKnownPattern(pattern) {
		return nil
	}
	a := c.advise(pattern, authz.ExpectedPattern)
	message := "pattern " + authz.Quote(pattern) + " references nothing in the catalog"
	if a.suggestion != "" {
		message += " — it is a group, and groups are folders, never keys; the subtree pattern is " + authz.Quote(a.suggestion)
	}
	if len(a.didYouMean) > 0 {
		message += " — did you mean " + oneOf(a.didYouMean) + "?"
	}
	if a.hint != "" {
		message += " (" + a.hint + ")"
	}
	return &authz.Issue{Severity: authz.SeverityError, Path: pattern, Message: message}
}

// advice is what can be said about an unknown name. A suggestion leaves the
// other two empty; didYouMean is never nil.
type advice struct {
	origin     authz.NamespaceOrigin
	suggestion string
	didYouMean []string
	hint       string
}

func (c *Catalog) advise(value string, expected authz.Expected) advice {
	ns := authz.NamespaceOf(value)
	a := advice{origin: c.NamespaceOrigin(ns), didYouMean: []string{}}
	if c.isGroup(value) && !c.IsKnownPattern(value) {
		a.suggestion = authz.SubtreePattern(value)
		return a
	}
	a.didYouMean = c.near(value, expected)
	if a.origin == authz.NamespaceForeign && ns != "" {
		a.hint = "the first segment " + authz.Quote(ns) + " is not a namespace of this catalog — declared namespaces: " +
			strings.Join(c.namespaces, ", ") + ". If this permission belongs to another application, declare it in the catalog's `imports`"
	}
	return a
}

func (a advice) unknownMessage(value string, expected authz.Expected) string {
	named := authz.Quote(value)
	if expected == authz.ExpectedKey {
		switch {
		case a.suggestion != "":
			return named + " is a group, not a permission key — groups are folders, and only leaves are checkable. " +
				"Gate on a concrete key under it, or ask the visibility question with canAny(" + authz.Quote(a.suggestion) + ")."
		case authz.IsWildcard(value):
			return named + " is a pattern, not a permission key — a gate checks one concrete key. " +
				"Use canAny(" + named + ") for the visibility question (never as a gate)."
		}
		return named + " is not a permission key in this catalog" + a.ending()
	}
	if a.suggestion != "" {
		return named + " is a group, not a pattern — groups are folders, never keys, so it matches nothing. " +
			"Did you mean " + authz.Quote(a.suggestion) + "?"
	}
	return named + " is not in this catalog" + a.ending()
}

func (a advice) ending() string {
	ending := " (typo, or an undeclared key)."
	if a.origin == authz.NamespaceForeign {
		ending = ", and belongs to a namespace it neither owns nor imports."
	}
	if len(a.didYouMean) > 0 {
		ending += " Did you mean " + oneOf(a.didYouMean) + "?"
	}
	if a.hint != "" {
		ending += " Note: " + a.hint + "."
	}
	return ending
}

// oneOf lists names of the catalog's own: "a", or "a" or "b", or "a", "b", or
// "c".
func oneOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = `"` + n + `"`
	}
	last := len(quoted) - 1
	switch {
	case last <= 0:
		return strings.Join(quoted, "")
	case last == 1:
		return quoted[0] + " or " + quoted[1]
	}
	return strings.Join(quoted[:last], ", ") + ", or " + quoted[last]
}
