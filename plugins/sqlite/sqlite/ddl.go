package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
)

// columnTypes maps types to declarations; BINARY is the collation of every text.
var columnTypes = map[relational.Type]string{
	relational.Text: "TEXT",
	relational.JSON: "TEXT",
	relational.Big:  "INTEGER",
	relational.Int:  "INTEGER",
	relational.Bool: "INTEGER",
}

// wide tables hold documents: their rows stand apart from the tree of the key.
var wide = map[string]bool{
	relational.RequestTable: true, relational.CatalogTable: true, relational.AuditTable: true, relational.CatalogVersionTable: true,
	relational.ImportsTable: true, relational.RecordTable: true, relational.CommitTable: true,
}

// orders are what an index is read in: columns added to the end of those of a
// table. Where the rows lie in the tree of the key, SQLite adds the key itself.
var orders = map[string][]string{
	relational.AuditTable:   {"at", "id"},
	relational.RequestTable: {"createdAt", "id"},
	relational.CommitTable:  {"id"},
}

// covering is the index of a table that holds whole rows: a principal's are read
// one after the other, where each would else be looked up in a page of its own.
var covering = map[string]string{relational.GrantTable: "subject"}

func createTable(t relational.Table, name string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "CREATE TABLE %s (\"app\" TEXT NOT NULL DEFAULT ''", quote(name))
	for _, c := range t.Columns {
		fmt.Fprintf(&text, ", %s %s", quote(c.Name), columnTypes[c.Type])
		if !c.Null {
			text.WriteString(" NOT NULL")
		}
		if c.Default != "" {
			fmt.Fprintf(&text, " DEFAULT %s", c.Default)
		}
	}
	fmt.Fprintf(&text, ", PRIMARY KEY (%s))", quoted(append([]string{"app"}, t.Key...)))
	if !wide[t.Name] {
		text.WriteString(" WITHOUT ROWID")
	}
	return text.String()
}

func createIndex(t relational.Table, index []string) string {
	columns := append([]string{"app"}, index...)
	further := orders[t.Name]
	if covering[t.Name] == index[0] {
		further = slices.Clone(t.Key)
		for _, c := range t.Columns {
			further = append(further, c.Name)
		}
	}
	for _, c := range further {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	for i, c := range columns {
		columns[i] = relational.Indexed(c)
	}
	return fmt.Sprintf("CREATE INDEX %s ON %s (%s)", quote(indexName(t, index)), quote(t.Name), strings.Join(columns, ", "))
}

func indexName(t relational.Table, index []string) string {
	return t.Name + "_" + strings.Join(index, "_")
}

func quote(name string) string { return `"` + name + `"` }

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }
