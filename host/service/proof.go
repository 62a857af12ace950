package service

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/service/fault"
)

// ProofLife is how long a session's sign-in counts as a proof of who is there.
const ProofLife = 15 * time.Minute

// RequireProof is proof_required for a session that was opened longer ago than
// ProofLife: whoever finds a browser open must not make keys, owners or links with
// it. Keys have no such proof and need none. It comes after the gate, so that nobody
// learns by it what they may do.
func (a *Access) RequireProof() error {
	if a.Caller.Kind != CallerSession || a.service.Clock()-a.signedIn <= ProofLife.Milliseconds() {
		return nil
	}
	return fault.Cloud("proof_required", "this needs a sign-in of the last %d minutes: sign in again, then repeat it", int(ProofLife.Minutes()))
}

// requireOwnerProof is RequireOwner for what makes owners and ends them.
func (a *Access) requireOwnerProof(ctx context.Context, act string) error {
	if err := a.RequireOwner(ctx, act); err != nil {
		return err
	}
	return a.RequireProof()
}
