package verify

import (
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Conclude makes the report of what the files said: their findings in the order
// given, then what neither they nor the navigation reference, then the catalog's
// lint (spec: verifier §6, §8).
func Conclude(c *catalog.Catalog, files []FileReport) *Report {
	r := &Report{Issues: []Finding{}, SkippedFiles: []SkippedFile{}, FileCount: len(files)}
	reached := references{c: c, keys: map[string]bool{}, patterns: map[string]bool{}}
	for _, f := range files {
		r.Issues = append(r.Issues, f.Findings...)
		if f.Skipped != nil {
			r.SkippedFiles = append(r.SkippedFiles, *f.Skipped)
		}
		r.Judged = r.Judged.plus(f.Judged)
		for _, key := range f.Keys {
			reached.keys[key] = true
		}
		for _, pattern := range f.Patterns {
			reached.pattern(pattern)
		}
	}
	reached.navigation(c.Navigation())
	r.Issues = append(r.Issues, reached.missing()...)
	for _, issue := range catalog.Lint(c) {
		r.Issues = append(r.Issues, Finding{
			Severity: issue.Severity, Rule: RuleCatalog, File: CatalogFile,
			Message: spell.Echo(issue.Path) + ": " + issue.Message,
		})
	}
	r.ReferencedKeys, r.ReferencedPatterns = sorted(reached.keys), sorted(reached.patterns)
	for _, f := range r.Issues {
		if f.Severity == authz.SeverityError {
			r.ErrorCount++
		} else {
			r.WarningCount++
		}
	}
	return r
}

// references are what call sites and navigation reach.
type references struct {
	c        *catalog.Catalog
	keys     map[string]bool
	patterns map[string]bool
}

func (r *references) pattern(pattern string) {
	if pattern == "" || r.patterns[pattern] { // "" in a list is no more a permission than alone
		return
	}
	r.patterns[pattern] = true
	for _, key := range r.c.KeysMatching(pattern) {
		r.keys[key] = true
	}
}

func (r *references) navigation(items []catalog.NavItem) {
	for _, item := range items {
		if item.AnyOf != nil {
			for _, key := range item.AnyOf {
				r.pattern(key)
			}
		} else {
			r.pattern(item.Permission)
		}
		r.navigation(item.Children)
	}
}

// missing lists the vocabulary that nothing reaches.
func (r *references) missing() []Finding {
	var found []Finding
	warn := func(message string) {
		found = append(found, Finding{Severity: authz.SeverityWarning, Rule: RuleUnreferencedLeaf, File: CatalogFile, Message: message})
	}
	for _, key := range r.c.Keys() {
		switch leaf, _ := r.c.Leaf(key); {
		case r.keys[key] || authz.NamespaceOf(key) == authz.InternalNamespace:
		case leaf.Origin == authz.NamespaceImported:
			warn(staleImport(key))
		default:
			warn(spell.Quote(key) + " is declared but referenced by no gate or nav item — dead permission, or missing enforcement?")
		}
	}
	for _, region := range r.c.Regions() {
		if !r.reach(region.Pattern) {
			warn(staleImport(region.Pattern))
		}
	}
	return found
}

func staleImport(what string) string {
	return spell.Quote(what) + " is imported but referenced by no gate or nav item — stale import?"
}

// reach reports whether a referenced pattern meets the region or a referenced key
// lies in it.
func (r *references) reach(region string) bool {
	for pattern := range r.patterns {
		if authz.Intersects(pattern, region) {
			return true
		}
	}
	for key := range r.keys {
		if strings.HasPrefix(key, strings.TrimSuffix(region, "*")) {
			return true
		}
	}
	return false
}
