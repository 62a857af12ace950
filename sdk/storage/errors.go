package storage

import (
	"errors"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
)

// Code says what a driver refused or could not do.
type Code string

// The codes of an Error.
const (
	CodeValidation  Code = "validation"
	CodeConflict    Code = "conflict"
	CodeNotFound    Code = "not_found"
	CodeStaleFence  Code = "stale_fence"
	CodeUnsupported Code = "unsupported"
	CodeTooLarge    Code = "too_large"
	CodeUnavailable Code = "unavailable"
)

// Error is the only error that crosses the seam. Message is for people; database
// text goes to the log only, as Cause, which does not cross a process.
type Error struct {
	Code    Code
	Message string

	Outcome authz.Outcome // of CodeUnavailable on a write
	Lost    bool          // of CodeUnavailable: what was open is gone or another, for good
	Grants  int64         // of CodeConflict on DeleteRole: grants that name it
	Version int64         // of CodeConflict on a versioned row: the current version; of CodeUnsupported: the database's schema version
	Cause   error
}

func (e *Error) Error() string     { return "storage: " + string(e.Code) + ": " + e.Message }
func (e *Error) Unwrap() error     { return e.Cause }
func (e *Error) ErrorName() string { return "StorageError" }
func (e *Error) ErrorCode() string { return string(e.Code) }

// Errorf builds an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Unavailable builds a CodeUnavailable.
func Unavailable(outcome authz.Outcome, cause error, format string, args ...any) *Error {
	return &Error{Code: CodeUnavailable, Message: fmt.Sprintf(format, args...), Outcome: outcome, Cause: cause}
}

// Lost builds a CodeUnavailable of a store whose content was taken away or replaced
// while it was open: whoever has it open must not take what comes back for what it knew.
func Lost(outcome authz.Outcome, cause error, format string, args ...any) *Error {
	e := Unavailable(outcome, cause, format, args...)
	e.Lost = true
	return e
}

// ErrOtherLife is the refusal of a commit that was judged against another life of the
// content. It is one value a call: whoever wraps it may change it.
func ErrOtherLife() *Error {
	return Lost(authz.OutcomeNotApplied, nil, "the content was given a new incarnation after the commit was judged")
}

// IsLost reports that err says that the content was lost.
func IsLost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeUnavailable && e.Lost
}

// Unsupported is the answer of an operation whose capability is absent.
func Unsupported(c Capability) *Error {
	return Errorf(CodeUnsupported, "this storage driver lacks the capability %q", c)
}

// CodeOf returns the code of an Error in err's chain, else "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
