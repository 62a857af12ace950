package goanalysis

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/sdk/authz"
)

// missing words the absence of a condition; the names are quoted.
func missing(names []string) string {
	verb := " is"
	if len(names) > 1 {
		verb = " are"
	}
	return strings.Join(names, " or ") + verb + " declared `requiresCondition: true` — pass the application's predicate, " +
		"as in client.Gate's Condition or `{ condition: () => … }`; without one the check is a MissingConditionError"
}

// fixes replace a string literal by each of the alternatives, in its own
// quotes. What is not spelled as one literal has no text to replace; and where
// one key is asked for, a wildcard would be wrong again.
func fixes(node ast.Expr, instead []string, wildcards bool) []analysis.SuggestedFix {
	lit, ok := ast.Unparen(node).(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil
	}
	var out []analysis.SuggestedFix
	for _, name := range instead {
		if authz.IsWildcard(name) && !wildcards {
			continue
		}
		text := strconv.Quote(name)
		if strings.HasPrefix(lit.Value, "`") {
			text = "`" + name + "`"
		}
		out = append(out, analysis.SuggestedFix{
			Message:   "Replace with " + text,
			TextEdits: []analysis.TextEdit{{Pos: lit.Pos(), End: lit.End(), NewText: []byte(text)}},
		})
	}
	return out
}

// pathOf is the path that a file is matched with.
func (c *Checker) pathOf(name string) string { return below(c.dir, name) }

// shownAs is the path that a file is reported by.
func (c *Checker) shownAs(name string) string {
	if c.shown != "" {
		return below(c.shown, name)
	}
	return c.pathOf(name)
}

// below is a path relative to a folder that it lies in.
func below(dir, name string) string {
	if dir != "" {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	return filepath.ToSlash(name)
}

// excluded never looks at the folders above Dir: where a project is checked out
// says nothing about it.
func (c *Checker) excluded(path string) bool {
	return !filepath.IsAbs(path) && slices.ContainsFunc(c.exclude, func(part string) bool { return part != "" && strings.Contains(path, part) })
}
