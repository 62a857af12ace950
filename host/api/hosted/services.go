package hosted

import (
	"context"

	"github.com/authzhost/authz/host/service"
)

// Core is what every request asks of the core service.
type Core interface {
	// Authenticate reads who a credential speaks for, at every request anew.
	Authenticate(ctx context.Context, p service.Presented) (service.Caller, error)

	// ValidCSRF compares a session's token in constant time.
	ValidCSRF(sessionID, token string) bool

	// Authorize is org membership, then the gate.
	Authorize(ctx context.Context, caller service.Caller, org, app string, gate service.Gate, write bool) (*service.Access, error)
}

// Services are what the rows of the table are bound to.
type Services struct {
	Core Core
}
