package mongo

import (
	"context"
	"errors"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// errStopped is what a test's pause returns to end a writer on the spot, as a
// killed process ends: nothing is tidied up.
var errStopped = errors.New("stopped")

// interrupted is the answer of a call whose context ended before it wrote anything.
func interrupted(ctx context.Context) *storage.Error {
	return storage.Unavailable(authz.OutcomeNotApplied, context.Cause(ctx), "the call was ended before it was carried out")
}

// failed is the answer when a statement failed and nothing was written. The
// database's words go to the log only.
func failed(cause error) error {
	var own *storage.Error
	if cause == nil || errors.As(cause, &own) {
		return cause
	}
	return storage.Unavailable(authz.OutcomeNotApplied, cause, "the database did not answer")
}

func unknown(cause error) *storage.Error {
	return storage.Unavailable(authz.OutcomeUnknown, cause, "the database did not confirm the write")
}

func errStale(f storage.Fence) *storage.Error {
	return storage.Errorf(storage.CodeStaleFence, "section %s has moved on from fence %d", spell.Quote(f.Key), f.Fence)
}
