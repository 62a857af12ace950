package catalog

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// place is where something begins in a text, counted from 1. Zero is nowhere.
type place struct{ line, column int }

// source remembers where the entries of a declaration lie. A nil one is that of a
// published document: no place is known, and unknown members are ignored there.
type source struct {
	places map[string]place
}

// The prefixes under which entries lie that issues name without one.
const (
	leafPlace       = "leaf "
	againPlace      = "again " // a leaf that was declared before
	navigationPlace = "navigation "
	scopeTypePlace  = "scopeTypes."
	groupPlace      = "groups."
	importPlace     = "imports."
)

func newSource() *source { return &source{places: map[string]place{}} }

// note remembers the first place of a path.
func (s *source) note(path string, at place) {
	if s == nil {
		return
	}
	if _, known := s.places[path]; !known {
		s.places[path] = at
	}
}

func (s *source) noteLeaf(m member) {
	if s == nil {
		return
	}
	if _, known := s.places[leafPlace+m.name]; known {
		s.note(againPlace+m.name, m.at)
	}
	s.note(leafPlace+m.name, m.at)
}

// within finds a path, or the nearest that it lies in.
func (s *source) within(path string) (place, bool) {
	for path != "" {
		if at, ok := s.places[path]; ok {
			return at, true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return place{}, false
}

// find is where an issue lies that was found without looking at the text; at
// worst where the declaration begins.
func (s *source) find(issue authz.Issue) place {
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
		if at, ok := s.places[prefix+issue.Path]; ok {
			return at
		}
	}
	switch issue.Code {
	case CodeNoNamespace, CodeBadNamespace, CodeReservedNamespace:
		issue.Path = "namespaces"
	case CodeBadDepth:
		issue.Path = "conventions.depth"
	}
	if at, ok := s.within(strings.Trim(issue.Path, "()")); ok {
		return at
	}
	return place{line: 1, column: 1}
}

// Locate returns issues with the place in the declaration's text that each is
// about. Those of a declaration that was no text stay as they are.
func (in *Input) Locate(found []authz.Issue) []authz.Issue {
	if in.source == nil {
		return found
	}
	located := make([]authz.Issue, len(found))
	for i, issue := range found {
		if issue.Line == 0 {
			at := in.source.find(issue)
			issue.Line, issue.Column = at.line, at.column
		}
		located[i] = issue
	}
	return located
}
