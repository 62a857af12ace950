package relational

import (
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Unsettled is the error of a call of several transactions: once one of them has
// changed something, an outage cannot say that nothing was applied.
func Unsettled(err error, begun bool) error {
	var down *storage.Error
	if !begun || !errors.As(err, &down) || down.Code != storage.CodeUnavailable {
		return err
	}
	known := *down
	known.Outcome = authz.OutcomeUnknown
	return &known
}
