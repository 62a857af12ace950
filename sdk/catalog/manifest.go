package catalog

import "github.com/authzhost/authz/sdk/authz"

// wireManifest is the import manifest (spec: catalog §7), members in its
// order.
type wireManifest struct {
	FormatVersion int          `json:"formatVersion"`
	Namespace     string       `json:"namespace"`
	Imports       []wireImport `json:"imports"`
}

type wireImport struct {
	Namespace  string      `json:"namespace"`
	From       string      `json:"from,omitempty"`
	Enumerated bool        `json:"enumerated"`
	Entries    []wireEntry `json:"entries"`
	Keys       []string    `json:"keys"`
	Regions    []string    `json:"regions"`
	Strict     bool        `json:"strict"`
}

type wireEntry struct {
	Pattern           string   `json:"pattern"`
	Scopes            []string `json:"scopes"`
	RequiresCondition bool     `json:"requiresCondition,omitempty"`
}

// Manifest writes the import manifest, what the catalog references and does not
// own: the same bytes for the same declaration, without HTML escaping. It is nil
// for a catalog that imports nothing.
func (c *Catalog) Manifest() ([]byte, error) {
	if len(c.imports) == 0 {
		return nil, nil
	}
	m := wireManifest{FormatVersion: FormatVersion, Namespace: c.Namespace()}
	for _, im := range c.imports {
		w := wireImport{
			Namespace: im.namespace, From: im.from, Enumerated: im.enumerated, Strict: im.strict,
			Entries: []wireEntry{}, Keys: im.keys(), Regions: []string{},
		}
		for _, e := range im.entries {
			w.Entries = append(w.Entries, wireEntry{Pattern: e.Key, Scopes: e.scopes, RequiresCondition: e.RequiresCondition})
		}
		for _, r := range im.open {
			w.Regions = append(w.Regions, r.Pattern)
		}
		m.Imports = append(m.Imports, w)
	}
	return authz.Marshal(m)
}
