package codegen

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/authzhost/authz/sdk/catalog"
)

// document is what the text depends on, each list ascending by byte.
type document struct {
	namespace  string
	keys       []string
	wildcards  []string // "<group path>.*"
	scopeTypes []string
}

// read checks the document as a catalog reader does and then takes its entries as
// they stand, without what the reader adds to them. The error is the reader's, an
// *authz.CatalogError.
func read(raw json.RawMessage) (*document, error) {
	if _, err := catalog.FromDocument(raw, catalog.DocumentOptions{}); err != nil {
		return nil, err
	}
	// Maps, because struct fields would also match members in another case.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	d := &document{}
	if err := json.Unmarshal(members["namespace"], &d.namespace); err != nil {
		return nil, fmt.Errorf("reading the document's namespace: %w", err)
	}
	for _, list := range []struct {
		name, member, suffix string
		into                 *[]string
	}{
		{"leaves", "key", "", &d.keys},
		{"groups", "path", ".*", &d.wildcards},
		{"scopeTypes", "type", "", &d.scopeTypes},
	} {
		var entries []map[string]any
		if given, ok := members[list.name]; ok {
			if err := json.Unmarshal(given, &entries); err != nil {
				return nil, fmt.Errorf("reading the document's %s: %w", list.name, err)
			}
		}
		for _, entry := range entries {
			value, _ := entry[list.member].(string)
			*list.into = append(*list.into, value+list.suffix)
		}
		slices.Sort(*list.into)
	}
	return d, nil
}
