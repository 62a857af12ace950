package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// database is the file: one session that writes and several that read. Sessions
// are opened when they are first needed and given up when they may be broken.
type database struct {
	file    *file
	options Options
	pool    *sql.DB
	closed  chan struct{}

	writer  *sessions // one
	readers *sessions
}

func openDatabase(f *file, o Options) (*database, error) {
	pool, err := sql.Open("sqlite", f.source())
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(0) // a session given up is closed
	db := &database{
		file: f, options: o, pool: pool, closed: make(chan struct{}),
		writer: newSessions(1), readers: newSessions(o.Readers),
	}
	return db, nil
}

// close ends waits for other processes, and waits for the calls under way.
func (db *database) close() error {
	close(db.closed)
	db.writer.close()
	db.readers.close()
	return db.pool.Close()
}

// take waits for a session; it is opened when need be.
func (db *database) take(ctx context.Context, from *sessions, setup string) (*session, error) {
	s, err := from.take(ctx, db.closed)
	if err != nil || s != nil {
		return s, err
	}
	if s, err = db.connect(ctx, setup); err != nil {
		from.giveBack(nil, false)
		return nil, err
	}
	return s, nil
}

func (db *database) connect(ctx context.Context, setup string) (*session, error) {
	for pause := db.newBackoff(); ; {
		if err := db.file.look(); err != nil {
			return nil, err
		}
		conn, err := db.pool.Conn(ctx)
		if err == nil {
			if _, err = conn.ExecContext(ctx, setup+"; SELECT count(*) FROM sqlite_schema"); err == nil { // which opens the log
				s := &session{conn: conn, file: db.file, statements: map[string]*sql.Stmt{}, observe: db.options.observe}
				if err := db.file.opened(); err != nil {
					s.close()
					return nil, err
				}
				return s, nil
			}
			_ = conn.Close()
		}
		if !isBusy(err) || !pause.wait(ctx) {
			return nil, err
		}
	}
}

// What the sessions of either kind are set up with, beside file.source.
const (
	readerSetup = "PRAGMA query_only = 1"
	writerSetup = "PRAGMA query_only = 0"
)

// read runs fn on a reader. What fn reads with one statement is one instant. fn
// runs again while another process is in the way: it must start afresh.
func (db *database) read(ctx context.Context, fn func(*work) error) error {
	s, err := db.take(ctx, db.readers, readerSetup)
	if err != nil {
		return failure(ctx, err, authz.OutcomeNotApplied)
	}
	broken := true
	defer func() { db.readers.giveBack(s, broken) }()
	w := &work{session: s, ctx: ctx, running: ctx}
	for pause := db.newBackoff(); ; {
		err := fn(w)
		if err == nil || !isBusy(err) || !pause.wait(ctx) {
			broken = err != nil && storage.CodeOf(err) == ""
			if err != nil {
				return failure(ctx, err, authz.OutcomeNotApplied)
			}
			return nil
		}
	}
}

// snapshot is a read whose statements see one and the same instant.
func (db *database) snapshot(ctx context.Context, fn func(*work) error) error {
	return db.read(ctx, func(w *work) error {
		ending := &work{session: w.session, ctx: context.Background(), running: context.Background()}
		if _, err := ending.exec("BEGIN"); err != nil {
			return err
		}
		err := fn(w)
		if _, rollbackErr := ending.exec("ROLLBACK"); rollbackErr != nil && err == nil {
			err = rollbackErr
		}
		return err
	})
}

// write runs fn in a transaction that holds the write lock from its beginning. It
// is applied when write returns nil; any error but an unknown outcome says that
// nothing was written.
func (db *database) write(ctx context.Context, fn func(*work) error) error {
	s, err := db.take(ctx, db.writer, writerSetup)
	if err != nil {
		return failure(ctx, err, authz.OutcomeNotApplied)
	}
	broken := true
	defer func() { db.writer.giveBack(s, broken) }()
	whole := context.WithoutCancel(ctx)
	ending := &work{session: s, ctx: whole, running: whole}
	if err := db.begin(ctx, ending); err != nil {
		broken = !isBusy(err) && ctx.Err() == nil
		return failure(ctx, err, authz.OutcomeNotApplied)
	}
	defer func() {
		if r := recover(); r != nil {
			_, _ = ending.exec("ROLLBACK")
			panic(r)
		}
	}()
	// The files are looked at before anything is judged, when all is ready, and when it is
	// written: what goes to a file that is lost must not be acknowledged.
	if err = db.file.look(); err == nil {
		err = fn(&work{session: s, ctx: ctx, running: whole})
	}
	if err == nil {
		err = ctx.Err() // nobody waits for it any more
	}
	if err == nil {
		err = db.file.look()
	}
	if err != nil {
		_, rollbackErr := ending.exec("ROLLBACK")
		broken = rollbackErr != nil
		return failure(ctx, err, authz.OutcomeNotApplied)
	}
	if _, err := ending.exec("COMMIT"); err != nil {
		_, rollbackErr := ending.exec("ROLLBACK")
		broken = rollbackErr != nil
		return failure(whole, err, commitOutcome(err))
	}
	broken = false
	if db.file.look() != nil {
		return db.file.loss(authz.OutcomeUnknown) // what was written may yet reach the database
	}
	return nil
}

// begin takes the write lock, waiting for other processes.
func (db *database) begin(ctx context.Context, w *work) error {
	for pause := db.newBackoff(); ; {
		_, err := w.exec("BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) || !pause.wait(ctx) {
			return err
		}
	}
}

// commitOutcome says what is known of a transaction whose COMMIT failed. Its last
// record is written last: without space for it, and when the lock was not to be
// had, there is nothing that a recovery could find. After any other failure, such
// as that of a sync, there may be.
func commitOutcome(err error) authz.Outcome {
	switch resultCode(err) {
	case codes.SQLITE_FULL, codes.SQLITE_BUSY:
		return authz.OutcomeNotApplied
	}
	return authz.OutcomeUnknown
}

// writing is a write of its own, outside any commit, that must happen also when
// the caller has gone: at most limit long.
func (db *database) writing(limit time.Duration, fn func(*work) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return db.write(ctx, fn)
}

// pragma reads a number that the database keeps about itself.
func (w *work) pragma(name string) (value int64, err error) {
	_, err = w.one(fmt.Sprintf("PRAGMA %s", name), nil, &value)
	return value, err
}
