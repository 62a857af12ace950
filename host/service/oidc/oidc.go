package oidc

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/secret"
)

// CallbackPath is where the provider sends browsers back to, below the public URL.
const CallbackPath = "/api/v1/auth/oidc/callback"

// Lifetime is how long a sign-in may take, and its cookie live.
const Lifetime = 10 * time.Minute

// Algorithms are those that ID tokens may be signed with.
var Algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}

// Options make a Provider. Everything but ClientSecret and Scopes is required.
type Options struct {
	Issuer       string
	ClientID     string
	ClientSecret string   // "" is a public client
	Scopes       []string // openid is always among them
	UserIDClaim  string

	PublicURL string // the origin of this host
	Accounts  *account.Store
	Keys      *secret.Keys
	Clock     func() int64 // epoch milliseconds
}

// Provider is one OpenID provider. It is safe for use by many goroutines.
type Provider struct {
	o        Options
	redirect string
	http     *http.Client
	secret   atomic.Pointer[string] // Options.ClientSecret, until it is another

	mu      sync.Mutex // of found and the times beside it
	found   *discovered
	foundAt int64
	failed  error
	failAt  int64

	starting sync.Mutex // starts of one host do not race each other for a slot
	sweptAt  int64      // under starting
}

// New checks the options. Nothing is asked of the provider before the first
// sign-in: a host starts while its provider is down.
func New(o Options) (*Provider, error) {
	if o.Issuer == "" || o.ClientID == "" || o.UserIDClaim == "" || o.PublicURL == "" || o.Accounts == nil || o.Keys == nil || o.Clock == nil {
		return nil, errors.New("oidc: issuer, client id, user id claim, public URL, accounts, keys and clock are required")
	}
	if _, err := endpoint(o.Issuer, o.Issuer); err != nil {
		return nil, err
	}
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	p := &Provider{o: o, redirect: strings.TrimSuffix(o.PublicURL, "/") + CallbackPath, http: caller(nil)}
	p.SetClientSecret(o.ClientSecret)
	return p, nil
}

// SetClientSecret makes another secret this client's at the provider, from the next
// exchange of a code on; "" is a public client.
func (p *Provider) SetClientSecret(secret string) { p.secret.Store(&secret) }

// RedirectURI is what the provider must have registered for this host.
func (p *Provider) RedirectURI() string { return p.redirect }

// SafeReturn tells whether returnTo is a path of this host: it begins with exactly
// one slash, and no browser reads a host into it.
func SafeReturn(returnTo string) bool {
	if !strings.HasPrefix(returnTo, "/") || strings.HasPrefix(returnTo, "//") || len(returnTo) > maxReturn {
		return false
	}
	if strings.ContainsFunc(returnTo, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	u, err := url.Parse(returnTo)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}

const maxReturn = 2048

// Reason says why a sign-in was refused. It is for the audit entry only.
type Reason string

// The reasons.
const (
	StateUnknown   Reason = "state_unknown" // never given out, used already, or pushed out by newer ones
	StateExpired   Reason = "state_expired"
	CookieMismatch Reason = "state_of_another_browser"
	IssuerMismatch Reason = "issuer_mismatch"      // the answer is another provider's
	IssuerMissing  Reason = "issuer_missing"       // and this one says whose its answers are
	ProviderError  Reason = "provider_refused"     // it sent an error instead of a code
	Unreachable    Reason = "provider_unreachable" // no usable answer of its token endpoint, or of discovery
	CodeRefused    Reason = "code_refused"
	TokenInvalid   Reason = "id_token_invalid" // signature, algorithm, issuer or audience
	TokenExpired   Reason = "id_token_expired"
	TokenTime      Reason = "id_token_time" // of the future, or without its times
	NonceMismatch  Reason = "nonce_mismatch"
	PartyMismatch  Reason = "authorized_party_mismatch"
	ClaimMissing   Reason = "user_id_claim_missing"
	EmailUnproved  Reason = "email_not_verified"
)

// Refused is a proof that failed. Its text may name hosts and what a library said
// about a token: for the log, never for an answer.
type Refused struct {
	Reason Reason
	Org    string // that the sign-in was begun for; "" when unknown
	Cause  error
}

func (e *Refused) Error() string {
	if e.Cause == nil {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Cause.Error()
}

func (e *Refused) Unwrap() error { return e.Cause }
