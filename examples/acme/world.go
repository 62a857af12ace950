package acme

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The size of the sample world.
const (
	UserCount   = 1200
	GroupCount  = 60
	RoleCount   = 30
	GrantCount  = 8000
	RevokeCount = 200
	NodeCount   = 5000 // folders and documents
)

// FarFuture is 2100-01-01T00:00:00Z, the first instant at which a dated grant of
// the sample expires. Instants are fixed: generating reads no clock.
const FarFuture int64 = 4102444800000

// World is the generated data, in the order in which it is loaded.
type World struct {
	Users    []authz.User
	Groups   []authz.Group
	Services []string // service ids
	Roles    []authz.Role
	Scopes   []Scope // recorded edges: folders and documents first, then invoices
	Accounts []string

	Grants  []Grant // those with ExpiresInMs stand last
	Revokes []provider.RevokeInput
}

// Scope is one recorded scope; no parents make it a root.
type Scope struct {
	ID      string
	Parents []string
}

// Grant is a grant to be created; like every row of a world it names its scope,
// "*" included.
//
// The host refuses an expiry in the past, so a row that is to be expired when
// questions are asked cannot be loaded as such. Such rows carry ExpiresInMs
// instead of ExpiresAt: Load creates them last, in one call, to expire that many
// milliseconds after it, and returns once they have. The expected answers count
// them as expired.
type Grant struct {
	provider.GrantInput
	ExpiresInMs int64 `json:",omitempty"`
}

// Expiring reports whether the row expires while the world is loaded.
func (g Grant) Expiring() bool { return g.ExpiresInMs > 0 }
