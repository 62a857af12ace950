package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func open(t *testing.T, o Options) (*driver, *store) {
	t.Helper()
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s, err := d.Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	return d.(*driver), s.(*store)
}

func tempFile(t *testing.T) string { return filepath.Join(t.TempDir(), "authz.db") }

func role(id string) storage.Commit {
	return storage.Commit{ID: id, Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: id}}}}
}

func asError(err error, target **storage.Error) bool { return errors.As(err, target) }

func rowsIn(t *testing.T, s *store, table string) (n int) {
	t.Helper()
	err := s.db.read(t.Context(), func(w *work) error {
		_, err := w.one(`SELECT count(*) FROM "`+table+`" WHERE "app" = ?`, []any{s.app}, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (db *database) writeOutside(t *testing.T, fn func(*work) error) error {
	s, err := db.take(t.Context(), db.writer, writerSetup)
	if err != nil {
		return err
	}
	defer db.writer.giveBack(s, false)
	return fn(&work{session: s, ctx: t.Context(), running: t.Context()})
}

func sqliteError(t *testing.T, script string) error {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(script)
	return err
}
