package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// Document is what a published catalog document says it owns.
type Document struct {
	Namespace  string
	Namespaces []string
	Keys       []string // in document order
}

// CheckDocument tests whether a document may be published
// (spec: application §13): its format, its required members, and that its
// namespaces and keys are well formed, distinct and within each other. It does
// not rebuild the catalog. The error is a *authz.WriteRejectedError with
// CodeValidation.
func CheckDocument(raw json.RawMessage) (Document, error) {
	root, err := text.JSON(raw)
	if err != nil || root.Kind != text.Object {
		return Document{}, authz.Validation("document must be an object")
	}
	// The version decides what the other members mean, so it comes first.
	if version, known := formatOf(root); !known {
		return Document{}, authz.Validation("unknown catalog format %s", version)
	}
	if err := noRepeats(root, "document"); err != nil {
		return Document{}, err
	}
	for _, name := range []string{"namespaces", "leaves", "groups", "scopeTypes", "navigation"} {
		if list := root.Member(name); list == nil || list.Kind != text.Array {
			return Document{}, authz.Validation("document.%s must be an array", name)
		}
	}
	var d Document
	if err := d.readNamespaces(root); err != nil {
		return Document{}, err
	}
	if err := d.readKeys(root.Member("leaves").Items); err != nil {
		return Document{}, err
	}
	return d, nil
}

func (d *Document) readNamespaces(root *text.Value) error {
	primary := root.Member("namespace")
	if primary == nil || primary.Kind != text.String {
		return authz.Validation("document.namespace must be a string")
	}
	d.Namespace = primary.Text
	for _, n := range root.Member("namespaces").Items {
		switch {
		case n.Kind != text.String:
			return authz.Validation("document.namespaces must be an array of strings")
		case !authz.IsSegment(n.Text):
			return authz.Validation("document.namespaces: %s is not a single valid segment", spell.Quote(n.Text))
		}
		d.Namespaces = append(d.Namespaces, n.Text)
	}
	if len(distinct(d.Namespaces)) != len(d.Namespaces) {
		return authz.Validation("document.namespaces names a namespace more than once")
	}
	if !slices.Contains(d.Namespaces, d.Namespace) {
		return authz.Validation("document.namespace %s is not one of document.namespaces", spell.Quote(d.Namespace))
	}
	return nil
}

func (d *Document) readKeys(leaves []*text.Value) error {
	own := make(map[string]bool, len(d.Namespaces))
	for _, ns := range d.Namespaces {
		own[ns] = true
	}
	seen := make(map[string]bool, len(leaves))
	d.Keys = make([]string, 0, len(leaves))
	for _, leaf := range leaves {
		key := leaf.Member("key")
		if key == nil || key.Kind != text.String {
			return authz.Validation("document.leaves: every leaf needs a string key")
		}
		ns := authz.NamespaceOf(key.Text)
		invalid := authz.ValidateKey(key.Text)
		switch {
		case seen[key.Text]:
			return authz.Validation("document.leaves: %s is declared twice", spell.Quote(key.Text))
		case invalid != nil:
			return authz.Validation("document.leaves: %s: %s", spell.Quote(key.Text), invalid.Reason)
		case !own[ns]:
			return authz.Validation("catalog document publishes %s, which is outside its own namespaces [%s] — an application never defines keys in a namespace it does not own",
				spell.Quote(key.Text), namespaceList(d.Namespaces))
		case ns == key.Text:
			return authz.Validation("document.leaves: %s needs at least two segments", spell.Quote(key.Text))
		}
		seen[key.Text] = true
		d.Keys = append(d.Keys, key.Text)
	}
	return nil
}

// maxListed bounds how many namespaces a message repeats.
const maxListed = 8

func namespaceList(namespaces []string) string {
	shown := namespaces[:min(len(namespaces), maxListed)]
	echoed := make([]string, len(shown))
	for i, ns := range shown {
		echoed[i] = spell.Echo(ns)
	}
	list := strings.Join(echoed, ", ")
	if len(shown) < len(namespaces) {
		list += ", …"
	}
	return list
}
