package sqlite

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/authzhost/authz/plugins/internal/relational"
)

// session is one connection with the statements it has prepared. One call at a
// time uses it.
type session struct {
	conn       *sql.Conn
	file       *file
	statements map[string]*sql.Stmt
	observe    func(string)
}

func (s *session) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if s.observe != nil {
		s.observe(text)
	}
	if stmt, found := s.statements[text]; found {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.statements[text] = stmt
	return stmt, nil
}

// close leaves the connection of a file that was lost to the end of the process, where
// closing it would harm another one.
func (s *session) close() {
	if !s.file.closing() {
		return
	}
	for _, stmt := range s.statements {
		_ = stmt.Close()
	}
	_ = s.conn.Close()
}

// work is one use of a session: the statements of a read or of a transaction.
type work struct {
	*session

	// ctx ends with the call; it is looked at between two statements.
	ctx context.Context

	// running is what a statement runs under. In a write it never ends: a
	// statement interrupted half-way could roll its transaction back unseen.
	running context.Context
}

func (w *work) exec(text string, args ...any) (affected int64, err error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	stmt, err := w.prepared(w.running, text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(w.running, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each scans the rows of a query until one of them says that it was enough.
func (w *work) each(text string, args []any, row func(scan relational.Scan) (enough bool, err error)) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	stmt, err := w.prepared(w.running, text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(w.running, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		enough, err := row(rows.Scan)
		if err != nil {
			return err
		}
		if enough {
			return rows.Close()
		}
	}
	return rows.Err()
}

// one scans the only row of a query.
func (w *work) one(text string, args []any, dest ...any) (found bool, err error) {
	err = w.each(text, args, func(scan relational.Scan) (bool, error) {
		found = true
		return false, scan(dest...)
	})
	return found && err == nil, err
}

// rowOf reads the only row of a query as an entity.
func rowOf[T any](w *work, scan func(relational.Scan) (T, error), text string, args ...any) (row T, found bool, err error) {
	err = w.each(text, args, func(columns relational.Scan) (bool, error) {
		var err error
		row, err = scan(columns)
		found = true
		return false, err
	})
	if err != nil {
		var none T
		return none, false, err
	}
	return row, found, nil
}

// rowsOf reads all rows of a query as entities.
func rowsOf[T any](w *work, scan func(relational.Scan) (T, error), text string, args ...any) (rows []T, err error) {
	err = w.each(text, args, func(columns relational.Scan) (bool, error) {
		row, err := scan(columns)
		rows = append(rows, row)
		return false, err
	})
	return rows, err
}

// backoff waits for other processes, longer from time to time, until the context,
// the database or its own limit ends.
type backoff struct {
	next   time.Duration
	until  time.Time
	closed <-chan struct{}
}

func (db *database) newBackoff() *backoff {
	return &backoff{next: 200 * time.Microsecond, until: time.Now().Add(db.options.BusyTimeout), closed: db.closed}
}

// wait reports false when there is no time left.
func (b *backoff) wait(ctx context.Context) bool {
	left := time.Until(b.until)
	if left <= 0 {
		return false
	}
	pause := min(b.next/2+rand.N(b.next), left)
	b.next = min(b.next*2, 10*time.Millisecond)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-b.closed:
		return false
	case <-timer.C:
		return true
	}
}
