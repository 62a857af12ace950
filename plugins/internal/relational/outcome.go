package relational

import (
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Unsettled is the error of a call of several transactions: once one of them has
// changed something, an outage cannot say that nothing was applied.
func Unsettled(err error, begun bool) error {
	if !begun {
		return err
	}
	return WithOutcome(err, authz.OutcomeUnknown)
}

// WithOutcome says of a write what an outage under it, such as one of a read on its
// behalf, could not know.
func WithOutcome(err error, outcome authz.Outcome) error {
	var down *storage.Error
	if !errors.As(err, &down) || down.Code != storage.CodeUnavailable {
		return err
	}
	known := *down
	known.Outcome = outcome
	return &known
}
