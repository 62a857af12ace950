package storage

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Lookups (CapLookups, which needs CapAncestry) reads edges backwards and grants by
// scope: what lists of who may, and where, are made of.
type Lookups interface {
	// ListScopes yields the scopes whose parents are recorded, in their order.
	ListScopes(ctx context.Context, p Page) iter.Seq2[string, error]

	// ListEdges yields what points at any of at most MaxScopes rows, ordered by Of, then
	// by From. An id that is named twice counts once. Without CapAncestry EdgeParent is
	// unsupported. Sole is told of EdgeParent.
	ListEdges(ctx context.Context, kind EdgeKind, of []string, p EdgePage) iter.Seq2[Edge, error]

	// ListGrantsAt yields the grants at any of at most MaxScopes scopes, ordered by scope,
	// subject and id.
	ListGrantsAt(ctx context.Context, scopes []string, p GrantsAtPage) iter.Seq2[authz.Grant, error]

	// FindGrants yields the grants that a search selects, in its order.
	FindGrants(ctx context.Context, q authz.GrantSearch, p FoundPage) iter.Seq2[authz.Grant, error]

	// ListUserIDs yields the ids of the users that rows name: records and the managers in
	// them, grants to users, revokes, and requests by who filed them. Those that begin with
	// prefix come in their order, each once.
	ListUserIDs(ctx context.Context, prefix string, p Page) iter.Seq2[string, error]

	// ReadPeople reads what is stored of at most MaxPeople users, all at one instant.
	ReadPeople(ctx context.Context, q PeopleQuery) (People, error)
}

// EdgeKind says which member of a row is read backwards.
type EdgeKind string

// The kinds of edges.
const (
	EdgeParent  EdgeKind = "parent"  // from a recorded scope to its parent
	EdgeGroup   EdgeKind = "group"   // from a user to a group of theirs
	EdgeOrg     EdgeKind = "org"     // from a user to an org of theirs
	EdgeManager EdgeKind = "manager" // from a user to their manager
)

// EdgeKinds lists the kinds.
var EdgeKinds = []EdgeKind{EdgeParent, EdgeGroup, EdgeOrg, EdgeManager}

// Edge leads from one row to another, by their ids.
type Edge struct {
	Of   string // where it leads
	From string
	Sole bool // of EdgeParent: From has no other parent
}

// ParentEdge is the edge from a scope to one of its parents.
func ParentEdge(scope, parent string, parents []string) Edge {
	return Edge{Of: parent, From: scope, Sole: !slices.ContainsFunc(parents, func(p string) bool { return p != parent })}
}

// EdgePage resumes and bounds a list of edges after one of them. AfterOf "" starts at
// the beginning.
type EdgePage struct {
	AfterOf, AfterFrom string
	Limit              int
}

// GrantsAtPage resumes and bounds a list of grants at scopes: strictly after a place in
// its order, where a grant need not be. AfterScope "" starts at the beginning.
type GrantsAtPage struct {
	AfterScope, AfterSubject, AfterID string
	Limit                             int
}

// MaxPeople bounds the users of one PeopleQuery; more is CodeTooLarge.
const MaxPeople = 1000

// PeopleQuery asks for users, and for what lies at some scopes, at most MaxScopes of
// them, for each of these users by themselves. Nil Scopes are all scopes.
type PeopleQuery struct {
	UserIDs       []string
	Scopes        []string
	WithoutGrants bool // the answer has no grants
}

// People answers a PeopleQuery: the records that exist by user id, the grants to the
// users' own subjects unless they are left out, and their revokes by id.
type People struct {
	Users   []authz.User
	Grants  []authz.Grant
	Revokes []authz.Revoke
}

// Check refuses a query of too many ids.
func (q PeopleQuery) Check() error {
	if len(q.UserIDs) > MaxPeople {
		return Errorf(CodeTooLarge, "%d users asked for at once, at most %d", len(q.UserIDs), MaxPeople)
	}
	return CheckLookup(q.Scopes, EdgeParent)
}

// SortPeople puts the rows of an answer in their order.
func SortPeople(p *People) {
	slices.SortFunc(p.Users, func(a, b authz.User) int { return strings.Compare(a.UserID, b.UserID) })
	slices.SortFunc(p.Grants, func(a, b authz.Grant) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(p.Revokes, func(a, b authz.Revoke) int { return strings.Compare(a.ID, b.ID) })
}

// CheckLookup refuses what no driver accepts of a lookup: too many ids, and a kind of
// edges that is none.
func CheckLookup(ids []string, kind EdgeKind) error {
	if len(ids) > MaxScopes {
		return Errorf(CodeTooLarge, "%d ids asked for at once, at most %d", len(ids), MaxScopes)
	}
	for _, known := range EdgeKinds {
		if kind == known {
			return nil
		}
	}
	return Errorf(CodeValidation, "%q is no kind of edges", string(kind))
}
