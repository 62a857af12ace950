package sqlite

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

// migrate brings the tables of an older version into the present layout. The columns,
// tables and indexes that versions 2 to 5 lack are added. The rows of version 1 land in the
// partition ""; SQLite cannot change a primary key, so each table is written anew. All of
// it happens in the caller's transaction: a second migration waits for the first and finds
// nothing to do, and one that is killed leaves what was there.
func migrate(w *work, found layout, now int64) error {
	if found.version > 1 {
		return addMissing(w, found)
	}
	for _, t := range relational.Tables {
		old, there := found.tables[t.Name]
		switch {
		case !there: // create makes it
		case slices.Contains(old, "app"):
			return storage.Errorf(storage.CodeUnsupported, "table %s has the column \"app\" already and others have not: the database cannot be migrated", t.Name)
		default:
			if err := rebuild(w, t, old); err != nil {
				return err
			}
		}
	}
	left, err := layoutOf(w)
	if err != nil {
		return err
	}
	if err := create(w, left); err != nil {
		return err
	}
	_, err = w.exec(`INSERT INTO "AuthzSchema" ("app", "id", "version", "incarnation", "migratedAt") VALUES ('', 1, ?, ?, ?)
		ON CONFLICT ("app", "id") DO UPDATE SET "version" = excluded."version", "migratedAt" = excluded."migratedAt"`,
		relational.SchemaVersion, rand.Text(), now)
	return err
}

// addMissing adds the columns that versions 2 and 4 lack, which are NULL in their rows,
// and the tables and indexes that versions 2 to 5 lack.
func addMissing(w *work, found layout) error {
	for _, t := range relational.Tables {
		have, there := found.tables[t.Name]
		for _, c := range t.Columns {
			if !there || slices.Contains(have, c.Name) {
				continue
			}
			if _, err := w.exec(fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", quote(t.Name), quote(c.Name), columnTypes[c.Type])); err != nil {
				return err
			}
		}
	}
	for _, old := range relational.Replaced {
		if _, err := w.exec("DROP INDEX IF EXISTS " + quote(old.Table+"_"+strings.Join(old.Index, "_"))); err != nil {
			return err
		}
	}
	if err := create(w, found); err != nil {
		return err
	}
	_, err := w.exec(`UPDATE "AuthzSchema" SET "version" = ?`, relational.SchemaVersion)
	return err
}

// rebuild copies the rows of a table into one of the present layout and puts that
// in its place. Columns that version 1 lacked are NULL or have their default.
func rebuild(w *work, t relational.Table, old []string) error {
	var columns []string
	for _, c := range t.Columns {
		switch {
		case slices.Contains(old, c.Name):
			columns = append(columns, c.Name)
		case !c.Null && c.Default == "":
			return storage.Errorf(storage.CodeUnsupported, "table %s lacks the column %s: the database cannot be migrated", t.Name, spell.Quote(c.Name))
		}
	}
	next := t.Name + "_next"
	for _, statement := range []string{
		createTable(t, next),
		fmt.Sprintf(`INSERT INTO %s ("app", %s) SELECT '', %s FROM %s`, quote(next), quoted(columns), quoted(columns), quote(t.Name)),
		"DROP TABLE " + quote(t.Name), // and its indexes
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s", quote(next), quote(t.Name)),
	} {
		if _, err := w.exec(statement); err != nil {
			return err
		}
	}
	return nil
}
