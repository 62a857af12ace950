package postgres_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/storage"
)

// fullVariable, when set, has every case run under every option.
const fullVariable = "AUTHZ_FULL"

var schemas atomic.Int64

// backend is a schema in the database of the test, shared by cases that keep to
// partitions of their own.
type backend struct {
	options postgres.Options
	shared  bool
}

func (b *backend) Connect(ctx context.Context) (storage.Driver, error) {
	return postgres.New(ctx, b.options)
}

func (b *backend) Postpone(ctx context.Context, partition, key string, by time.Duration) error {
	conn, err := pgx.Connect(ctx, b.options.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	table := pgx.Identifier{cmp.Or(b.options.Schema, "public"), "AuthzLock"}.Sanitize()
	_, err = conn.Exec(ctx, `update `+table+` set "expiresAt" = "expiresAt" + $1 where "app" = $2 and "key" = $3`, by.Milliseconds(), partition, key)
	return err
}

func (b *backend) Close() error {
	if b.shared {
		return nil
	}
	conn, err := pgx.Connect(context.Background(), b.options.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), "drop schema if exists "+b.options.Schema+" cascade")
	return err
}

// target is one schema for all cases.
func target(name string, o postgres.Options) conformance.Target {
	return conformance.Target{Name: "postgres " + name, SeparateProcesses: o.Lock != postgres.LockNone, Prefix: name,
		New: func(_ context.Context, c conformance.Options) (conformance.Backend, error) {
			own := o
			own.Lease = c.Lease
			return &backend{options: own, shared: true}, nil
		}}
}

// Every case, in partitions of one schema: what makes a case slow otherwise is
// making its tables. Every statement is looked at on its way (I28).
func TestConformance(t *testing.T) {
	dsn := postgrestest.Database(t)
	connect(t, postgres.Options{DSN: dsn}) // makes the tables
	seen := newStatements()
	t.Cleanup(func() { seen.check(t) })
	conformance.RunSelected(t, seen.watched(target("table", postgres.Options{DSN: dsn})), conformance.Quick(t))
}

// The cases about the unpartitioned rows need a schema each.
func TestConformanceUnpartitioned(t *testing.T) {
	dsn := postgrestest.Database(t)
	var ids []string
	for _, c := range conformance.Cases() {
		if slices.Contains(c.Needs, string(conformance.Unnamed)) {
			ids = append(ids, c.ID)
		}
	}
	for _, id := range append(ids, "B01", "B59", "B71") {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			passes(t, conformance.Target{
				Name: "postgres", Unpartitioned: true, SeparateProcesses: true,
				New: func(_ context.Context, c conformance.Options) (conformance.Backend, error) {
					schema := fmt.Sprintf("case%d", schemas.Add(1))
					return &backend{options: postgres.Options{DSN: dsn, Schema: schema, Lease: c.Lease}}, nil
				},
			}, conformance.Selection{IDs: []string{id}})
		})
	}
}

// The other options, under the cases that they could break.
func TestConformanceOfEveryOption(t *testing.T) {
	dsn := postgrestest.Database(t)
	connect(t, postgres.Options{DSN: dsn})
	for _, c := range []struct {
		name    string
		options postgres.Options
		cases   []string
	}{
		{"none", postgres.Options{DSN: dsn, Lock: postgres.LockNone}, []string{"B68", "B69", "B70", "B71", "B72", "B73", "B74", "B76", "B78", "B86", "I18", "I19"}},
		{"pooler", postgres.Options{DSN: dsn, NoStatementCache: true}, []string{"B01", "B14", "B17", "B20", "B34", "B40", "B44", "B54", "B59", "B64", "B72", "B75",
			"B80", "B81", "B82", "B83", "B84", "B85", "E03", "E11", "E19", "E20", "M01", "M06"}},
		{"minimal", postgres.Options{DSN: dsn, MaxConnections: 2}, []string{"B11", "B75", "B76", "B80", "B83", "B85", "E10", "E20", "M06"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			selected := conformance.Selection{IDs: c.cases, Parallel: 4}
			if os.Getenv(fullVariable) != "" {
				selected.IDs = nil
			}
			passes(t, target(c.name, c.options), selected)
		})
	}
}

// passes runs the cases selected and fails the test with those that fail.
func passes(t *testing.T, target conformance.Target, selected conformance.Selection) {
	t.Helper()
	report := conformance.Check(t.Context(), target, selected, nil)
	if report.Count("", conformance.Passed) == 0 {
		t.Error("no case was run")
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Failed {
			t.Errorf("%s %s:\n%s", target.Name, r.Case.ID, r.Failure)
		}
	}
}
