package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/internal/relational"
)

// migrate moves the tables of an older version to the present one. Those of versions 2
// and 4 lack columns, and those of versions 2 to 5 indexes, which are added. Version 1 knew
// no partitions: every row lands in the partition "", and every key and index is made anew
// with the partition first; missing columns are added, and columns whose type or byte order
// is another are changed.
func (d *driver) migrate(ctx context.Context, tx pgx.Tx, found content) error {
	for _, t := range relational.Tables {
		have := found.columns[t.Name]
		switch {
		case have == nil:
			continue
		case slices.Contains(have, "app"):
			if err := d.addMissing(ctx, tx, t, have); err != nil {
				return err
			}
			continue
		}
		drops, err := d.oldKeys(ctx, tx, t.Name)
		if err != nil {
			return err
		}
		types, err := d.oldTypes(ctx, tx, t.Name)
		if err != nil {
			return err
		}
		for _, drop := range drops {
			if _, err := tx.Exec(ctx, drop, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		var script strings.Builder
		fmt.Fprintf(&script, "alter table %q add column \"app\" text collate \"C\" not null default ''", t.Name)
		for _, c := range t.Columns {
			switch have, found := types[c.Name]; {
			case !found:
				fmt.Fprintf(&script, ", add column %q %s", c.Name, columnType(c))
				if !c.Null {
					script.WriteString(" not null")
				}
				if c.Default != "" {
					script.WriteString(" default " + c.Default)
				}
			case have != columnType(c):
				plain, _, _ := strings.Cut(columnType(c), " ")
				fmt.Fprintf(&script, ", alter column %q type %s using %q::%s", c.Name, columnType(c), c.Name, plain)
			}
		}
		script.WriteString(";\n" + createKeys(t))
		if _, err := tx.Exec(ctx, d.sql(script.String()), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// addMissing adds the columns that a table of version 2 or 4 lacks, which are null in its
// rows, and the indexes that it lacks.
func (d *driver) addMissing(ctx context.Context, tx pgx.Tx, t relational.Table, have []string) error {
	for _, c := range t.Columns {
		if slices.Contains(have, c.Name) {
			continue
		}
		if _, err := tx.Exec(ctx, d.sql(fmt.Sprintf("alter table %q add column %q %s", t.Name, c.Name, columnType(c)))); err != nil {
			return err
		}
	}
	var script strings.Builder
	for _, old := range relational.Replaced {
		if old.Table == t.Name {
			fmt.Fprintf(&script, "drop index if exists %s;\n", pgx.Identifier{d.options.Schema, indexName(old.Table, old.Index)}.Sanitize())
		}
	}
	script.WriteString(createIndexes(t, "if not exists "))
	_, err := tx.Exec(ctx, d.sql(script.String()), pgx.QueryExecModeSimpleProtocol)
	return err
}

// oldKeys are the statements that drop every key, unique constraint and index of
// a table, whatever their names.
func (d *driver) oldKeys(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	rows, err := tx.Query(ctx, `
		select format('alter table %I.%I drop constraint %I', n.nspname, c.relname, k.conname)
		from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = $2 and k.contype in ('p', 'u')
		union all
		select format('drop index %I.%I', n.nspname, i.relname)
		from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = $2 and not exists (select 1 from pg_constraint k where k.conindid = x.indexrelid)`,
		d.options.Schema, table)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// oldTypes are the types of a table's columns, spelled as columnType spells them.
func (d *driver) oldTypes(ctx context.Context, tx pgx.Tx, table string) (map[string]string, error) {
	rows, err := tx.Query(ctx, `
		select a.attname::text, format_type(a.atttypid, null) || case when l.collname is null then '' else format(' collate %I', l.collname) end
		from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
		left join pg_collation l on l.oid = a.attcollation
		where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped`, d.options.Schema, table)
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	var column, name string
	_, err = pgx.ForEachRow(rows, []any{&column, &name}, func() error {
		types[column] = name
		return nil
	})
	return types, err
}
