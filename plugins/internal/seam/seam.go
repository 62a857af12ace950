// Package seam is what this repository's storage drivers answer alike, whatever their
// database: a handle that was closed, a call that is over, and rows that are taken,
// absent or of another version.
package seam

import (
	"context"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Handle is closed when its store is.
type Handle chan struct{}

// Closed reports whether the store was closed.
func (h Handle) Closed() bool {
	select {
	case <-h:
		return true
	default:
		return false
	}
}

// Usable refuses a call on a closed handle and one whose context has ended.
func (h Handle) Usable(ctx context.Context) error {
	if h.Closed() {
		return Closed()
	}
	if ctx.Err() != nil {
		return Interrupted(ctx)
	}
	return nil
}

// Check refuses arguments that no driver accepts.
func Check(arguments []any) error {
	for _, a := range arguments {
		if err := storage.CheckValue(a); err != nil {
			return err
		}
	}
	return nil
}

// Closed is the answer of a call on a closed handle.
func Closed() *storage.Error {
	return storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
}

// DriverClosed is the answer of a driver that was closed.
func DriverClosed() *storage.Error {
	return storage.Unavailable(authz.OutcomeNotApplied, nil, "the driver is closed")
}

// Interrupted is the answer of a call whose context ended before it did anything.
func Interrupted(ctx context.Context) *storage.Error {
	return storage.Unavailable(authz.OutcomeNotApplied, ctx.Err(), "the call was ended before it was carried out")
}

// Taken refuses to insert a row whose id there is.
func Taken(what, id string) error {
	return storage.Errorf(storage.CodeConflict, "%s %s exists already", what, spell.Quote(id))
}

// Absent refuses what needs a row that there is not.
func Absent(what, id string) error {
	return storage.Errorf(storage.CodeNotFound, "%s %s does not exist", what, spell.Quote(id))
}

// Moved refuses what expected another version than the current one.
func Moved(current int64, format string, args ...any) error {
	err := storage.Errorf(storage.CodeConflict, format, args...)
	err.Version = current
	return err
}
