package catalog

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// The prefixes under which entries lie that issues name without one.
const (
	leafPlace       = "leaf "
	againPlace      = "again " // a leaf that was declared before
	navigationPlace = "navigation "
	scopeTypePlace  = "scopeTypes."
	groupPlace      = "groups."
	importPlace     = "imports."
)

func noteLeaf(places text.Places, m text.Member) {
	if _, known := places[leafPlace+m.Name]; known {
		places.Note(againPlace+m.Name, m.At)
	}
	places.Note(leafPlace+m.Name, m.At)
}

// placeOf is where an issue lies that was found without looking at the text; at
// worst where the declaration begins.
func placeOf(issue authz.Issue, places text.Places) text.Place {
	var prefixes []string
	switch issue.Code {
	case CodeDuplicateKey:
		prefixes = []string{againPlace, leafPlace}
	case CodeBadScopeType, CodeScopeTypeNamespace, CodeUnknownParent, CodeParentCycle, CodeBadRequestable:
		prefixes = []string{scopeTypePlace}
	default:
		prefixes = []string{leafPlace, groupPlace, scopeTypePlace, importPlace, navigationPlace}
	}
	for _, prefix := range prefixes {
		if at, ok := places[prefix+issue.Path]; ok {
			return at
		}
	}
	switch issue.Code {
	case CodeNoNamespace, CodeBadNamespace, CodeReservedNamespace:
		issue.Path = "namespaces"
	case CodeBadDepth:
		issue.Path = "conventions.depth"
	}
	if at, ok := places.Within(strings.Trim(issue.Path, "()")); ok {
		return at
	}
	return text.Place{Line: 1, Column: 1}
}

// Locate returns issues with the place in the declaration's text that each is
// about. Those of a declaration that was no text stay as they are.
func (in *Input) Locate(found []authz.Issue) []authz.Issue {
	if in.places == nil {
		return found
	}
	located := make([]authz.Issue, len(found))
	for i, issue := range found {
		if issue.Line == 0 {
			at := placeOf(issue, in.places)
			issue.Line, issue.Column = at.Line, at.Column
		}
		located[i] = issue
	}
	return located
}
