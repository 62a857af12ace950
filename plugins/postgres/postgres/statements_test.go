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
	"github.com/authzhost/authz/sdk/storage"
)

// statements keeps every statement about our tables whose first argument is not
// one of the partitions that were opened, or that names a table without its
// partition.
type statements struct {
	mu         sync.Mutex
	partitions map[string]bool
	seen       map[string]bool
	bad        []string
}

func newStatements() *statements {
	return &statements{partitions: map[string]bool{}, seen: map[string]bool{}}
}

func (s *statements) note(sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(sql, `"Authz`) || strings.Contains(sql, `coalesce(max("version"), 0)`) {
		return // the version of the tables is looked at before a partition is open
	}
	if len(args) > 0 {
		if _, mode := args[0].(pgx.QueryExecMode); mode {
			args = args[1:]
		}
	}
	s.seen[sql] = true
	partition, ok := append(slices.Clone(args), nil)[0].(string)
	tables, apps := strings.Count(sql, `."Authz`), strings.Count(sql, `"app"`)
	if !ok || !s.partitions[partition] || !strings.Contains(sql, "$1") || apps < tables {
		s.bad = append(s.bad, sql)
	}
}

// check proves that every statement carried its partition, and that statements
// were seen at all.
func (s *statements) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bad := range slices.Compact(slices.Sorted(slices.Values(s.bad))) {
		t.Errorf("a statement without the partition:\n%s", bad)
	}
	if len(s.partitions) > 100 && len(s.seen) < 100 {
		t.Errorf("only %d statements were seen", len(s.seen))
	}
	t.Logf("%d statements seen in %d partitions", len(s.seen), len(s.partitions))
}

// watched is a target whose statements are looked at.
func (s *statements) watched(target conformance.Target) conformance.Target {
	plain := target.New
	target.New = func(ctx context.Context, o conformance.Options) (conformance.Backend, error) {
		b, err := plain(ctx, o)
		return watchedBackend{b.(*backend), s}, err
	}
	return target
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.note(d.SQL, d.Args)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		s.note(q.SQL, q.Arguments)
	}
	return ctx
}

func (*statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// watchedDriver tells the statements which partitions are opened.
type watchedDriver struct {
	storage.Driver
	s *statements
}

func (w watchedDriver) Open(ctx context.Context, partition string) (storage.Store, error) {
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
	return watchedDriver{d, b.s}, nil
}
