package application

import (
	"context"
	"errors"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// errStaleFence: a section of the operation has moved on to another holder.
var errStaleFence = errors.New("the exclusive section was lost")

// refusedError is a condition of a commit that did not hold.
type refusedError struct{ cause error }

func (e *refusedError) Error() string { return "a condition of the commit did not hold" }
func (e *refusedError) Unwrap() error { return e.cause }

func asRefused(err error) (cause error, ok bool) {
	var refused *refusedError
	if errors.As(err, &refused) {
		return refused.cause, true
	}
	return nil, false
}

// StorageFault is an answer of the driver that no caller can have caused. Its
// text names the operation only; the cause is for logs.
type StorageFault struct {
	Op    string
	cause error
}

func (e *StorageFault) Error() string     { return e.Op + " failed in storage" }
func (e *StorageFault) Unwrap() error     { return e.cause }
func (e *StorageFault) ErrorName() string { return "StorageFault" }
func (e *StorageFault) ErrorCode() string { return "" }

// readFailed turns a failure of a read into what a caller may see; nil stays nil.
func (a *Application) readFailed(op string, err error) error { return a.failed(op, "", err) }

// writeFailed is readFailed for a write that has changed nothing.
func (a *Application) writeFailed(op string, err error) error {
	return a.failed(op, authz.OutcomeNotApplied, err)
}

func (a *Application) failed(op string, outcome authz.Outcome, err error) error {
	if _, refused := asRefused(err); err == nil || refused || errors.Is(err, errStaleFence) {
		return err
	}
	var own *predicateError
	if errors.As(err, &own) {
		return err // of the caller's making
	}
	var typed authz.Error
	if errors.As(err, &typed) {
		if _, driver := typed.(*storage.Error); !driver {
			return err
		}
	}
	switch code := storage.CodeOf(err); {
	case code == storage.CodeStaleFence:
		return fmt.Errorf("%w: %w", errStaleFence, err)
	case code == storage.CodeUnavailable, code == "" && contextEnded(err):
		a.log.Debug("storage is unavailable", "op", op, "error", err)
		return &authz.UnavailableError{Message: op + ": storage is unavailable", Outcome: outcome, Cause: err}
	case code == storage.CodeUnsupported: // an older driver, asked for what came later
		a.log.Debug("storage does not support an operation", "op", op, "error", err)
		return authz.Rejected(authz.CodeUnsupported, "%s: the storage driver does not support this", op)
	}
	a.log.Error("storage failed an operation", "op", op, "error", err)
	return &StorageFault{Op: op, cause: err}
}

func contextEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func outcomeOf(err error) authz.Outcome {
	var e *storage.Error
	if errors.As(err, &e) {
		return e.Outcome
	}
	return ""
}
