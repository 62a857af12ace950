package catalog

import (
	"encoding/json"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
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
	root, err := text.JSON(raw)
	if err != nil || root.Kind != text.Object {
		return ManifestHead{}, authz.Validation("manifest must be an object")
	}
	// The version decides what the other members mean, so it comes first.
	if version, known := formatOf(root); !known {
		return ManifestHead{}, authz.Validation("unknown import manifest format %s", version)
	}
	if err := noRepeats(root, "manifest"); err != nil {
		return ManifestHead{}, err
	}
	head := ManifestHead{Imported: []string{}}
	namespace := root.Member("namespace")
	if namespace == nil || !authz.IsSegment(namespace.AsString()) {
		return ManifestHead{}, authz.Validation("manifest.namespace must be a single valid segment")
	}
	head.Namespace = namespace.AsString()
	imports := root.Member("imports")
	if imports == nil || imports.Kind != text.Array {
		return ManifestHead{}, authz.Validation("manifest.imports must be an array")
	}
	seen := make(map[string]bool, len(imports.Items))
	for _, n := range imports.Items {
		ns := n.Member("namespace")
		switch {
		case ns == nil || ns.Kind != text.String:
			return ManifestHead{}, authz.Validation("manifest.imports: every import needs a string namespace")
		case ns.Text == head.Namespace:
			return ManifestHead{}, authz.Validation("manifest declares an import of %s, which is the publishing application's own namespace",
				spell.Quote(ns.Text))
		case seen[ns.Text]:
			return ManifestHead{}, authz.Validation("manifest.imports names %s more than once", spell.Quote(ns.Text))
		}
		if f := importNamespaceFault(ns.Text, false); f != nil {
			return ManifestHead{}, authz.Validation("manifest.imports: %s: %s", spell.Quote(ns.Text), f.problem)
		}
		if err := checkImport(ns.Text, n); err != nil {
			return ManifestHead{}, err
		}
		seen[ns.Text] = true
		head.Imported = append(head.Imported, ns.Text)
	}
	return head, nil
}

func noRepeats(n *text.Value, what string) error {
	for m, repeated := range n.Named() {
		if repeated {
			return authz.Validation("%s.%s is given more than once", what, spell.Echo(m.Name))
		}
	}
	return nil
}

// checkImport judges one import. The order of the checks is that of the members
// (spec: catalog §7).
func checkImport(ns string, n *text.Value) error {
	where := "manifest.imports." + ns
	if err := noRepeats(n, where); err != nil {
		return err
	}
	if from := n.Member("from"); from != nil && from.Kind != text.String {
		return authz.Validation("%s.from must be a string", where)
	}
	if enumerated := n.Member("enumerated"); enumerated == nil || enumerated.Kind != text.Bool {
		return authz.Validation("%s.enumerated must be a boolean", where)
	}
	if strict := n.Member("strict"); strict != nil && strict.Kind != text.Bool {
		return authz.Validation("%s.strict must be a boolean", where)
	}
	entries := n.Member("entries")
	if entries == nil || entries.Kind != text.Array {
		return authz.Validation("%s.entries must be an array", where)
	}
	patterns := make([]string, len(entries.Items))
	for i, entry := range entries.Items {
		pattern, scopes := entry.Member("pattern"), entry.Member("scopes")
		if pattern == nil || pattern.Kind != text.String {
			return authz.Validation("%s.entries: every entry needs a string pattern", where)
		}
		if scopes == nil || !isTexts(scopes) {
			return authz.Validation("%s.entries: the scopes of %s must be an array of strings", where, spell.Quote(pattern.Text))
		}
		patterns[i] = pattern.Text
	}
	if err := checkImported(ns, where+".entries", patterns, authz.ValidatePattern); err != nil {
		return err
	}
	for _, list := range []struct {
		name  string
		check func(string) *authz.GrammarError
	}{{"keys", authz.ValidateKey}, {"regions", validateRegion}} {
		values := n.Member(list.name)
		if values == nil || !isTexts(values) {
			return authz.Validation("%s.%s must be an array of strings", where, list.name)
		}
		names, _ := values.AsStrings()
		if err := checkImported(ns, where+"."+list.name, names, list.check); err != nil {
			return err
		}
	}
	return nil
}

func isTexts(n *text.Value) bool {
	_, ok := n.AsStrings()
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
