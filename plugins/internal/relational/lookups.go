package relational

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// EdgeSource is where the edges of a kind lie: a row of Table leads from its column
// From to its column Of.
type EdgeSource struct {
	Table, Of, From string
}

// EdgeSources are the tables behind each kind of edges.
var EdgeSources = map[storage.EdgeKind]EdgeSource{
	storage.EdgeParent:  {ScopeEdgeTable, "parentId", "childId"},
	storage.EdgeGroup:   {MembershipTable, "groupId", "userId"},
	storage.EdgeOrg:     {UserOrgTable, "orgId", "userId"},
	storage.EdgeManager: {UserTable, "managerUserId", "userId"},
}

// UserIDSource is where ids of users lie: in a column that an index holds in order, behind
// a prefix of their own. Index names its columns, Below what no value with the prefix
// reaches, "" where there is none.
type UserIDSource struct{ Table, Column, Index, Prefix, Below string }

// UserIDSources are all of them.
var UserIDSources = []UserIDSource{
	{UserTable, "userId", "", "", ""},
	{UserTable, "managerUserId", "managerUserId_userId", "", ""},
	{GrantTable, "subject", "subject", "user:", "user;"},
	{RevokeTable, "userId", "userId", "", ""},
	{RequestTable, "requesterUserId", "requesterUserId", "", ""},
}

// Where are the conditions on the column: how it compares with an id, which is an
// expression.
func (u UserIDSource) Where(compares, id string) string {
	where := fmt.Sprintf(`%q %s '%s' || %s`, u.Column, compares, u.Prefix, id)
	if u.Below != "" {
		where += fmt.Sprintf(` AND %q < '%s'`, u.Column, u.Below)
	}
	return where
}

// Derived are tables that repeat, one row for each distinct value, what a list in
// another table holds.
type Derived struct {
	Source    string // the table with the list
	List, Key string // its columns
	Edges     EdgeSource
}

// DerivedTables are those that a migration fills.
var DerivedTables = []Derived{
	{ScopeParentTable, "parents", "scope", EdgeSources[storage.EdgeParent]},
	{UserTable, "orgIds", "userId", EdgeSources[storage.EdgeOrg]},
}

// ScanEdge reads Of, From and, as a number, Sole.
func ScanEdge(scan Scan) (e storage.Edge, err error) {
	var sole int64
	err = scan(&e.Of, &e.From, &sole)
	e.Sole = sole != 0
	return e, err
}

// CompareEdges is the order of edges.
func CompareEdges(a, b storage.Edge) int {
	return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.From, b.From))
}

// Place is the place of a grant among those at scopes.
type Place struct{ Scope, Subject, ID string }

// PlaceOf is the place of a grant.
func PlaceOf(g authz.Grant) Place { return Place{g.Scope, g.Subject, g.ID} }

// ComparePlaces is the order of places.
func ComparePlaces(a, b Place) int {
	return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(a.Subject, b.Subject), strings.Compare(a.ID, b.ID))
}

// Distinct are the ids in their order, each once.
func Distinct(ids []string) []string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// From are the ids at and above one, which need not be among them.
func From(sorted []string, first string) []string {
	at, _ := slices.BinarySearch(sorted, first)
	return sorted[at:]
}

// Ascending reports that keys come one above the other, above the first.
func Ascending[K, T any](after K, rows []T, key func(T) K, compare func(a, b K) int) bool {
	for _, row := range rows {
		next := key(row)
		if compare(after, next) >= 0 {
			return false
		}
		after = next
	}
	return true
}

// Subjects are the users' own subjects.
func Subjects(userIDs []string) []string {
	subjects := make([]string, len(userIDs))
	for i, id := range userIDs {
		subjects[i] = authz.SubjectOf(authz.SubjectUser, id)
	}
	return subjects
}
