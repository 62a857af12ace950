package postgres_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/storage"
)

// statements keeps every statement about our tables whose first argument is not
// one of the partitions that are open.
type statements struct {
	mu         sync.Mutex
	partitions map[string]bool
	seen       map[string]bool
	bad        []string
}

func (s *statements) note(sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(sql, `"Authz`) || strings.Contains(sql, `coalesce(max("version"), 0)`) {
		return // tables are made and looked at before a partition is open
	}
	if len(args) > 0 {
		if _, mode := args[0].(pgx.QueryExecMode); mode {
			args = args[1:]
		}
	}
	s.seen[sql] = true
	partition, _ := append(slices.Clone(args), nil)[0].(string)
	tables, apps := strings.Count(sql, `."Authz`), strings.Count(sql, `"app"`)
	if !s.partitions[partition] || !strings.Contains(sql, "$1") || apps < tables {
		s.bad = append(s.bad, sql)
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.note(d.SQL, d.Args)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.note(d.SQL, d.Args)
}

func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// watched tells the statements which partitions are opened.
type watched struct {
	storage.Driver
	s *statements
}

func (w watched) Open(ctx context.Context, partition string) (storage.Store, error) {
	w.s.mu.Lock()
	w.s.partitions[partition] = true
	w.s.mu.Unlock()
	return w.Driver.Open(ctx, partition)
}

type watchedBackend struct {
	*backend
	s *statements
}

func (b watchedBackend) Connect(ctx context.Context) (storage.Driver, error) {
	d, err := postgres.New(ctx, postgres.Traced(b.options, b.s))
	if err != nil {
		return nil, err
	}
	return watched{d, b.s}, nil
}

func TestEveryStatementCarriesThePartition(t *testing.T) { // I28
	dsn := postgrestest.Database(t)
	connect(t, postgres.Options{DSN: dsn}) // makes the tables
	s := &statements{partitions: map[string]bool{}, seen: map[string]bool{}}
	selected := conformance.Selection{Suites: []string{"driver"}, Parallel: 4}
	if testing.Short() {
		selected.IDs = []string{"B01", "B17", "B20", "B34", "B59", "E20", "M01"}
	}
	report := conformance.Check(t.Context(), conformance.Target{
		Name: "postgres", SeparateProcesses: true, Prefix: "i28",
		New: func(_ context.Context, c conformance.Options) (conformance.Backend, error) {
			return watchedBackend{&backend{options: postgres.Options{DSN: dsn, Lease: c.Lease}, shared: true}, s}, nil
		},
	}, selected, nil)
	if report.Count("", conformance.Passed) < len(selected.IDs)-1 {
		t.Errorf("only %d cases passed", report.Count("", conformance.Passed))
	}
	for _, bad := range slices.Compact(slices.Sorted(slices.Values(s.bad))) {
		t.Errorf("a statement without the partition:\n%s", bad)
	}
	if n := len(s.seen); n < 20 {
		t.Errorf("only %d statements were seen", n)
	}
	t.Logf("%d statements seen in %d cases", len(s.seen), report.Count("", conformance.Passed))
}
