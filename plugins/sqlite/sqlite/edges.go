package sqlite

import (
	"fmt"
	"slices"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

// edges are the ends of one row's edges in a table of their own.
type edges struct {
	key  string // of the row in its entity's table
	list string // an expression: the ends in order, as a JSON list; "" where there is no order
	put  string // adds the ends of a list, and puts those that are there in order
	drop string // removes the ends that a list lacks
	none string // removes all
}

func edgesOf(table, from, to, entity, key string) edges {
	return edges{
		key: key,
		list: fmt.Sprintf(`(SELECT json_group_array(e."%s" ORDER BY e."ordinal", e."%s") FROM "%s" AS e WHERE e."app" = "%s"."app" AND e."%s" = "%s"."%s")`,
			to, to, table, entity, from, entity, key),
		put: fmt.Sprintf(`INSERT INTO "%s" ("app", "%s", "%s", "ordinal") SELECT ?1, ?2, j.value, j.key FROM json_each(?3) AS j WHERE true
			ON CONFLICT ("app", "%s", "%s") DO UPDATE SET "ordinal" = excluded."ordinal" WHERE "ordinal" <> excluded."ordinal"`, table, from, to, from, to),
		drop: fmt.Sprintf(`DELETE FROM "%s" WHERE "app" = ?1 AND "%s" = ?2 AND "%s" NOT IN (SELECT j.value FROM json_each(?3) AS j)`, table, from, to),
		none: fmt.Sprintf(`DELETE FROM "%s" WHERE "app" = ? AND "%s" = ?`, table, from),
	}
}

// derivedEdges are the edges that a table repeats from a list.
func derivedEdges(e relational.EdgeSource) edges {
	leaving := fmt.Sprintf(`DELETE FROM %s WHERE "app" = ?1 AND "%s" = ?2`, using(e.Table, e.From), e.From)
	return edges{
		put: fmt.Sprintf(`INSERT INTO "%s" ("app", "%s", "%s") SELECT ?1, j.value, ?2 FROM json_each(?3) AS j WHERE true
			ON CONFLICT ("app", "%s", "%s") DO NOTHING`, e.Table, e.Of, e.From, e.Of, e.From),
		drop: leaving + fmt.Sprintf(` AND "%s" NOT IN (SELECT j.value FROM json_each(?3) AS j)`, e.Of),
		none: leaving,
	}
}

var (
	scopeEdges = derivedEdges(relational.EdgeSources[storage.EdgeParent])
	orgEdges   = derivedEdges(relational.EdgeSources[storage.EdgeOrg])

	parentEdges     = edgesOf(relational.GroupParentTable, "childId", "parentId", relational.GroupTable, "id")
	membershipEdges = edgesOf(relational.MembershipTable, "userId", "groupId", relational.UserTable, "userId")
)

// replace writes the difference between the stored edges and these. Ordered ones are
// named once each.
func (e edges) replace(w *work, app, from string, ends []string) error {
	if len(ends) == 0 {
		_, err := w.exec(e.none, app, from)
		return err
	}
	list, err := listOf(ends)
	if err != nil {
		return err
	}
	if _, err := w.exec(e.drop, app, from, list); err != nil {
		return err
	}
	_, err = w.exec(e.put, app, from, list)
	return err
}

// withEdges reads the ends of a row's edges with the row, in one statement and so
// at one instant. ends is the member of the row that takes them.
func withEdges[T any](t table[T], e edges, ends func(*T) *[]string) table[T] {
	t.columns += ", " + e.list
	t.get = fmt.Sprintf("SELECT %s FROM %s WHERE \"app\" = ? AND \"%s\" = ?", t.columns, quote(t.Table), e.key)
	scan := t.Scan
	t.Scan = func(columns relational.Scan) (T, error) {
		var list []byte
		row, err := scan(func(dest ...any) error { return columns(append(dest, &list)...) })
		if err != nil {
			return row, err
		}
		*ends(&row), err = relational.DecodeStrings(list)
		return row, err
	}
	return t
}

// distinct keeps the first of equal values, in their order.
func distinct(values []string) []string {
	if len(values) < 2 {
		return values
	}
	seen := make(map[string]bool, len(values))
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}

// listOf is a list of strings as one parameter, for json_each.
func listOf(values []string) (string, error) { return relational.EncodeStrings(values) }
