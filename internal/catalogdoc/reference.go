package catalogdoc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Reference is what is told of a catalog. Its JSON is what the command prints.
type Reference struct {
	Namespaces []string                `json:"namespaces"`
	ScopeTypes []ScopeType             `json:"scopeTypes"`
	Groups     []Group                 `json:"groups"` // those that hold permissions, by path
	Regions    []catalog.Region        `json:"regions,omitempty"`
	SoD        []catalog.SoDConstraint `json:"sod,omitempty"`
	Roles      []Role                  `json:"roles,omitempty"`
}

// ScopeType is a kind of resource.
type ScopeType struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Parent      string `json:"parent,omitempty"`
	MultiParent bool   `json:"multiParent,omitempty"`
	Requestable bool   `json:"requestable,omitempty"`

	Keys []string `json:"keys"` // that can be granted at it
}

// Group is a group with the permissions right below it.
type Group struct {
	Path        string         `json:"path"`
	Label       string         `json:"label,omitempty"`
	Description string         `json:"description,omitempty"`
	Keys        []catalog.Leaf `json:"keys"`
}

// Role is a role with the permissions that its patterns match today.
type Role struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Patterns    []string `json:"patterns"`
	Keys        []string `json:"keys"`
	Unknown     []string `json:"unknown,omitempty"` // patterns that the catalog does not know
}

// Of makes the reference. The permissions of the product's own administration are left out
// unless internal is true. access may be nil.
func Of(c *catalog.Catalog, access *apply.File, internal bool) Reference {
	r := Reference{ScopeTypes: []ScopeType{}, Groups: []Group{}, Regions: c.Regions(), SoD: c.SoD()}
	shown := func(name string) bool { return internal || authz.NamespaceOf(name) != authz.InternalNamespace }
	for _, ns := range c.Namespaces() {
		if shown(ns) {
			r.Namespaces = append(r.Namespaces, ns)
		}
	}
	for _, t := range c.ScopeTypes() {
		one := ScopeType{Type: t.Type, Description: t.Description, Parent: t.Parent, MultiParent: t.MultiParent, Requestable: t.Requestable != nil, Keys: []string{}}
		for _, key := range c.Keys() {
			if leaf, ok := c.Leaf(key); ok && shown(key) && slices.Contains(leaf.Scopes, t.Type) {
				one.Keys = append(one.Keys, key)
			}
		}
		r.ScopeTypes = append(r.ScopeTypes, one)
	}
	for _, path := range c.GroupPaths() {
		g, ok := c.Group(path)
		if !ok || !shown(path) || len(g.Permissions) == 0 {
			continue
		}
		one := Group{Path: path, Label: g.Label, Description: g.Description}
		for _, key := range g.Permissions {
			if leaf, ok := c.Leaf(key); ok {
				one.Keys = append(one.Keys, *leaf)
			}
		}
		r.Groups = append(r.Groups, one)
	}
	if access == nil {
		return r
	}
	for _, role := range access.Roles {
		one := Role{ID: role.ID, Name: role.Name, Description: role.Description, Patterns: role.Patterns, Keys: []string{}}
		for _, pattern := range role.Patterns {
			if !c.IsKnownPattern(pattern) {
				one.Unknown = append(one.Unknown, pattern)
			}
			one.Keys = append(one.Keys, slices.DeleteFunc(slices.Clone(c.KeysMatching(pattern)), func(key string) bool { return !shown(key) })...)
		}
		slices.Sort(one.Keys)
		one.Keys = slices.Compact(one.Keys)
		r.Roles = append(r.Roles, one)
	}
	slices.SortStableFunc(r.Roles, func(a, b Role) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return r
}
