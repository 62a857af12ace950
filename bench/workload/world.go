package workload

import (
	"cmp"
	"strings"
)

// Params chooses a world. Zero members take the defaults.
type Params struct {
	Users     int    // default 1,000
	Depth     int    // scopes from a document up to its outermost folder, default 5, at least 2
	Questions int    // default 10,000
	Seed      uint64 // default 1
}

// World is what all engines are given.
type World struct {
	Params Params

	Keys   []string // "docs.area7.thing3", 30 areas of 10
	Roles  []Role
	Groups []Group // every parent before its children
	Users  []User
	Scopes []Scope // every parent before its children

	Grants  []Grant
	Revokes []Revoke

	Questions []Question // every other one allowed
}

// Role is a named set of patterns.
type Role struct {
	ID       string
	Patterns []string
}

// Group is a group, whose members are members of its parents too.
type Group struct {
	ID      string
	Parents []string
}

// User is a user with the groups that it is a direct member of.
type User struct {
	ID     string
	Groups []string
}

// Kind tells scopes apart.
type Kind uint8

// The kinds of scope.
const (
	Global   Kind = iota // everything; has no id
	Folder               // below another folder, or outermost
	Document             // in a folder
)

// ScopeID names a scope.
type ScopeID struct {
	Kind Kind
	ID   string
}

// CompareScopes orders scopes by kind, then by id.
func CompareScopes(a, b ScopeID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// Scope is a folder or a document with the folder it lies in; the outermost
// folders lie in the global scope.
type Scope struct {
	ScopeID
	Parent ScopeID
}

// Subject holds grants: a user, or a group and with it all its members, nested
// ones included.
type Subject struct {
	Group bool
	ID    string
}

// Grant allows what its pattern, or each pattern of its role, covers, at its scope
// and everything below. Exactly one of Role and Pattern is set.
type Grant struct {
	Subject Subject
	Role    string
	Pattern string
	Scope   ScopeID
}

// Revoke denies one user what its pattern covers at its scope and everything
// below, whatever is granted.
type Revoke struct {
	User    string
	Pattern string
	Scope   ScopeID
}

// Question asks whether a user may use a key at a scope. Allowed is the answer of
// the plain definition.
type Question struct {
	User    string
	Key     string
	Scope   ScopeID
	Allowed bool
}

// Covers says whether a pattern, a key or "<area>.*", covers a key.
func Covers(pattern, key string) bool {
	if area, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(key, area)
	}
	return pattern == key
}

// Covered lists the keys of the world that a pattern covers.
func (w *World) Covered(pattern string) []string {
	keys := []string{}
	for _, key := range w.Keys {
		if Covers(pattern, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Area is the pattern that covers the whole area of a key.
func Area(key string) string {
	return key[:strings.LastIndexByte(key, '.')] + ".*"
}
