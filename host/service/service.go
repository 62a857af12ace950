package service

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/secret"
)

// Who may create orgs (service.org_creation).
const (
	CreationBootstrap = "bootstrap"
	CreationSession   = "session"
)

// Longest and default lives of sessions (spec: hosted-api §4).
const (
	DefaultSessionLife = 12 * time.Hour
	DefaultSessionIdle = time.Hour
	MaxSessionLife     = 24 * time.Hour
	MaxSessionIdle     = 8 * time.Hour
)

// Options make a Service.
type Options struct {
	Accounts *account.Store
	Keys     *secret.Keys
	Clock    func() int64 // epoch milliseconds
	Logger   hclog.Logger // nil logs nothing

	// Bootstrap is the break-glass credential; the zero value admits nobody.
	Bootstrap Bootstrap

	// OIDC tells that sign-in by OpenID Connect is configured, which turns Bootstrap
	// off unless it is to be kept.
	OIDC bool

	// SessionLife and SessionIdle; 0 is the default.
	SessionLife, SessionIdle time.Duration

	// RefusalTime is the least time of a failed proof; 0 is DefaultRefusalTime.
	RefusalTime time.Duration

	OrgCreation string // "" is CreationBootstrap

	// StrictEscalation refuses account rights for groups and orgs, whose members others
	// decide, and holds writers of the org domain to the keys of authz_internal that
	// they hold themselves (service.strict_escalation).
	StrictEscalation bool

	Root         OrgRoot
	Applications Applications
	Meters       Meters
}

// Bootstrap is service.bootstrap.
type Bootstrap struct {
	UserID string
	Secret string
	Keep   bool // also with OIDC
}

// Service is the core of the hosted service. Its methods return *fault.Error; they
// are safe for use by many goroutines.
type Service struct {
	Options
	touches *toucher

	bootstrapSecret atomic.Pointer[string] // Bootstrap.Secret, until it is another
}

// New checks the options and makes the service, which the caller closes.
func New(o Options) (*Service, error) {
	if o.Accounts == nil || o.Keys == nil || o.Clock == nil || o.Root == nil || o.Applications == nil || o.Meters == nil {
		return nil, errors.New("service: accounts, keys, clock, root, applications and meters are required")
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	var err error
	if o.SessionLife, err = within("session life", o.SessionLife, DefaultSessionLife, MaxSessionLife); err != nil {
		return nil, err
	}
	if o.SessionIdle, err = within("session idle life", o.SessionIdle, DefaultSessionIdle, MaxSessionIdle); err != nil {
		return nil, err
	}
	if o.RefusalTime == 0 {
		o.RefusalTime = DefaultRefusalTime
	}
	switch o.OrgCreation {
	case "":
		o.OrgCreation = CreationBootstrap
	case CreationBootstrap, CreationSession:
	default:
		return nil, fmt.Errorf("service.org_creation %q is neither bootstrap nor session", o.OrgCreation)
	}
	s := &Service{Options: o, touches: startToucher(o.Accounts)}
	s.SetBootstrapSecret(o.Bootstrap.Secret)
	return s, nil
}

// SetBootstrapSecret makes another secret the bootstrap user's, from the next
// sign-in on. Sessions go on.
func (s *Service) SetBootstrapSecret(secret string) { s.bootstrapSecret.Store(&secret) }

// Close ends what runs in the background.
func (s *Service) Close() { s.touches.close() }

func within(what string, d, fallback, longest time.Duration) (time.Duration, error) {
	switch {
	case d == 0:
		return fallback, nil
	case d < 0 || d > longest:
		return 0, fmt.Errorf("service.session: the %s is above 0 and at most %s", what, longest)
	}
	return d, nil
}
