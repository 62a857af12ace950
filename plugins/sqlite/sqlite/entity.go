package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
)

// table holds the statements of one entity. Their first parameter is the partition.
type table[T any] struct {
	relational.Entity[T]

	columns string // what Scan reads
	get     string // by key
	free    string // inserts unless the key is taken
	upsert  string // replaces the whole row
	remove  string // by key
	take    string // removes by key and returns the row
}

func tableOf[T any](e relational.Entity[T], key ...string) table[T] {
	t := table[T]{Entity: e, columns: quoted(e.Columns)}
	var match strings.Builder
	match.WriteString(`"app" = ?`)
	for _, k := range key {
		fmt.Fprintf(&match, ` AND "%s" = ?`, k)
	}
	insert := fmt.Sprintf("INSERT INTO %s (\"app\", %s) VALUES (?%s) ON CONFLICT (\"app\", %s)",
		quote(e.Table), t.columns, strings.Repeat(", ?", len(e.Columns)), quoted(key))
	var set []string
	for _, c := range e.Columns {
		if !slices.Contains(key, c) {
			set = append(set, fmt.Sprintf(`"%s" = excluded."%s"`, c, c))
		}
	}
	t.get = fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.columns, quote(e.Table), &match)
	t.free = insert + " DO NOTHING"
	t.upsert = insert + " DO UPDATE SET " + strings.Join(set, ", ")
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE %s", quote(e.Table), &match)
	t.take = t.remove + " RETURNING " + t.columns
	return t
}

var (
	grants   = tableOf(relational.Grants, "id")
	revokes  = tableOf(relational.Revokes, "id")
	roles    = tableOf(relational.Roles, "id")
	groups   = withEdges(tableOf(relational.Groups, "id"), parentEdges, func(g *authz.Group) *[]string { return &g.Parents })
	users    = withEdges(tableOf(relational.Users, "userId"), membershipEdges, func(u *authz.User) *[]string { return &u.GroupIDs })
	requests = tableOf(relational.Requests, "id")
	audit    = tableOf(relational.Audit, "id")
	records  = tableOf(relational.Records, "collection", "id")
)

// args puts the partition before the columns of a row.
func (t table[T]) args(app string, row T) ([]any, error) {
	columns, err := t.Args(row)
	return slices.Insert(columns, 0, any(app)), err
}

// insert reports false when the key is taken.
func (t table[T]) insert(w *work, app string, row T) (bool, error) {
	args, err := t.args(app, row)
	if err != nil {
		return false, err
	}
	n, err := w.exec(t.free, args...)
	return n > 0, err
}

// put replaces the whole row.
func (t table[T]) put(w *work, app string, row T) error {
	args, err := t.args(app, row)
	if err != nil {
		return err
	}
	_, err = w.exec(t.upsert, args...)
	return err
}
