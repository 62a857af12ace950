package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// Homes of an org root, in me.orgRoot.home (spec: hosted-api §10).
const (
	HomeHosted      = "hosted"
	HomeApplication = "application"
	HomeNone        = "none"
)

// RootStatus is me.orgRoot.
type RootStatus struct {
	Home        string `json:"home"`
	Application string `json:"application,omitempty"`
	Reachable   bool   `json:"reachable"`
}

// Question asks the org root whether a principal holds a key of authz_internal at
// scope *. With a preview the answer is actor and previewed subject.
type Question struct {
	Org       string
	Principal authz.Principal
	ViewAs    *client.ViewAs
	Key       string
	Fresh     bool // for writes and destructive keys
}

// HeldKey is a key and the scopes at which it is held, as me shows it.
type HeldKey struct {
	Key    string   `json:"key"`
	Scopes []string `json:"scopes"`
}

// OrgRoot is what the core asks the org root. Its errors are *fault.Error: an org
// without a root is no_org_root, one that cannot be asked is the relay error, never
// a denial and never an allow.
type OrgRoot interface {
	// Decide answers with the reason when the answer is no.
	Decide(ctx context.Context, q Question) (allowed bool, reason authz.DenialReason, err error)

	// Access is the closure supply of a principal (spec: access §3.5).
	Access(ctx context.Context, org string, principal authz.Principal, fresh bool) (*authz.SubjectAccess, error)

	// Active tells whether the root calls a user active now, whatever the request has
	// read of them before.
	Active(ctx context.Context, org, userID string) (bool, error)

	// Beyond lists the keys of authz_internal at * that other holds at the org root or
	// at any linked application, and caller does not hold there. Both are read fresh.
	Beyond(ctx context.Context, org string, caller, other authz.Principal) ([]string, error)

	// Held lists the keys of authz_internal that a principal holds at *.
	Held(ctx context.Context, org string, principal authz.Principal, viewAs *client.ViewAs) ([]HeldKey, error)

	// Role is a role of the root; ProviderWriteRejectedError not_found when absent.
	Role(ctx context.Context, org, id string) (authz.Role, error)

	// Status tells where the root is and whether it answers.
	Status(ctx context.Context, org string) (RootStatus, error)
}

// Applications is what the core asks of the org's applications.
type Applications interface {
	// Exists tells whether the org has an entry of that id.
	Exists(ctx context.Context, org, id string) (bool, error)

	// OwnerID is the application that the namespace belongs to.
	OwnerID(ctx context.Context, org, namespace string) (id string, found bool, err error)

	// Steady runs fn while no entry of the org comes or goes.
	Steady(ctx context.Context, org string, fn func(context.Context) error) error
}

// Meters is what the core asks of metering (spec: hosted-api §16).
type Meters interface {
	// Check is cap_reached when one more would go over the dimension's cap.
	Check(ctx context.Context, org, dimension string) error
}

// DimensionSeats is the meter of account.Seat.Counts.
const DimensionSeats = "admin_seats"

// Access is a passed gate: what the steps after it need. It lives as long as the
// request and is used by one goroutine.
type Access struct {
	Caller Caller
	Org    account.Org
	Seat   *account.StoredSeat // nil for keys of no user
	ViewAs *client.ViewAs      // the preview in force in this org; it narrows every answer

	// Previewing tells that the caller's session previews in any org: it only reads.
	Previewing bool

	service  *Service
	fresh    bool
	signedIn int64              // when the caller's session was opened
	recovers bool               // a bootstrap session of an owner at a gate of Gate.Recovers
	judges   []*compiled.Access // of the actor and of the preview, once read
	narrowed []string           // scopes below * at which revokes name them, read with judges
}
