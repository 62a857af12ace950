package catalog

import (
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// Input declares a catalog (spec: catalog §2). Every list is in declaration
// order, which is observable. Read it with ParseJSON, ParseYAML or Load, or
// write it as a Go value; Build does not keep any part of it.
type Input struct {
	// Namespaces are the owned namespaces, the first is primary. Required.
	Namespaces []string

	// Permissions are leaf maps and blocks. Empty is legal.
	Permissions []PermissionSet

	// Imports are the foreign namespaces that this catalog references.
	Imports []Import

	// Groups is metadata of group paths; an entry does not create a group.
	Groups []GroupEntry

	ScopeTypes []ScopeType
	Navigation []NavItem

	// Conventions is read by lint only.
	Conventions Conventions

	// IncludeAuthzInternal: only an explicit false leaves the built-in
	// administration blocks out.
	IncludeAuthzInternal *bool

	Constraints Constraints

	// What a file held and these types cannot express; Build reports it.
	places            text.Places
	faults            []text.Fault
	requestableFaults map[string][]text.Fault // by scope type
	depthFault        string                  // the offending depth, as a message tells it
}

// Kind says whether a permission observes or acts.
type Kind string

// The kinds of permission.
const (
	KindRead   Kind = "read"
	KindAction Kind = "action"
)

// PermissionSet is a leaf map or, when Block is set, a block: leaves that all
// lie under one path, with metadata for that path. Keys are always written in
// full.
type PermissionSet struct {
	Block  *Block
	Leaves []Permission
}

// Block names the path that the leaves of a PermissionSet lie under.
type Block struct {
	Path  string
	Group GroupInput
}

// Permission declares one key. Zero values are inferred (spec: catalog §2.2):
// Kind and Destructive from the last segment, nil Scopes from the nearest
// enclosing group that has any. Scopes that are empty but not nil make the
// permission grantable globally only.
type Permission struct {
	Key                string
	Label              string
	Description        string
	Kind               Kind
	Destructive        *bool
	Scopes             []string
	ImpliedOnAncestors bool
	RequiresCondition  bool

	faults []text.Fault
}

// Import references permissions that another application owns
// (spec: catalog §2.6). With the owner's published Document every leaf that an
// entry matches becomes an imported leaf; without one a wildcard stays an open
// region.
type Import struct {
	// Namespace is the one segment that every entry begins with.
	Namespace string

	// From is a label saying where the permissions come from, free text.
	From string

	// Document is the owner's catalog document, nil when there is none.
	Document json.RawMessage

	// Scopes are scope types of this catalog, the default of every entry.
	Scopes []string

	// Permissions are the entries: keys, or wildcards such as "meet.rooms.*", and
	// what this catalog says of them. Empty is legal: nothing is covered.
	Permissions []Permission

	// Strict open regions declare vocabulary but admit no key that they cannot
	// name.
	Strict bool
}

// GroupInput is metadata of a group. Scopes is the default for every leaf below
// it; nil declares none, empty but not nil declares "globally only".
type GroupInput struct {
	Label       string
	Description string
	Scopes      []string
}

// GroupEntry is metadata for one group path.
type GroupEntry struct {
	Path  string
	Group GroupInput
}

// ScopeType declares a kind of resource that access can be granted at. Parent ""
// is null: the chain of every instance is the instance and then "*". A nil
// Requestable means that no request may target the type.
type ScopeType struct {
	Type        string
	Description string
	Parent      string
	MultiParent bool
	Requestable *Requestable
}

// Requestable says how access at a scope type may be asked for. MaxDurationMs 0
// is no cap. Patterns is a ceiling for pattern-shaped proposals, nil allows any
// declared pattern. No stages is a lint matter, not an error.
type Requestable struct {
	Prompts       []authz.Prompt
	MaxDurationMs int64
	RequireExpiry bool
	Patterns      []string
	Stages        []authz.Stage
}

// The kinds of prompt; "" is PromptText.
const (
	PromptText   = "text"
	PromptSelect = "select"
)

// NavItem is an entry of a navigation tree, for visibility only. AnyOf, where it
// is not nil, stands in place of Permission.
type NavItem struct {
	Label      string
	Href       string
	Permission string
	AnyOf      []string
	Children   []NavItem
}

// Conventions are the application's own naming rules. Depth is how many
// segments a key has, 0 means 3; AnyDepth lifts the rule.
type Conventions struct {
	Depth    int64
	AnyDepth bool
}

// Constraints are what the application wants reported about who holds what.
type Constraints struct {
	SoD []SoDConstraint
}

// SoDConstraint is broken by whoever holds keys of two or more of its sets.
type SoDConstraint struct {
	ID          string     `json:"id"`
	Description string     `json:"description,omitempty"`
	Sets        [][]string `json:"sets"`
}
