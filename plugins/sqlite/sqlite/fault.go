package sqlite

import (
	"context"
	"errors"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// resultCode is SQLite's primary result code of an error, 0 when it has none.
func resultCode(err error) int {
	var e *modernc.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// isBusy reports that another connection is in the way for now.
func isBusy(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// failure is the seam's error for one of the database. What the database says
// stays in Cause. An error of the seam is returned as it is.
func failure(ctx context.Context, err error, outcome authz.Outcome) error {
	var own *storage.Error
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return storage.Unavailable(outcome, errors.Join(ctx.Err(), err), "the call was ended before it was carried out")
	}
	switch resultCode(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return storage.Unavailable(outcome, err, "another process held the database for too long")
	case codes.SQLITE_FULL:
		return storage.Unavailable(outcome, err, "there is no space left for the database")
	case codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return storage.Unavailable(outcome, err, "the database cannot be written")
	case codes.SQLITE_CANTOPEN:
		return storage.Unavailable(outcome, err, "the database file cannot be opened")
	case codes.SQLITE_IOERR:
		return storage.Unavailable(outcome, err, "the database file cannot be read or written")
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return storage.Unavailable(outcome, err, "the database file is damaged")
	case codes.SQLITE_TOOBIG:
		e := storage.Errorf(storage.CodeTooLarge, "a value is larger than the database takes")
		e.Cause = err
		return e
	}
	return storage.Unavailable(outcome, err, "the database failed")
}
