package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Lint reports what builds but breaks the conventions, in the order of the rules
// (spec: catalog §10): depth of every key, groups with their leaves, navigation,
// scope types. Imported leaves and groups are their owner's matter.
func Lint(c *Catalog) []authz.Issue {
	l := linter{c: c}
	l.depth()
	for _, path := range c.groupPaths {
		if g := c.groups[path]; g.Origin == authz.NamespaceOwned {
			l.group(g)
		}
	}
	l.navigation(c.navigation)
	for _, t := range c.scopeTypes {
		l.requestable(t)
	}
	return l.issues
}

type linter struct {
	c      *Catalog
	issues []authz.Issue
}

func (l *linter) fail(path, message string) {
	l.issues = append(l.issues, authz.Issue{Severity: authz.SeverityError, Path: path, Message: message})
}

func (l *linter) warn(path, message string) {
	l.issues = append(l.issues, authz.Issue{Severity: authz.SeverityWarning, Path: path, Message: message})
}

func (l *linter) depth() {
	if l.c.depth.AnyDepth {
		return
	}
	want := l.c.depth.Depth
	for _, key := range l.c.keys {
		levels := strings.Count(key, ".") + 1
		if l.c.leaves[key].Origin != authz.NamespaceOwned || authz.NamespaceOf(key) == authz.InternalNamespace || int64(levels) == want {
			continue
		}
		n := strconv.Itoa(levels)
		l.fail(key, "is "+n+" levels deep; this catalog's convention is "+strconv.FormatInt(want, 10)+
			" — set `conventions: { depth: "+n+" }` or `\"any\"` to opt out")
	}
}

func (l *linter) group(g *Folder) {
	if len(g.Permissions) == 0 {
		if len(g.Groups) == 0 {
			l.fail(g.Path, "empty group: declare permissions or remove it")
		}
		return
	}
	if !slices.ContainsFunc(g.Permissions, func(key string) bool { return l.c.leaves[key].Kind == KindRead }) {
		l.fail(g.Path, "below the naming floor: a group that carries permissions has at least one of kind read (`read` or `read_<thing>`)")
	}
	for _, key := range g.Permissions {
		switch leaf := l.c.leaves[key]; {
		case leaf.Kind == KindRead && !isReadName(leaf.Name):
			l.warn(key, "read permissions are `read` or `read_<thing>` in snake_case")
		case leaf.Kind == KindAction && !isActionName(leaf.Name):
			l.warn(key, "actions are named `<verb>_<noun>` in snake_case (some stand alone, e.g. `delete`)")
		}
	}
}

// isReadName is ^read(_[a-z0-9_]+)?$.
func isReadName(name string) bool {
	rest, ok := strings.CutPrefix(name, "read")
	if !ok || rest == "" {
		return ok
	}
	return len(rest) > 1 && rest[0] == '_' && isSnake(rest[1:])
}

// isActionName is ^[a-z]+(_[a-z0-9]+)+$, or one of the actions that stand alone.
func isActionName(name string) bool {
	switch name {
	case "approve", "archive", "create", "delete", "export", "import", "issue", "manage", "publish", "revoke", "update", "view_as":
		return true
	}
	verb, noun, ok := strings.Cut(name, "_")
	if !ok || verb == "" || !isSnake(verb) || strings.ContainsAny(verb, "0123456789") {
		return false
	}
	for word := range strings.SplitSeq(noun, "_") {
		if word == "" || !isSnake(word) {
			return false
		}
	}
	return true
}

func isSnake(s string) bool {
	for _, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

func (l *linter) navigation(items []NavItem) {
	for _, item := range items {
		switch {
		case item.AnyOf == nil:
			l.reference(item.Label, item.Permission)
		case len(item.AnyOf) == 0:
			l.fail(item.Label, "nav permission is empty")
		}
		for _, key := range item.AnyOf {
			if authz.IsWildcard(key) {
				l.fail(item.Label, "nav permission "+spell.Quote(key)+" is not a valid key: an any-of names keys only")
				continue
			}
			l.reference(item.Label, key)
		}
		l.navigation(item.Children)
	}
}

// reference checks one key or pattern of a navigation entry.
func (l *linter) reference(label, pattern string) {
	named := "nav permission " + spell.Quote(pattern)
	switch invalid := authz.ValidatePattern(pattern); {
	case pattern == "":
		l.fail(label, "nav permission is empty")
	case invalid != nil:
		l.fail(label, named+" is not a valid key or pattern: "+invalid.Reason)
	case !l.c.IsKnownPattern(pattern):
		l.fail(label, named+" references nothing in the catalog")
	case authz.IsWildcard(pattern) && len(l.c.KeysMatching(pattern)) == 0 && len(l.c.OpaqueRegions(pattern)) == 0:
		l.warn(label, named+" currently matches no keys")
	}
}

func (l *linter) requestable(t ScopeType) {
	if t.Requestable == nil {
		return
	}
	if len(t.Requestable.Stages) == 0 {
		l.fail(t.Type, "requestable without a resolvable policy: declare at least one approval stage")
	}
	for _, pattern := range t.Requestable.Patterns {
		if !l.c.IsKnownPattern(pattern) {
			l.fail(t.Type, "requestable.patterns: "+spell.Quote(pattern)+" references nothing in the catalog")
		}
	}
}
