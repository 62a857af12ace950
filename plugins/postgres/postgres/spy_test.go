package postgres_test

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
)

// settingSpy remembers the statements of batches, and what synchronous_commit
// the sessions were started with.
type settingSpy struct {
	mu      sync.Mutex
	setting string
	texts   []string
}

func (s *settingSpy) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.texts, text)
}

// session is what synchronous_commit the sessions were started with.
func (s *settingSpy) session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setting
}

func (*settingSpy) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (*settingSpy) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *settingSpy) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setting = conn.Config().RuntimeParams["synchronous_commit"]
	return ctx
}

func (s *settingSpy) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, d.SQL)
}

func (*settingSpy) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
