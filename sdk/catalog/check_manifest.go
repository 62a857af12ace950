package catalog

import (
	"encoding/json"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// ManifestHead is what a published import manifest says it is about.
type ManifestHead struct {
	Namespace string
	Imported  []string // in manifest order, never nil
}

// CheckManifest tests whether an import manifest may be published
// (spec: application §13): its format, its required members, and that its
// namespaces, entries, keys and regions are well formed, distinct and within each
// other. It does not rebuild the catalog. The error is a
// *authz.WriteRejectedError with CodeValidation.
func CheckManifest(raw json.RawMessage) (ManifestHead, error) {
	root, err := jsonTree(raw)
	if err != nil || root.kind != objectNode {
		return ManifestHead{}, authz.Validation("manifest must be an object")
	}
	// The version decides what the other members mean, so it comes first.
	if version := root.member("formatVersion"); version == nil || !isFormatVersion(version) {
		return ManifestHead{}, authz.Validation("unknown import manifest format %s", versionText(version))
	}
	if err := noRepeats(root, "manifest"); err != nil {
		return ManifestHead{}, err
	}
	head := ManifestHead{Imported: []string{}}
	namespace := root.member("namespace")
	if namespace == nil || !authz.IsSegment(namespace.string()) {
		return ManifestHead{}, authz.Validation("manifest.namespace must be a single valid segment")
	}
	head.Namespace = namespace.string()
	imports := root.member("imports")
	if imports == nil || imports.kind != arrayNode {
		return ManifestHead{}, authz.Validation("manifest.imports must be an array")
	}
	seen := make(map[string]bool, len(imports.items))
	for _, n := range imports.items {
		ns := n.member("namespace")
		switch {
		case ns == nil || ns.kind != stringNode:
			return ManifestHead{}, authz.Validation("manifest.imports: every import needs a string namespace")
		case ns.text == head.Namespace:
			return ManifestHead{}, authz.Validation("manifest declares an import of %s, which is the publishing application's own namespace",
				spell.Quote(ns.text))
		case seen[ns.text]:
			return ManifestHead{}, authz.Validation("manifest.imports names %s more than once", spell.Quote(ns.text))
		}
		if f := importNamespaceFault(ns.text, false); f != nil {
			return ManifestHead{}, authz.Validation("manifest.imports: %s: %s", spell.Quote(ns.text), f.problem)
		}
		if err := checkImport(ns.text, n); err != nil {
			return ManifestHead{}, err
		}
		seen[ns.text] = true
		head.Imported = append(head.Imported, ns.text)
	}
	return head, nil
}

func noRepeats(n *node, what string) error {
	for m, repeated := range n.named() {
		if repeated {
			return authz.Validation("%s.%s is given more than once", what, spell.Echo(m.name))
		}
	}
	return nil
}

// checkImport judges one import. The order of the checks is that of the members
// (spec: catalog §7).
func checkImport(ns string, n *node) error {
	where := "manifest.imports." + ns
	if err := noRepeats(n, where); err != nil {
		return err
	}
	if from := n.member("from"); from != nil && from.kind != stringNode {
		return authz.Validation("%s.from must be a string", where)
	}
	if enumerated := n.member("enumerated"); enumerated == nil || enumerated.kind != boolNode {
		return authz.Validation("%s.enumerated must be a boolean", where)
	}
	if strict := n.member("strict"); strict != nil && strict.kind != boolNode {
		return authz.Validation("%s.strict must be a boolean", where)
	}
	entries := n.member("entries")
	if entries == nil || entries.kind != arrayNode {
		return authz.Validation("%s.entries must be an array", where)
	}
	patterns := make([]string, len(entries.items))
	for i, entry := range entries.items {
		pattern, scopes := entry.member("pattern"), entry.member("scopes")
		if pattern == nil || pattern.kind != stringNode {
			return authz.Validation("%s.entries: every entry needs a string pattern", where)
		}
		if scopes == nil || !isTexts(scopes) {
			return authz.Validation("%s.entries: the scopes of %s must be an array of strings", where, spell.Quote(pattern.text))
		}
		patterns[i] = pattern.text
	}
	if err := checkImported(ns, where+".entries", patterns, authz.ValidatePattern); err != nil {
		return err
	}
	for _, list := range []struct {
		name  string
		check func(string) *authz.GrammarError
	}{{"keys", authz.ValidateKey}, {"regions", validateRegion}} {
		values := n.member(list.name)
		if values == nil || !isTexts(values) {
			return authz.Validation("%s.%s must be an array of strings", where, list.name)
		}
		names, _ := values.strings()
		if err := checkImported(ns, where+"."+list.name, names, list.check); err != nil {
			return err
		}
	}
	return nil
}

func isTexts(n *node) bool {
	_, ok := n.strings()
	return ok
}

// checkImported wants names of the grammar, within the namespace, each once.
func checkImported(ns, where string, names []string, grammar func(string) *authz.GrammarError) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		problem := ""
		if invalid := grammar(name); invalid != nil {
			problem = invalid.Reason
		} else if f := entryFault(ns, name); f != nil {
			problem = f.problem
		} else if seen[name] {
			problem = "is given more than once"
		}
		if problem != "" {
			return authz.Validation("%s: %s: %s", where, spell.Quote(name), problem)
		}
		seen[name] = true
	}
	return nil
}
