package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	codes "modernc.org/sqlite/lib"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// prepareSchema makes the tables of an empty database and what a database lacks,
// migrates an older one when the options say so, and refuses what this driver
// cannot read.
func (db *database) prepareSchema(ctx context.Context) error {
	if err := db.useWAL(ctx); err != nil {
		return db.openFailure(ctx, err)
	}
	var found layout
	err := db.read(ctx, func(w *work) (err error) {
		found, err = layoutOf(w)
		return err
	})
	if err != nil {
		return db.openFailure(ctx, err)
	}
	if found.complete() {
		// What cannot be written would be found out by the first commit only.
		err := db.write(ctx, (*work).writable)
		if isBusy(err) {
			return nil
		}
		return db.openFailure(ctx, err)
	}
	err = db.write(ctx, func(w *work) error {
		found, err := layoutOf(w) // another process may have been faster
		switch {
		case err != nil:
			return err
		case found.version == 0 || found.version == relational.SchemaVersion:
			return create(w, found)
		case !db.options.Migrate:
			return errSchema(int64(found.version), "the database has schema version %d and this driver needs %d: run \"authz storage migrate\" after a backup",
				found.version, relational.SchemaVersion)
		}
		return migrate(w, found, db.options.Clock())
	})
	return db.openFailure(ctx, err)
}

// useWAL turns the journal mode, which a database keeps, outside any transaction.
func (db *database) useWAL(ctx context.Context) error {
	s, err := db.take(ctx, db.writer, writerSetup)
	if err != nil {
		return err
	}
	broken := true
	defer func() { db.writer.giveBack(s, broken) }()
	w := &work{session: s, ctx: ctx, running: ctx}
	for pause := db.newBackoff(); ; {
		var mode string
		_, err := w.one("PRAGMA journal_mode = WAL", nil, &mode)
		if err == nil && mode != "wal" {
			return storage.Unavailable(authz.OutcomeNotApplied, nil, "the database cannot keep a write-ahead log where it is")
		}
		if err == nil {
			db.file.note()
		}
		if err == nil || !isBusy(err) || !pause.wait(ctx) {
			broken = err != nil
			return err
		}
	}
}

// writable refuses a file that SQLite could open for reading only, which it does
// without a word.
func (w *work) writable() error {
	return w.conn.Raw(func(conn any) error {
		file, ok := conn.(interface {
			IsReadOnly(schema string) (bool, error)
		})
		if !ok {
			return nil
		}
		readOnly, err := file.IsReadOnly("main")
		if err == nil && readOnly {
			err = &plugin.ConfigError{Field: settingPath, Message: "the file cannot be written"}
		}
		return err
	})
}

// openFailure names the setting at fault where the file itself is.
func (db *database) openFailure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var config *plugin.ConfigError
	if errors.As(err, &config) {
		return config
	}
	message := ""
	switch resultCode(err) {
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		message = "the file is no SQLite database, or a damaged one"
	case codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_AUTH:
		message = "the file cannot be written"
	case codes.SQLITE_CANTOPEN:
		message = "the file cannot be opened, or its directory cannot be written"
	default:
		return failure(ctx, err, authz.OutcomeNotApplied)
	}
	return &plugin.ConfigError{Field: settingPath, Message: message}
}

// layout is what a database holds of ours.
type layout struct {
	version int  // 0 for nothing, 1 for tables without the column app, 2 for events without identities, 3 for no edges, 4 for no grants by time, 5 for no subjects of audit entries
	marked  bool // with the version, in the header of the file
	tables  map[string][]string
	names   map[string]bool // of tables and indexes
}

// layoutOf reads the layout and refuses a newer one.
func layoutOf(w *work) (found layout, err error) {
	mark, err := w.pragma("user_version")
	if err != nil {
		return found, err
	}
	if mark > relational.SchemaVersion {
		return found, errNewer(mark)
	}
	found = layout{marked: mark == relational.SchemaVersion, tables: map[string][]string{}, names: map[string]bool{}}
	name := func(scan relational.Scan) (name string, err error) { return name, scan(&name) }
	names, err := rowsOf(w, name, `SELECT "name" FROM sqlite_schema`)
	if err != nil {
		return found, err
	}
	for _, n := range names {
		found.names[n] = true
	}
	for _, t := range relational.Tables {
		if !found.names[t.Name] {
			continue
		}
		if found.tables[t.Name], err = rowsOf(w, name, `SELECT "name" FROM pragma_table_info(?)`, t.Name); err != nil {
			return found, err
		}
		if !slices.Contains(found.tables[t.Name], "app") {
			found.version = 1
		}
	}
	if len(found.tables) == 0 || found.version == 1 {
		return found, nil
	}
	found.version = relational.SchemaVersion
	if epoch, there := found.tables[relational.EpochTable]; there && !slices.Contains(epoch, "identity") {
		found.version = 2
	}
	newest := mark // where no partition was opened
	if found.names[relational.SchemaTable] {
		_, err = w.one(`SELECT coalesce(nullif(max("version"), 0), ?1) FROM "AuthzSchema"`, []any{mark}, &newest)
	}
	switch {
	case err == nil && newest > relational.SchemaVersion:
		err = errNewer(newest)
	case newest > 0 && newest < relational.SchemaVersion && found.version > 3:
		found.version = int(max(newest, 3))
	}
	return found, err
}

// complete says that nothing is to be made.
func (l layout) complete() bool {
	if l.version != relational.SchemaVersion || !l.marked {
		return false
	}
	for _, t := range relational.Tables {
		if !l.names[t.Name] {
			return false
		}
		for _, index := range t.Indexes {
			if !l.names[indexName(t, index)] {
				return false
			}
		}
	}
	return true
}

func errSchema(version int64, format string, args ...any) error {
	err := storage.Errorf(storage.CodeUnsupported, format, args...)
	err.Version = version
	return err
}

func errNewer(version int64) error {
	return errSchema(version, "the database has schema version %d, newer than %d, the newest that this driver knows", version, relational.SchemaVersion)
}

// create makes the tables and indexes that are missing.
func create(w *work, found layout) error {
	for _, t := range relational.Tables {
		if !found.names[t.Name] {
			if _, err := w.exec(createTable(t, t.Name)); err != nil {
				return err
			}
			if err := fill(w, found, t.Name); err != nil {
				return err
			}
		}
		for _, index := range t.Indexes {
			if found.names[indexName(t, index)] {
				continue
			}
			if _, err := w.exec(createIndex(t, index)); err != nil {
				return err
			}
		}
	}
	return markVersion(w)
}

// fill gives a table that was made just now, of edges or of subjects, what is to be found
// of the rows there are.
func fill(w *work, found layout, table string) error {
	if table == relational.AuditSubjectTable && found.names[relational.AuditTable] {
		return fillSubjects(w)
	}
	for _, d := range relational.DerivedTables {
		if d.Edges.Table != table || !found.names[d.Source] {
			continue
		}
		_, err := w.exec(fmt.Sprintf(`INSERT INTO %s ("app", %s, %s) SELECT DISTINCT s."app", j.value, s.%s FROM %s AS s, json_each(s.%s) AS j ORDER BY 1, 2, 3`,
			quote(table), quote(d.Edges.Of), quote(d.Edges.From), quote(d.Key), quote(d.Source), quote(d.List)))
		return err
	}
	return nil
}

func markVersion(w *work) error {
	_, err := w.exec(fmt.Sprintf("PRAGMA user_version = %d", relational.SchemaVersion))
	return err
}
