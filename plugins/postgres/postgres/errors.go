package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The SQLSTATEs that the driver acts on.
const (
	stateRefused      = "22012" // division by zero: how a statement of ours refuses
	stateTaken        = "23505"
	stateSerialize    = "40001"
	stateDeadlock     = "40P01"
	stateUnknown      = "40003"
	stateLimit        = "54000" // such as an index entry that does not fit a page
	stateNumber       = "22003"
	stateForbidden    = "42501"
	stateStarting     = "57P03"
	stateDuplicate    = "42P07"
	stateSchemaExists = "42P06"
	stateObjectExists = "42710"
)

func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// fatal reports that the server ended the connection with its answer.
func fatal(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC")
}

// connectionLost reports that an established connection broke, so that another
// one may work.
func connectionLost(err error) bool {
	var connecting *pgconn.ConnectError
	var ours *storage.Error
	switch state := stateOf(err); {
	case errors.As(err, &connecting), errors.As(err, &ours), errors.Is(err, pgx.ErrNoRows):
		return false
	case state == "":
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	default:
		return state != stateStarting && (fatal(err) || strings.HasPrefix(state, "08"))
	}
}

// readError is what a failed read answers.
func readError(err error) error { return failure(err, "") }

// failure is what the seam says of an error of the database: outcome is what is
// known of the write.
func failure(err error, outcome authz.Outcome) error {
	var ours *storage.Error
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return storage.Unavailable(outcome, err, "the call was ended before PostgreSQL answered")
	case errors.As(err, &refused):
		switch refused.Code {
		case stateLimit:
			return &storage.Error{Code: storage.CodeTooLarge, Message: "a value is larger than PostgreSQL can keep or index", Cause: err}
		case stateNumber:
			return &storage.Error{Code: storage.CodeValidation, Message: "a number is outside the range of its column", Cause: err}
		}
		return storage.Unavailable(outcome, err, "PostgreSQL refused a statement (SQLSTATE %s)", refused.Code)
	}
	return storage.Unavailable(outcome, err, "PostgreSQL does not answer")
}

func errSchema(version int64, format string, args ...any) error {
	err := storage.Errorf(storage.CodeUnsupported, format, args...)
	err.Version = version
	return err
}

func errVersionAbove(version int64) error {
	return errSchema(version, "the database has schema version %d; this driver knows versions up to %d",
		version, relational.SchemaVersion)
}
