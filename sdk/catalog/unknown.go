package catalog

import (
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// UnknownPermission explains a name that the catalog does not know
// (spec: catalog §9). It scans the vocabulary: call it only to raise its result.
func (c *Catalog) UnknownPermission(value string, expected authz.Expected) *authz.UnknownPermissionError {
	a := c.advise(value, expected)
	return &authz.UnknownPermissionError{
		Permission:       value,
		Expected:         expected,
		Suggestion:       a.suggestion,
		DidYouMean:       a.didYouMean,
		NamespaceOrigin:  a.origin,
		ImportedPatterns: a.imported,
		Message:          a.unknownMessage(value, expected),
	}
}

// Advice is what can be said about a name that the catalog does not know
// (spec: catalog §9.1). With a Suggestion there is nothing else.
type Advice struct {
	Suggestion string   // the subtree wildcard of the group that the name is
	DidYouMean []string // the nearest names, closest first, at most three
	Hint       string
}

// List renders DidYouMean: "a", or "a" or "b", or "a", "b", or "c".
func (a Advice) List() string { return oneOf(a.DidYouMean) }

// Advise explains an unknown name to whoever words the message. Names in more
// join the keys that may be offered; the scan costs as in UnknownPermission.
func (c *Catalog) Advise(value string, expected authz.Expected, more []string) Advice {
	a := c.advise(value, expected, more...)
	return Advice{Suggestion: a.suggestion, DidYouMean: a.didYouMean, Hint: a.hint}
}

// ValidateKnownPattern returns nil for a known pattern, else the issue with
// which a write is refused (spec: application §1.5). The grammar comes first:
// a malformed pattern should have been refused with its own reason.
func (c *Catalog) ValidateKnownPattern(pattern string) *authz.Issue {
	if c.IsKnownPattern(pattern) {
		return nil
	}
	a := c.advise(pattern, authz.ExpectedPattern)
	message := "pattern " + spell.Quote(pattern) + " references nothing in the catalog"
	if a.suggestion != "" {
		message += " — it is a group, and groups are folders, never keys; the subtree pattern is " + spell.Quote(a.suggestion)
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
// names and the hint empty; the lists are never nil.
type advice struct {
	origin     authz.NamespaceOrigin
	imported   []string // the entries of the import, in declaration order
	suggestion string
	didYouMean []string
	hint       string
}

func (c *Catalog) advise(value string, expected authz.Expected, more ...string) advice {
	ns := authz.NamespaceOf(value)
	a := advice{origin: c.NamespaceOrigin(ns), imported: []string{}, didYouMean: []string{}}
	im := c.importOf[ns]
	if im != nil {
		a.imported = im.patterns()
	}
	if c.isGroup(value) && !c.IsKnownPattern(value) && c.IsKnownPattern(authz.SubtreePattern(value)) {
		a.suggestion = authz.SubtreePattern(value)
		return a
	}
	a.didYouMean = c.near(value, expected, more...)
	switch {
	case im != nil:
		a.hint = im.hint(expected)
	case a.origin == authz.NamespaceForeign && ns != "":
		a.hint = c.foreignHint(ns)
	}
	return a
}

func (im *imported) hint(expected authz.Expected) string {
	covers := "nothing"
	if len(im.entries) > 0 {
		covers = strings.Join(im.patterns(), ", ")
	}
	return `"` + im.namespace + `" is imported by this catalog, but this ` + string(expected) + " is outside what it covers (imported: " + covers +
		") — add the key or widen the pattern in `imports." + im.namespace + ".permissions`"
}

func (c *Catalog) foreignHint(ns string) string {
	hint := "the first segment " + spell.Quote(ns) + " is not a namespace of this catalog — declared namespaces: " + strings.Join(c.namespaces, ", ")
	if len(c.imports) == 0 {
		return hint + ". If this permission belongs to another application, declare it in the catalog's `imports`"
	}
	imports := make([]string, len(c.imports))
	for i, im := range c.imports {
		imports[i] = im.namespace
	}
	return hint + "; this catalog imports " + strings.Join(imports, ", ") + " — add " + spell.Quote(ns) + " to `imports` to reference it"
}

func (a advice) unknownMessage(value string, expected authz.Expected) string {
	named := spell.Quote(value)
	if expected == authz.ExpectedKey {
		switch {
		case a.suggestion != "":
			return named + " is a group, not a permission key — groups are folders, and only leaves are checkable. " +
				"Gate on a concrete key under it, or ask the visibility question with canAny(" + spell.Quote(a.suggestion) + ")."
		case authz.IsWildcard(value):
			return named + " is a pattern, not a permission key — a gate checks one concrete key. " +
				"Use canAny(" + named + ") for the visibility question (never as a gate)."
		}
		if a.origin == authz.NamespaceImported {
			return named + notCovered + a.extras()
		}
		return named + " is not a permission key in this catalog" + a.ending()
	}
	if a.suggestion != "" {
		return named + " is a group, not a pattern — groups are folders, never keys, so it matches nothing. " +
			"Did you mean " + spell.Quote(a.suggestion) + "?"
	}
	if a.origin == authz.NamespaceImported {
		return named + notCovered + a.extras()
	}
	return named + " is not in this catalog" + a.ending()
}

const notCovered = " is not covered by this catalog's import of that namespace."

func (a advice) ending() string {
	ending := " (typo, or an undeclared key)."
	if a.origin == authz.NamespaceForeign {
		ending = ", and belongs to a namespace it neither owns nor imports."
	}
	return ending + a.extras()
}

func (a advice) extras() string {
	extras := ""
	if len(a.didYouMean) > 0 {
		extras += " Did you mean " + oneOf(a.didYouMean) + "?"
	}
	if a.hint != "" {
		extras += " Note: " + a.hint + "."
	}
	return extras
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
