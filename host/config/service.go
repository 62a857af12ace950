package config

import (
	"encoding/base64"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
)

// Service configures the hosted service.
type Service struct {
	// PublicURL is an origin: scheme, host and port, no slash behind. "" is the
	// address of Listen, which is loopback then.
	PublicURL        string              `koanf:"public_url"`
	HostKeys         []Secret            `koanf:"host_keys"` // newest first; base64 of 32 bytes each
	Storage          ServiceStorage      `koanf:"storage"`
	OrgCreation      string              `koanf:"org_creation"`
	StrictEscalation bool                `koanf:"strict_escalation"`
	Dashboard        bool                `koanf:"dashboard"`
	Bootstrap        *Bootstrap          `koanf:"bootstrap"` // nil: no such user
	OIDC             *OIDC               `koanf:"oidc"`      // nil: no OpenID provider
	Session          Session             `koanf:"session"`
	Relay            Relay               `koanf:"relay"`
	Local            map[string][]string `koanf:"local"` // applications of this host, by org
}

// ServiceStorage says where the account data lives, in a partition of its own.
type ServiceStorage struct {
	Driver      string `koanf:"driver"`      // the name of a plugin instance
	Incarnation string `koanf:"incarnation"` // as of Storage
}

// The values of Service.OrgCreation.
const (
	OrgCreationBootstrap = "bootstrap"
	OrgCreationSession   = "session"
)

// Bootstrap is the user of a fresh host, and of the day when the provider is down.
type Bootstrap struct {
	UserID string `koanf:"user_id"`
	Secret Secret `koanf:"secret"`
	Keep   bool   `koanf:"keep"`
}

// OIDC is the OpenID provider that people sign in with.
type OIDC struct {
	Issuer       string   `koanf:"issuer"`
	ClientID     string   `koanf:"client_id"`
	ClientSecret Secret   `koanf:"client_secret,omitempty"` // zero: a public client
	Scopes       []string `koanf:"scopes"`
	UserIDClaim  string   `koanf:"user_id_claim"`
}

// Session bounds sessions.
type Session struct {
	Lifetime time.Duration `koanf:"lifetime"`
	Idle     time.Duration `koanf:"idle"`
}

// Relay is what applications may be linked at.
type Relay struct {
	AllowLoopback   bool     `koanf:"allow_loopback"`
	AllowedNetworks []string `koanf:"allowed_networks"` // as netip.ParsePrefix reads them
}

const (
	minBootstrapSecret = 32
	hostKeyBytes       = 32
	maxSessionLifetime = 24 * time.Hour
	maxSessionIdle     = 8 * time.Hour
	minSessionLife     = time.Minute
)

// typeNetwork is an element of TypeNetworks.
const typeNetwork Type = "network"

// Keys decodes the host keys.
func (s *Service) Keys() ([][]byte, error) {
	keys := make([][]byte, len(s.HostKeys))
	for i, k := range s.HostKeys {
		key, err := base64.StdEncoding.DecodeString(k.Reveal())
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// Networks parses what a checked configuration holds as networks.
func Networks(list []string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// parseNetwork takes an address alone as the network of only itself.
func parseNetwork(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, false
	}
	return p.Masked(), true
}

func urlProblem(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return "must be an absolute URL, such as https://authz.example"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return "must hold no user, query or fragment"
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())):
		return "must begin with https://; http:// only of this machine"
	}
	return ""
}

// orgID is the grammar of orgs' ids (spec: hosted-api §7).
var orgID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,56}$`)

// passing are claims that tell no lasting identity: a provider may give their
// values to another person, or they are about the token.
var passing = []string{
	"name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture", "website", "gender",
	"birthdate", "zoneinfo", "locale", "phone_number", "address", "updated_at", "email_verified", "phone_number_verified",
	"iss", "aud", "exp", "iat", "nbf", "auth_time", "nonce", "acr", "amr", "azp", "at_hash", "c_hash", "sid", "jti",
}

func (l *loader) checkService(c *Config) {
	s := c.Service
	if s == nil {
		return
	}
	at := func(keys ...string) []string { return append([]string{"service"}, keys...) }
	l.checkPublicURL(c, at("public_url"))
	l.checkHostKeys(s, at("host_keys"))
	switch instances := sortedKeys(c.Plugins.Instances); {
	case s.Storage.Driver != "":
		l.checkDriver(c, at("storage", "driver"), s.Storage.Driver)
	case len(instances) == 1:
		s.Storage.Driver = instances[0]
	default:
		l.problem(at("storage", "driver"), "is required unless there is exactly one plugin instance")
	}
	if b := s.Bootstrap; b != nil && len(b.Secret.value) > 0 && len([]rune(b.Secret.value)) < minBootstrapSecret {
		l.problem(at("bootstrap", "secret"), "the secret is shorter than %d characters", minBootstrapSecret)
	}
	if o := s.OIDC; o != nil {
		if !slices.Contains(o.Scopes, "openid") {
			l.problem(at("oidc", "scopes"), "must hold openid")
		}
		if slices.Contains(passing, o.UserIDClaim) {
			l.problem(at("oidc", "user_id_claim"), "%s does not identify a person for good: use sub, or a claim that the provider never gives to another person", spell.Quote(o.UserIDClaim))
		}
	}
	l.checkLife(at("session", "lifetime"), s.Session.Lifetime, maxSessionLifetime)
	l.checkLife(at("session", "idle"), s.Session.Idle, maxSessionIdle)
	for _, org := range sortedKeys(s.Local) {
		if !orgID.MatchString(org) {
			l.problem(at("local", org), "no org has such an id: 2 to 57 of a-z 0-9 -, beginning with a letter or digit")
		}
		for i, app := range s.Local[org] {
			if _, ok := c.Applications[app]; !ok {
				l.problem(at("local", org, index(i)), "no application is called %s%s", spell.Quote(app), hintOf(app, sortedKeys(c.Applications)))
			}
		}
	}
}

func (l *loader) checkPublicURL(c *Config, path []string) {
	if c.Service.PublicURL == "" {
		host, _, err := net.SplitHostPort(c.Listen)
		if err == nil && !loopback(host) {
			l.problem(path, "is required: listen, %s, does not say where browsers reach the host", spell.Quote(c.Listen))
		}
		return
	}
	u, err := url.Parse(c.Service.PublicURL)
	if err != nil {
		return // told where the value was read
	}
	if u.Path != "" && u.Path != "/" {
		l.problem(path, "must hold no path: the hosted API is always below /api/v1")
		return
	}
	c.Service.PublicURL = u.Scheme + "://" + strings.ToLower(u.Host)
}

func (l *loader) checkHostKeys(s *Service, path []string) {
	seen := map[string]bool{}
	for i, k := range s.HostKeys {
		p := append(slices.Clone(path), index(i))
		key, err := base64.StdEncoding.DecodeString(k.value)
		switch {
		case err != nil || len(key) != hostKeyBytes:
			l.problem(p, "must be %d random bytes in base64, as `openssl rand -base64 %d` makes them", hostKeyBytes, hostKeyBytes)
		case len(slices.Compact(slices.Sorted(slices.Values(key)))) < 8:
			l.problem(p, "is not random")
		case seen[string(key)]:
			l.problem(p, "is in the list already")
		}
		seen[string(key)] = true
	}
}

func (l *loader) checkLife(path []string, life, most time.Duration) {
	if (life < minSessionLife || life > most) && !l.told(path) {
		l.problem(path, "must be from %s to %s, not %s", minSessionLife, most, life)
	}
}

// TakesOver tells whether the secret in the section of s gives way to that of next
// while the host runs. A secret that came with another user, or for another client,
// is not the secret of this one.
func (s *Service) TakesOver(next *Service, section string) bool {
	switch {
	case s == nil || next == nil:
		return false
	case section == "bootstrap":
		return s.Bootstrap != nil && next.Bootstrap != nil && s.Bootstrap.UserID == next.Bootstrap.UserID
	}
	return s.OIDC != nil && next.OIDC != nil && s.OIDC.Issuer == next.OIDC.Issuer && s.OIDC.ClientID == next.OIDC.ClientID
}
