package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
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
	root, err := jsonTree(raw)
	if err != nil || root.kind != objectNode {
		return Document{}, authz.Validation("document must be an object")
	}
	// The version decides what the other members mean, so it comes first.
	version := root.member("formatVersion")
	if version == nil {
		return Document{}, authz.Validation("unknown catalog format null")
	}
	if v, ok := version.integer(); !ok || v != FormatVersion {
		return Document{}, authz.Validation("unknown catalog format %s", spell.Echo(version.json()))
	}
	for m, repeated := range root.named() {
		if repeated {
			return Document{}, authz.Validation("document.%s is given more than once", spell.Echo(m.name))
		}
	}
	for _, name := range []string{"namespaces", "leaves", "groups", "scopeTypes", "navigation"} {
		if list := root.member(name); list == nil || list.kind != arrayNode {
			return Document{}, authz.Validation("document.%s must be an array", name)
		}
	}
	var d Document
	if err := d.readNamespaces(root); err != nil {
		return Document{}, err
	}
	if err := d.readKeys(root.member("leaves").items); err != nil {
		return Document{}, err
	}
	return d, nil
}

func (d *Document) readNamespaces(root *node) error {
	primary := root.member("namespace")
	if primary == nil || primary.kind != stringNode {
		return authz.Validation("document.namespace must be a string")
	}
	d.Namespace = primary.text
	for _, n := range root.member("namespaces").items {
		switch {
		case n.kind != stringNode:
			return authz.Validation("document.namespaces must be an array of strings")
		case !authz.IsSegment(n.text):
			return authz.Validation("document.namespaces: %s is not a single valid segment", spell.Quote(n.text))
		}
		d.Namespaces = append(d.Namespaces, n.text)
	}
	if len(distinct(d.Namespaces)) != len(d.Namespaces) {
		return authz.Validation("document.namespaces names a namespace more than once")
	}
	if !slices.Contains(d.Namespaces, d.Namespace) {
		return authz.Validation("document.namespace %s is not one of document.namespaces", spell.Quote(d.Namespace))
	}
	return nil
}

func (d *Document) readKeys(leaves []*node) error {
	own := make(map[string]bool, len(d.Namespaces))
	for _, ns := range d.Namespaces {
		own[ns] = true
	}
	seen := make(map[string]bool, len(leaves))
	d.Keys = make([]string, 0, len(leaves))
	for _, leaf := range leaves {
		key := leaf.member("key")
		if key == nil || key.kind != stringNode {
			return authz.Validation("document.leaves: every leaf needs a string key")
		}
		ns := authz.NamespaceOf(key.text)
		invalid := authz.ValidateKey(key.text)
		switch {
		case seen[key.text]:
			return authz.Validation("document.leaves: %s is declared twice", spell.Quote(key.text))
		case invalid != nil:
			return authz.Validation("document.leaves: %s: %s", spell.Quote(key.text), invalid.Reason)
		case !own[ns]:
			return authz.Validation("catalog document publishes %s, which is outside its own namespaces [%s] — an application never defines keys in a namespace it does not own",
				spell.Quote(key.text), namespaceList(d.Namespaces))
		case ns == key.text:
			return authz.Validation("document.leaves: %s needs at least two segments", spell.Quote(key.text))
		}
		seen[key.text] = true
		d.Keys = append(d.Keys, key.text)
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
