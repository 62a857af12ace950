package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/storage"
)

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

func TestConformance(t *testing.T) {
	dsn := postgrestest.Database(t)
	conformance.Run(t, conformance.Target{
		Name: "postgres", Unpartitioned: true, SeparateProcesses: true,
		New: func(_ context.Context, c conformance.Options) (conformance.Backend, error) {
			schema := fmt.Sprintf("case%d", schemas.Add(1))
			return &backend{options: postgres.Options{DSN: dsn, Schema: schema, Lease: c.Lease}}, nil
		},
	})
}

func TestConformanceOfEveryOption(t *testing.T) {
	if testing.Short() {
		t.Skip("short: options other than the defaults are left out")
	}
	dsn := postgrestest.Database(t)
	for name, o := range map[string]postgres.Options{
		"none":    {DSN: dsn, Lock: postgres.LockNone},
		"pooler":  {DSN: dsn, NoStatementCache: true},
		"minimal": {DSN: dsn, MaxConnections: 2},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, conformance.Target{
				Name: "postgres " + name, SeparateProcesses: o.Lock != postgres.LockNone, Prefix: name,
				New: func(_ context.Context, c conformance.Options) (conformance.Backend, error) {
					own := o
					own.Lease = c.Lease
					return &backend{options: own, shared: true}, nil
				},
			})
		})
	}
}
