package catalog

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// Build validates a declaration and makes the catalog. The error is an
// *authz.CatalogError with every problem of the first of two phases that has
// any: the declaration itself, then its constraints. Issues come in the order of
// the steps (spec: catalog §3), each once.
func Build(in Input) (*Catalog, error) {
	b := &builder{in: in, includeInternal: in.IncludeAuthzInternal == nil || *in.IncludeAuthzInternal}
	b.reportShape()
	b.namespaces()
	b.collect()
	b.checkKeys()
	b.checkGroupPaths()
	b.checkScopeTypes()
	b.resolveImports()
	b.checkLeafScopes()
	b.checkImportedKeys()
	b.checkGroupScopes()
	b.checkConventions()
	if err := b.err(); err != nil {
		return nil, err
	}
	c := b.assembly().catalog()
	c.checkConstraints(&b.issues)
	if err := b.err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (b *builder) err() error {
	b.issues.list = b.in.Locate(b.issues.list)
	return b.issues.err()
}

// builder holds one build.
type builder struct {
	in              Input
	includeInternal bool
	issues          issues

	owned   []string // distinct, in order
	isOwned map[string]bool

	leaves    []*declaration // strays and repeats dropped
	byKey     map[string]*declaration
	isBuiltIn map[string]bool

	groups    map[string]*GroupInput // metadata, merged
	groupList []string               // its paths in order of first appearance

	imports []*imported

	scopeTypes map[string]*ScopeType // those that passed the grammar
}

// declaration is a collected leaf. A sound one has passed step 3.
type declaration struct {
	Permission
	sound bool
}

// reportShape reports what the file held that is no part of a declaration, and
// what a Go value can repeat.
func (b *builder) reportShape() {
	for _, f := range b.in.faults {
		b.issues.addField(f)
	}
	once := func(list string) func(string) {
		seen := map[string]bool{}
		return func(name string) {
			if seen[name] {
				b.issues.add(CodeRepeatedField, list+"."+name, "is given more than once")
			}
			seen[name] = true
		}
	}
	group, scopeType, namespace := once("groups"), once("scopeTypes"), once("imports")
	for _, g := range b.in.Groups {
		group(g.Path)
	}
	for _, t := range b.in.ScopeTypes {
		scopeType(t.Type)
	}
	for _, im := range b.in.Imports {
		namespace(im.Namespace)
	}
	for i, c := range b.in.Constraints.SoD {
		if c.ID == "" {
			b.issues.add(CodeBadField, "constraints.sod"+text.Index(i)+".id", "must be a non-empty string")
		}
	}
}

// namespaces is step 1.
func (b *builder) namespaces() {
	b.isOwned = map[string]bool{}
	if len(b.in.Namespaces) == 0 {
		b.issues.add(CodeNoNamespace, pathCatalog, `declare at least one namespace, as in namespaces: ["yourapp"]`)
	}
	for _, ns := range b.in.Namespaces {
		switch {
		case b.isOwned[ns]:
		case !authz.IsSegment(ns):
			b.issues.add(CodeBadNamespace, ns, "namespace must be a single valid segment")
		case ns == authz.InternalNamespace:
			b.issues.add(CodeReservedNamespace, ns, "authz_internal is reserved for authz itself")
		default:
			b.isOwned[ns] = true
			b.owned = append(b.owned, ns)
		}
	}
}

// collect is step 2. Metadata merges in the order built-in, groups, blocks;
// built-in leaves come after the application's.
func (b *builder) collect() {
	b.byKey = map[string]*declaration{}
	b.isBuiltIn = map[string]bool{}
	b.groups = map[string]*GroupInput{}
	var builtIn []PermissionSet
	if b.includeInternal {
		builtIn = InternalBlocks()
		internal := internalGroup()
		b.merge(internal.Path, internal.Group)
	}
	for _, set := range builtIn {
		b.merge(set.Block.Path, set.Block.Group)
		for _, p := range set.Leaves {
			b.isBuiltIn[p.Key] = true
		}
	}
	for _, g := range b.in.Groups {
		b.merge(g.Path, g.Group)
	}
	for _, set := range b.in.Permissions {
		if set.Block != nil {
			b.merge(set.Block.Path, set.Block.Group)
		}
		b.collectSet(set)
	}
	for _, set := range builtIn {
		b.collectSet(set)
	}
}

func (b *builder) collectSet(set PermissionSet) {
	for _, p := range set.Leaves {
		if set.Block != nil && !authz.IsUnderGroup(set.Block.Path, p.Key) {
			b.issues.add(CodeOutsideBlock, p.Key, "is not under the block path "+spell.Quote(set.Block.Path)+
				" — every key of a block starts with its path and a dot")
			continue
		}
		if b.byKey[p.Key] != nil {
			b.issues.add(CodeDuplicateKey, p.Key, "duplicate permission key")
			continue
		}
		b.checkLeaf(p.Key, p)
		d := &declaration{Permission: p}
		b.byKey[p.Key] = d
		b.leaves = append(b.leaves, d)
	}
}

// checkLeaf reports what is wrong with the fields of one permission.
func (b *builder) checkLeaf(path string, p Permission) {
	for _, f := range append(slices.Clip(p.faults), checkKind(p.Kind)...) {
		b.issues.addFault(CodeBadLeaf, path, f)
	}
}

func checkKind(k Kind) []text.Fault {
	if k == "" || k == KindRead || k == KindAction {
		return nil
	}
	return []text.Fault{{Field: "kind", Problem: `must be "read" or "action" — got ` + spell.Quote(string(k))}}
}

// merge lays metadata over what the path has, field by field.
func (b *builder) merge(path string, g GroupInput) {
	have := b.groups[path]
	if have == nil {
		have = &GroupInput{}
		b.groups[path] = have
		b.groupList = append(b.groupList, path)
	}
	if g.Label != "" {
		have.Label = g.Label
	}
	if g.Description != "" {
		have.Description = g.Description
	}
	if g.Scopes != nil {
		have.Scopes = distinct(g.Scopes)
	}
}

// checkKeys is step 3, the first failure of each key only.
func (b *builder) checkKeys() {
	for _, d := range b.leaves {
		ns := authz.NamespaceOf(d.Key)
		invalid := authz.ValidateKey(d.Key)
		switch {
		case invalid != nil:
			b.issues.add(CodeBadKey, d.Key, invalid.Reason)
		case ns == d.Key:
			b.issues.add(CodeShortKey, d.Key, "a permission key needs at least two segments — the first is its namespace, and a namespace is a group")
		case b.isBuiltIn[d.Key]:
			d.sound = true
		case ns == authz.InternalNamespace:
			b.issues.add(CodeReservedKey, d.Key, "authz_internal is reserved for authz itself — an application never declares permissions in it")
		case !b.isOwned[ns]:
			b.issues.add(CodeUndeclaredNS, d.Key, "the first segment "+spell.Quote(ns)+" is not a declared namespace — add it to `namespaces`")
		default:
			d.sound = true
		}
	}
}

// checkGroupPaths is step 4: no key is the path of a group.
func (b *builder) checkGroupPaths() {
	for _, path := range b.groupList {
		if invalid := authz.ValidateKey(path); invalid != nil {
			b.issues.add(CodeBadGroupPath, path, "invalid group path: "+invalid.Reason)
		}
	}
	paths := b.groupPaths()
	for _, d := range b.leaves {
		if paths[d.Key] {
			b.issues.add(CodeKeyIsGroup, d.Key, "is both a permission and a group path — a group is a folder, never a permission; only leaves are grantable")
		}
	}
}

// groupPaths collects the paths of all groups: prefixes of keys, unsound ones
// too, and metadata, hollow or not.
func (b *builder) groupPaths() map[string]bool {
	paths := make(map[string]bool, len(b.groupList))
	for _, path := range b.groupList {
		paths[path] = true
	}
	for _, d := range b.leaves {
		for path := range prefixes(d.Key) {
			paths[path] = true
		}
	}
	return paths
}

// assembly copies what the checks let through; nothing of the input is shared.
func (b *builder) assembly() *assembly {
	a := &assembly{
		primary:     b.owned[0],
		owned:       b.owned,
		internal:    b.includeInternal,
		imports:     b.imports,
		navigation:  cloneNavigation(b.in.Navigation),
		conventions: b.in.Conventions,
		sod:         cloneConstraints(b.in.Constraints.SoD),
	}
	for _, d := range b.leaves {
		a.leaves = append(a.leaves, newLeaf(d.Permission, b.scopesOf(d.Permission)))
	}
	for _, path := range b.groupList {
		a.groups = append(a.groups, GroupEntry{Path: path, Group: *b.groups[path]})
	}
	for _, t := range b.in.ScopeTypes {
		t.Requestable = t.Requestable.clone()
		a.scopeTypes = append(a.scopeTypes, t)
	}
	return a
}

const depthRule = `conventions.depth must be an integer of at least 2, or "any" — got `

// checkConventions is step 8.
func (b *builder) checkConventions() {
	depth := b.in.Conventions.Depth
	switch {
	case b.in.depthFault != "":
		b.issues.add(CodeBadDepth, pathConventions, depthRule+b.in.depthFault)
	case depth != 0 && (depth < minDepth || depth > authz.MaxInstant):
		b.issues.add(CodeBadDepth, pathConventions, depthRule+strconv.FormatInt(depth, 10))
	}
}

// prefixes yields the group paths that a key lies under, outermost first.
func prefixes(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(key) {
			if key[i] == '.' && !yield(key[:i]) {
				return
			}
		}
	}
}

// parentPath is the group that a path lies in, "" for a namespace.
func parentPath(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}

// distinct copies a list without its repeats; the result is never nil.
func distinct(list []string) []string {
	kept := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return slices.Clip(kept)
}
