package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

// migrateCommand is what moves a database of an older version to the present one.
const migrateCommand = "authz storage migrate"

// schemaKey is the lock under which the tables are made and changed.
const schemaKey = "schema"

// prepare brings the database to a state that stores can be opened on, or says
// why it may not, and learns which optional tables are there.
func (d *driver) prepare(ctx context.Context) error {
	return d.withConn(ctx, func(pooled *pgxpool.Conn) error {
		conn := pooled.Conn()
		found, err := d.inspect(ctx, conn)
		if err != nil {
			return err
		}
		if !found.complete() {
			if old := found.old(); old > 0 && !d.options.Migrate {
				return errSchema(old, "the database has schema version %d; `%s` (setting \"migrate\") moves it to version %d", old, migrateCommand, relational.SchemaVersion)
			}
			if err := d.build(ctx, conn); err != nil {
				return err
			}
			if found, err = d.inspect(ctx, conn); err != nil {
				return err
			}
		}
		if found.version > relational.SchemaVersion {
			return errVersionAbove(found.version)
		}
		for _, t := range relational.Tables {
			if t.Capability == "" && !found.has(t.Name) {
				return storage.Errorf(storage.CodeUnsupported, "the database lacks the table %s", t.Name)
			}
		}
		d.capabilities = found.capabilities(d.options)
		return nil
	})
}

// content is what a schema holds: the columns of each table of ours, the newest
// version that a partition was written by, and the indexes of grants, which tell the
// version where no partition was opened.
type content struct {
	columns map[string][]string
	version int64
	indexes []string
}

// grantsHave reports an index of grants.
func (c content) grantsHave(columns ...string) bool {
	return slices.Contains(c.indexes, indexName(relational.GrantTable, columns))
}

func (c content) has(table string) bool { return c.columns[table] != nil }

// old is the version of tables that are to be migrated, else 0. Those of version 1
// know no partitions, those of version 2 no identities of events, those of version 3
// no edges for lookups, those of version 4 no grants by time, those of version 5 no
// subjects of audit entries.
func (c content) old() int64 {
	lacks := func(table, column string) bool {
		return c.has(table) && !slices.Contains(c.columns[table], column)
	}
	switch {
	case lacks(relational.GrantTable, "app"):
		return 1
	case lacks(relational.EpochTable, "identity"), lacks(relational.EventTable, "identity"):
		return 2
	case c.version > 0 && c.version < relational.SchemaVersion:
		return max(c.version, 3)
	case c.version > 0, !c.has(relational.SchemaTable), !c.has(relational.GrantTable):
	case !c.grantsHave("scope", "subject", "id"):
		return 3
	case !c.grantsHave("createdAt", "id"):
		return 4
	case !c.grantsHave("instanceAt", "id"):
		return 5
	}
	return 0
}

// leftOut says of a table which a migration does not find that it stays out. What versions
// 3 to 5 lack was left out, except what they did not know: the subjects of audit entries
// and, in version 3, the tables of lookups, which are made where the ancestry that they
// need is there.
func (c content) leftOut(t relational.Table) bool {
	switch {
	case c.old() < 3, t.Name == relational.AuditSubjectTable:
		return false
	case t.Capability == storage.CapLookups:
		return c.old() > 3 || !c.has(relational.ScopeParentTable)
	}
	return true
}

// complete reports a database that nothing need be made in: one whose optional
// tables were left out keeps lacking them.
func (c content) complete() bool {
	return c.has(relational.SchemaTable) && c.has(relational.GrantTable) && c.old() == 0
}

// capabilities are those whose tables are all there.
func (c content) capabilities(o Options) storage.Capabilities {
	var have storage.Capabilities
	for _, capability := range capabilities {
		missing := slices.ContainsFunc(relational.Tables, func(t relational.Table) bool {
			needed := t.Capability == capability || capability == storage.CapWatch && t.Capability == storage.CapEvents ||
				(capability == storage.CapAncestors || capability == storage.CapLookups) && t.Capability == storage.CapAncestry
			return needed && !c.has(t.Name)
		})
		if !missing {
			have = append(have, capability)
		}
	}
	return have
}

func (d *driver) inspect(ctx context.Context, conn *pgx.Conn) (content, error) {
	found := content{columns: map[string][]string{}}
	names := make([]string, len(relational.Tables))
	for i, t := range relational.Tables {
		names[i] = t.Name
	}
	rows, err := conn.Query(ctx, `select c.relname::text, a.attname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where n.nspname = $1 and c.relkind in ('r', 'p') and c.relname = any($2::text[])`, d.options.Schema, names)
	if err != nil {
		return found, err
	}
	var table, column string
	if _, err := pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		found.columns[table] = append(found.columns[table], column)
		return nil
	}); err != nil {
		return found, err
	}
	if found.has(relational.SchemaTable) {
		err = conn.QueryRow(ctx, d.sql(`select coalesce(max("version"), 0), array(select indexname::text from pg_indexes
			where schemaname = $1 and tablename = $2) from "AuthzSchema"`), d.options.Schema, relational.GrantTable).Scan(&found.version, &found.indexes)
	}
	return found, err
}

// build makes the missing tables and migrates old ones, in one transaction under
// the schema lock. Whoever comes second waits, and finds everything done.
func (d *driver) build(ctx context.Context, conn *pgx.Conn) error {
	if err := d.makeLockTable(ctx, conn); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // no-op after the commit
	if !d.options.NoStatementCache {
		if _, err := tx.Exec(ctx, "set local idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}
	}
	if err := d.holdSchema(ctx, tx); err != nil {
		return err
	}
	found, err := d.inspect(ctx, conn)
	if err != nil {
		return err
	}
	if found.complete() {
		return nil
	}
	var script strings.Builder
	old, keys := found.old(), ""
	for _, t := range relational.Tables {
		if !found.has(t.Name) && !found.leftOut(t) {
			script.WriteString(createTable(t))
			if old > 0 && t.Name == relational.AuditSubjectTable {
				keys = createKeys(t) // of a table that is filled first
				continue
			}
			script.WriteString(createKeys(t))
		}
	}
	if old > 0 {
		if err := d.migrate(ctx, tx, found); err != nil {
			return err
		}
	}
	if old > 0 {
		script.WriteString(fill(found))
	}
	if _, err := tx.Exec(ctx, d.sql(script.String()), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if keys != "" {
		if err := d.fillSubjects(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, d.sql(keys), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	switch old {
	case 1:
		_, err = tx.Exec(ctx, d.sql(`insert into "AuthzSchema" ("app", "id", "version", "incarnation", "migratedAt")
			values ('', 1, $1, $2, `+clock+`)`), relational.SchemaVersion, rand.Text())
	case 2, 3, 4, 5:
		_, err = tx.Exec(ctx, d.sql(`update "AuthzSchema" set "version" = $1, "migratedAt" = `+clock), relational.SchemaVersion)
	}
	if err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// makeLockTable comes before everything else and commits, so that the lock in it
// is seen by others. Two at once: one of them fails, and finds it made.
func (d *driver) makeLockTable(ctx context.Context, conn *pgx.Conn) error {
	i := slices.IndexFunc(relational.Tables, func(t relational.Table) bool { return t.Name == relational.LockTable })
	lock := relational.Tables[i]
	for attempt := 0; ; attempt++ {
		var schema, table bool
		err := conn.QueryRow(ctx, `select exists (select 1 from pg_namespace where nspname = $1),
			exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2)`,
			d.options.Schema, lock.Name).Scan(&schema, &table)
		switch {
		case err != nil:
			return err
		case table:
			return nil
		}
		script := createTable(lock) + createKeys(lock)
		if !schema {
			script = "create schema " + pgx.Identifier{d.options.Schema}.Sanitize() + ";\n" + script
		}
		_, err = conn.Exec(ctx, d.sql(script), pgx.QueryExecModeSimpleProtocol)
		switch stateOf(err) {
		case stateTaken, stateDuplicate, stateSchemaExists, stateObjectExists:
			if attempt < 10 {
				continue
			}
		}
		return err
	}
}

// holdSchema takes the lock's row for as long as the transaction lives.
func (d *driver) holdSchema(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, d.sql(`insert into "AuthzLock" as t ("app", "key", "holder", "fence", "expiresAt") values ('', $1, null, `+clock+`, `+clock+`)
		on conflict ("app", "key") do update set "fence" = t."fence" + 1, "expiresAt" = excluded."expiresAt"`), schemaKey)
	return err
}

func createTable(t relational.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "create table %q (\"app\" text collate \"C\" not null default ''", t.Name)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, ", %q %s", c.Name, columnType(c))
		if !c.Null {
			b.WriteString(" not null")
		}
		if c.Default != "" {
			b.WriteString(" default " + c.Default)
		}
	}
	fmt.Fprintf(&b, ");\n")
	return b.String()
}

// createKeys makes the primary key and the indexes, each led by the partition.
func createKeys(t relational.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "alter table %q add constraint %q primary key (%s);\n", t.Name, keyName(t.Name), led(t.Key))
	b.WriteString(createIndexes(t, ""))
	return b.String()
}

func createIndexes(t relational.Table, unless string) string {
	var b strings.Builder
	for _, index := range t.Indexes {
		fmt.Fprintf(&b, "create index %s%q on %q (%s);\n", unless, indexName(t.Name, index), t.Name, indexed(index))
	}
	return b.String()
}

// fill gives the tables of edges that a migration makes those of the rows there are.
func fill(found content) string {
	var b strings.Builder
	for _, d := range relational.DerivedTables {
		i := slices.IndexFunc(relational.Tables, func(t relational.Table) bool { return t.Name == d.Edges.Table })
		if found.has(d.Source) && !found.has(d.Edges.Table) && !found.leftOut(relational.Tables[i]) {
			fmt.Fprintf(&b, "insert into %q (\"app\", %q, %q) select distinct s.\"app\", v.value, s.%q from %q s cross join lateral json_array_elements_text(s.%q) v;\n",
				d.Edges.Table, d.Edges.Of, d.Edges.From, d.Key, d.Source, d.List)
		}
	}
	return b.String()
}

// keyName is unqualified wherever it stands, and so has no quote before Authz.
func keyName(table string) string { return "pkey_" + table }

func indexName(table string, columns []string) string {
	return "idx_" + table + "_app_" + strings.Join(columns, "_")
}

func indexed(names []string) string {
	list := `"app"`
	for _, name := range names {
		list += ", " + relational.Indexed(name)
	}
	return list
}

func led(columns []string) string { return quoted(append([]string{"app"}, columns...), "") }

// columnType gives versions and stages, which the seam lets go up to 2^53−1, the
// room for it.
func columnType(c relational.Column) string {
	switch {
	case c.Type == relational.Big, c.Name == "version", c.Name == "stageIndex":
		return "bigint"
	case c.Type == relational.Int:
		return "integer"
	case c.Type == relational.JSON:
		return "json"
	case c.Type == relational.Bool:
		return "boolean"
	}
	return `text collate "C"`
}

// quoted lists columns, each behind a prefix such as "t.".
func quoted(columns []string, prefix string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + `"` + c + `"`
	}
	return strings.Join(list, ", ")
}
