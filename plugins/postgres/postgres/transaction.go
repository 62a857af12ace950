package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// clock is the server's, at the moment of its reading, in epoch milliseconds.
const clock = `(extract(epoch from clock_timestamp()) * 1000)::bigint`

const (
	begin    = "begin isolation level read committed read write"
	commit   = "commit"
	durable  = "set local synchronous_commit = on"
	unstuck  = "set local idle_in_transaction_session_timeout = 10000"
	attempts = 30 * time.Second // how long conflicts are retried without a deadline
)

// step is one statement of a transaction. At most one of read and affected is set;
// a step sent together with the commit can keep what they are given but no longer
// refuse it.
type step struct {
	sql  string
	args []any
	late func() []any // further arguments, known when the connection is

	read     func(pgx.Rows) error   // judges and keeps what the statement returned
	affected func(rows int64) error // judges how many rows it changed

	// refused says what it means when the statement divided by zero, and taken
	// when a key was not free. They are asked after the transaction has been rolled
	// back; nil means that what stood in the way is gone: try again.
	refused func(context.Context) error
	taken   func(context.Context) error
}

// transaction is one atomic write. Without rest it is one round trip; rest
// gives the statements that need to know what the first ones returned.
type transaction struct {
	steps []step
	rest  func() ([]step, error)
}

// transact carries a transaction out, again and again while it merely collides
// with others.
func (d *driver) transact(ctx context.Context, t *transaction) error {
	_, bounded := ctx.Deadline()
	limit := time.Now().Add(attempts)
	for attempt := 0; ; attempt++ {
		again, err := d.attempt(ctx, t)
		if err == nil || !again {
			return err
		}
		if ctx.Err() != nil || !bounded && time.Now().After(limit) {
			return err
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(5*time.Millisecond) << min(attempt, 5))))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// broken is a transaction that did not come to its end.
type broken struct {
	err     error
	step    *step // at fault, when one is
	unknown bool  // the commit was sent and not answered
	refusal bool  // err is a judgement of ours
}

func (d *driver) attempt(ctx context.Context, t *transaction) (again bool, err error) {
	select {
	case d.writers <- struct{}{}:
	case <-ctx.Done():
		return false, seam.Interrupted(ctx)
	}
	b := d.try(ctx, t)
	<-d.writers
	switch {
	case b == nil:
		return false, nil
	case b.refusal:
		return false, b.err
	case b.unknown:
		return false, failure(b.err, authz.OutcomeUnknown)
	}
	var refused *pgconn.PgError
	if errors.As(b.err, &refused) {
		judge := func(context.Context) error { return failure(b.err, authz.OutcomeNotApplied) }
		switch {
		case refused.Code == stateSerialize, refused.Code == stateDeadlock:
			return true, storage.Unavailable(authz.OutcomeNotApplied, b.err, "the write kept colliding with others")
		case refused.Code == stateRefused && b.step != nil && b.step.refused != nil:
			judge = b.step.refused
		case refused.Code == stateTaken && b.step != nil && b.step.taken != nil:
			judge = b.step.taken
		}
		if err := judge(ctx); err != nil {
			return false, err
		}
		return true, storage.Unavailable(authz.OutcomeNotApplied, b.err, "the write kept colliding with others")
	}
	// Nothing reached the server: a connection that an earlier server left behind.
	return pgconn.SafeToRetry(b.err) && connectionLost(b.err), failure(b.err, authz.OutcomeNotApplied)
}

// try sends the statements once, and leaves the connection outside a transaction.
func (d *driver) try(ctx context.Context, t *transaction) *broken {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return &broken{err: err}
	}
	defer conn.Release()
	first := []step{{sql: begin}}
	if d.options.NoStatementCache {
		first = append(first, step{sql: durable}, step{sql: unstuck})
	}
	first = append(first, t.steps...)
	if t.rest == nil {
		return d.finish(conn, d.send(ctx, conn, first, true))
	}
	if b := d.send(ctx, conn, first, false); b != nil {
		return d.finish(conn, b)
	}
	rest, err := t.rest()
	if err != nil {
		return d.finish(conn, &broken{err: err, refusal: true})
	}
	return d.finish(conn, d.send(ctx, conn, rest, true))
}

// send pipelines the statements, behind them the commit when it is asked for.
func (d *driver) send(ctx context.Context, conn *pgxpool.Conn, steps []step, committing bool) *broken {
	batch := &pgx.Batch{}
	for _, s := range steps {
		args := s.args
		if s.late != nil {
			args = append(slices.Clip(args), s.late()...)
		}
		batch.Queue(d.sql(s.sql), args...)
	}
	if committing {
		batch.Queue(commit)
	}
	results := conn.SendBatch(ctx, batch)
	defer results.Close()
	for i := range steps {
		s := &steps[i]
		err, ours := receive(results, s)
		if err != nil {
			return d.brokenAt(err, s, ours, committing)
		}
	}
	if !committing {
		if err := results.Close(); err != nil {
			return d.brokenAt(err, nil, false, false)
		}
		return nil
	}
	tag, err := results.Exec()
	if err == nil {
		// The sync behind the commit brings nothing that could undo it.
		if tag.String() != "COMMIT" {
			return &broken{err: errors.New("the server answered " + tag.String() + " to a commit")}
		}
		return nil
	}
	b := d.brokenAt(err, nil, false, true)
	if state := stateOf(err); state == stateUnknown || fatal(err) {
		b.unknown = true
	}
	return b
}

// receive takes the answer to one statement; ours says that the error is a
// judgement of the step.
func receive(results pgx.BatchResults, s *step) (err error, ours bool) {
	if s.read == nil {
		tag, err := results.Exec()
		if err != nil || s.affected == nil {
			return err, false
		}
		err = s.affected(tag.RowsAffected())
		return err, err != nil
	}
	rows, err := results.Query()
	if err != nil {
		return err, false
	}
	defer rows.Close()
	judged := s.read(rows)
	rows.Close()
	if err := rows.Err(); err != nil {
		return err, false
	}
	return judged, judged != nil
}

// brokenAt sorts what went wrong. An error of the server means that the
// transaction will never be committed, and a judgement of ours that it is rolled
// back, unless the commit was sent along with the statement that was judged;
// anything else leaves a commit that was sent in the dark. So does class 08: a
// pooler says it in the server's stead when it has lost the server.
func (d *driver) brokenAt(err error, s *step, ours, committing bool) *broken {
	b := &broken{err: err, step: s}
	var refusal *storage.Error
	var server *pgconn.PgError
	switch {
	case ours:
		b.unknown = committing
		b.refusal = !committing && errors.As(err, &refusal)
	case errors.As(err, &server) && !strings.HasPrefix(server.Code, "08"), pgconn.SafeToRetry(err):
	default:
		b.unknown = committing
	}
	return b
}

// finish rolls back what did not come to its end.
func (d *driver) finish(conn *pgxpool.Conn, b *broken) *broken {
	if b == nil {
		return nil
	}
	if conn.Conn().IsClosed() {
		if connectionLost(b.err) {
			d.pool.Reset()
		}
		return b
	}
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return b
	}
	ctx, cancel := context.WithTimeout(context.Background(), asideTime)
	defer cancel()
	_, _ = conn.Conn().PgConn().Exec(ctx, "rollback").ReadAll() // a connection that cannot is closed when it is released
	return b
}
