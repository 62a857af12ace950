package catalog

import (
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// Documents and manifests come from elsewhere. These bounds keep a short one of
// deep keys from unfolding into a huge catalog.
const (
	maxPublishedKey = 1024    // bytes of a key or pattern
	maxGroups       = 1 << 20 // groups that the keys of one document lie in
)

const keyTooLong = "is longer than 1024 bytes"

// ownerDocument is a catalog document that was read and found sound.
type ownerDocument struct {
	namespace  string
	namespaces []string
	leaves     []*Leaf // in document order
	leafOf     map[string]*Leaf
	groups     []documentGroup
	rest       Input // scope types, navigation, conventions, constraints
}

// documentGroup is an entry of a document's groups.
type documentGroup struct {
	path        string
	meta        GroupInput
	groups      []string
	permissions []string
}

// groupMeta is what the document says of each group.
func (d *ownerDocument) groupMeta() map[string]GroupInput {
	meta := make(map[string]GroupInput, len(d.groups))
	for _, g := range d.groups {
		meta[g.path] = g.meta
	}
	return meta
}

// documentReader reads one document, which is untrusted, and collects what is
// wrong with it under the paths of issues (spec: catalog §8).
type documentReader struct {
	root   *text.Value
	issues issues
	doc    ownerDocument

	keys   map[string]bool // of every leaf that has one, sound or not
	groups map[string]bool // listed group paths
}

// readDocument reads a catalog document. Either the document is nil or there are
// no issues.
func readDocument(raw json.RawMessage) (*ownerDocument, []authz.Issue) {
	r := &documentReader{keys: map[string]bool{}, groups: map[string]bool{}}
	root, problem := documentTree(raw)
	if problem != "" {
		r.issues.add(CodeBadDocument, pathCatalog, problem)
		return nil, r.issues.list
	}
	r.root = root
	r.doc.namespace = r.member("namespace").AsString()
	if version, known := formatOf(root); !known {
		r.add(CodeUnknownFormat, "unknown catalog format "+version)
		return nil, r.issues.list
	}
	r.leaves()
	r.leavesAgainstGroups()
	r.parentCycles()
	if len(r.issues.list) == 0 {
		r.everythingElse()
	}
	if len(r.issues.list) > 0 {
		return nil, r.issues.list
	}
	return &r.doc, nil
}

// documentTree reads what must be one JSON object.
func documentTree(raw json.RawMessage) (root *text.Value, problem string) {
	if len(raw) > MaxInputBytes {
		return nil, "the document is too long"
	}
	root, err := formatJSON.tree(raw)
	if err != nil {
		return nil, err.Error()
	}
	if root.Kind != text.Object {
		return nil, "the document must be an object — got " + root.Echo()
	}
	return root, ""
}

// formatOf is the version of a document or manifest as a message tells it, and
// whether it is the one that is written here.
func formatOf(root *text.Value) (version string, known bool) {
	v := root.Member("formatVersion")
	if v == nil {
		return "null", false
	}
	number, whole := v.AsInteger()
	return v.Echo(), whole && number == FormatVersion
}

// member returns the named member, or a null.
func (r *documentReader) member(name string) *text.Value {
	if n := r.root.Member(name); n != nil {
		return n
	}
	return &text.Value{}
}

// items are the elements of an array member; everythingElse reports what is no
// array.
func (r *documentReader) items(name string) []*text.Value { return r.member(name).Items }

// add reports under the document's namespace, addAt under what is at fault.
func (r *documentReader) add(code, message string) { r.addAt(code, r.doc.namespace, message) }

func (r *documentReader) addAt(code, path, message string) {
	r.issues.add(code, spell.Echo(path), message)
}

// leaves is step 2, the first failure of each leaf only.
func (r *documentReader) leaves() {
	own := map[string]bool{authz.InternalNamespace: true}
	for _, n := range r.items("namespaces") {
		own[n.AsString()] = true
	}
	for _, n := range r.items("leaves") {
		key, ok := n.StringMember("key")
		if !ok {
			r.add(CodeMissingKey, "every leaf needs a string key")
			continue
		}
		invalid, repeated := authz.ValidateKey(key), r.keys[key]
		r.keys[key] = true
		switch ns := authz.NamespaceOf(key); {
		case len(key) > maxPublishedKey:
			r.addAt(CodeBadKey, key, keyTooLong)
		case repeated:
			r.addAt(CodeDuplicateKey, key, "is declared twice — a duplicate would silently replace the first")
		case invalid != nil:
			r.addAt(CodeBadKey, key, invalid.Reason)
		case !own[ns]:
			r.addAt(CodeUndeclaredNS, key, "the first segment "+spell.Quote(ns)+" is not one of this document's namespaces — a document declares only what its publisher owns")
		}
	}
}

// leavesAgainstGroups is step 3.
func (r *documentReader) leavesAgainstGroups() {
	for _, n := range r.items("groups") {
		if path, ok := n.StringMember("path"); ok {
			r.groups[path] = true
		}
	}
	for _, n := range r.items("leaves") {
		if key, ok := n.StringMember("key"); ok && r.groups[key] {
			r.addAt(CodeKeyIsGroup, key, "is both a permission and a group path — group levels are folders, never permissions")
		}
	}
}

// parentCycles is step 4.
func (r *documentReader) parentCycles() {
	var types []ScopeType
	for _, n := range r.items("scopeTypes") {
		name, _ := n.StringMember("type")
		parent, _ := n.StringMember("parent")
		types = append(types, ScopeType{Type: name, Parent: parent})
	}
	cyclic := parentCycles(types)
	for _, t := range types {
		if through := cyclic[t.Type]; through != "" {
			r.addAt(CodeParentCycle, t.Type, "scope type parentage is cyclic through "+spell.Quote(through))
		}
	}
}

// everythingElse reads the document whole, once steps 1 to 4 found nothing.
func (r *documentReader) everythingElse() {
	for m, repeated := range r.root.Named() {
		if repeated {
			r.add(CodeRepeatedField, spell.Quote(m.Name)+" is given more than once")
		}
	}
	for _, name := range []string{"namespaces", "leaves", "groups", "scopeTypes", "navigation"} {
		if list := r.member(name); list.Kind != text.Array && list.Kind != text.Null {
			r.add(CodeBadField, name+" must be an array — got "+list.Echo())
		}
	}
	r.readNamespaces()
	r.readScopeTypes()
	if !r.readLeaves() {
		return
	}
	r.readGroups()
	r.readRest()
}

func (r *documentReader) readNamespaces() {
	if ns := r.member("namespace"); ns.Kind != text.String || !isOwnable(ns.Text) {
		r.add(CodeBadNamespace, "namespace must be a single valid segment that an application may own — got "+ns.Echo())
	}
	for _, n := range r.items("namespaces") {
		if n.Kind != text.String || !authz.IsSegment(n.Text) {
			r.add(CodeBadNamespace, "namespaces must be single valid segments — got "+n.Echo())
			continue
		}
		r.doc.namespaces = append(r.doc.namespaces, n.Text)
	}
	r.doc.namespaces = distinct(r.doc.namespaces)
	switch {
	case len(r.items("namespaces")) == 0:
		r.add(CodeNoNamespace, "the document lists no namespaces")
	case !slices.Contains(r.doc.namespaces, r.doc.namespace):
		r.add(CodeBadNamespace, "the document's namespace is not one of its namespaces")
	}
}

func isOwnable(ns string) bool { return authz.IsSegment(ns) && ns != authz.InternalNamespace }
