package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// connect opens a driver that ends with the test.
func connect(t testing.TB, o postgres.Options) storage.Driver {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := postgres.New(ctx, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func open(t testing.TB, d storage.Driver, partition string) storage.Store {
	t.Helper()
	s, err := d.Open(context.Background(), partition)
	if err != nil {
		t.Fatalf("open %q: %v", partition, err)
	}
	return s
}

// sql runs statements on a connection of the test's own.
func sql(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(context.Background(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
}

// ask runs a query that returns one column.
func ask[T any](t testing.TB, dsn, query string) []T {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func collect[T any](t testing.TB, list iter.Seq2[T, error]) []T {
	t.Helper()
	rows := []T{}
	for row, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func expectCode(t testing.TB, want storage.Code, err error) {
	t.Helper()
	if got := storage.CodeOf(err); err == nil || got != want {
		t.Fatalf("answered %v, want %q", err, want)
	}
}

func write(t testing.TB, s storage.Store, changes ...storage.Change) storage.CommitResult {
	t.Helper()
	return must[storage.CommitResult](t)(s.Commit(context.Background(), commitOf(changes...)))
}

func commitOf(changes ...storage.Change) storage.Commit {
	return storage.Commit{ID: rand.Text(), At: 1, Changes: changes}
}

func grant(id, subject string) authz.Grant {
	return authz.Grant{ID: id, Subject: subject, Pattern: "docs.*", Scope: "*", Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
}

func record(id string) storage.Record {
	return storage.Record{Collection: "c", ID: id, Data: json.RawMessage(`{}`), UpdatedAt: 1}
}

// blocker holds locks from a connection of its own.
type blocker struct {
	conn *pgx.Conn
	text string
	tx   pgx.Tx
}

func newBlocker(t testing.TB, dsn, text string) *blocker {
	t.Helper()
	conn := must[*pgx.Conn](t)(pgx.Connect(context.Background(), dsn))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &blocker{conn: conn, text: text}
}

func (b *blocker) hold(t testing.TB) {
	t.Helper()
	b.tx = must[pgx.Tx](t)(b.conn.Begin(context.Background()))
	if _, err := b.tx.Exec(context.Background(), b.text); err != nil {
		t.Fatal(err)
	}
}

func (b *blocker) release(t testing.TB) {
	t.Helper()
	if err := b.tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
}
