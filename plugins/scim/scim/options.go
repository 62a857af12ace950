package scim

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// How lists are paged.
const (
	pagingAuto   = "auto"
	pagingIndex  = "index"
	pagingCursor = "cursor"
)

const (
	maxPageSize = 10_000
	maxCAFile   = 1 << 20
)

// enterpriseOrgs are the attributes of the enterprise extension that may name orgs.
var enterpriseOrgs = []string{"organization", "division", "department", "costCenter"}

// Options are the settings of an importer; those of Plugin say what each means. Every
// member but the credentials, the filters and the CA file must be set.
type Options struct {
	BaseURL, CAFile                  string
	Token                            string
	Username, Password               string
	TokenURL, ClientID, ClientSecret string
	Scopes                           []string
	UserFilter, GroupFilter          string
	UserID, GroupID                  string
	Groups, Manager                  bool
	OrgAttributes                    []string
	Paging                           string
	PageSize                         int64
	PageOverlap                      bool
	MaxEntries                       int64
	MaxResponseBytes                 int64
	MaxRetries                       int64
	Timeout, RequestTimeout          time.Duration
}

// checked are options that make sense, and what they were read into.
type checked struct {
	Options
	base  *url.URL
	roots *x509.CertPool // nil is the system's
}

func check(o Options) (checked, error) {
	c := checked{Options: o}
	var err error
	if c.base, err = address(settingBaseURL, o.BaseURL); err != nil {
		return c, err
	}
	if err := o.checkCredentials(); err != nil {
		return c, err
	}
	if o.CAFile != "" {
		if c.roots, err = authorities(o.CAFile); err != nil {
			return c, err
		}
	}
	for _, f := range []struct{ name, value string }{{settingUserFilter, o.UserFilter}, {settingGroupFilter, o.GroupFilter}} {
		if f.value != "" && strings.TrimSpace(f.value) == "" {
			return c, refuse(f.name, "is nothing but space")
		}
	}
	if err := oneOf(settingUserID, o.UserID, "id", "userName", "externalId"); err != nil {
		return c, err
	}
	if err := oneOf(settingGroupID, o.GroupID, "id", "displayName", "externalId"); err != nil {
		return c, err
	}
	if err := oneOf(settingPaging, o.Paging, pagingAuto, pagingIndex, pagingCursor); err != nil {
		return c, err
	}
	for i, attribute := range o.OrgAttributes {
		if err := oneOf(settingOrgs, attribute, enterpriseOrgs...); err != nil {
			return c, err
		}
		if slices.Contains(o.OrgAttributes[:i], attribute) {
			return c, refuse(settingOrgs, "names "+spell.Quote(attribute)+" twice")
		}
	}
	for _, n := range []struct {
		name             string
		value, low, high int64
	}{
		{settingPageSize, o.PageSize, 2, maxPageSize},
		{settingMaxEntries, o.MaxEntries, 1, 10_000_000},
		{settingMaxResponse, o.MaxResponseBytes, 1 << 10, 1 << 30},
		{settingMaxRetries, o.MaxRetries, 0, 100},
	} {
		if n.value < n.low || n.value > n.high {
			return c, refuse(n.name, fmt.Sprintf("must be %d to %d", n.low, n.high))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{settingTimeout, o.Timeout}, {settingRequest, o.RequestTimeout}} {
		if d.value <= 0 || d.value > 24*time.Hour {
			return c, refuse(d.name, "must be longer than zero, and 24h at most")
		}
	}
	return c, nil
}

// checkCredentials wants one way of authentication, whole, or none.
func (o Options) checkCredentials() error {
	ways := 0
	if o.Token != "" {
		ways++
		if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return refuse(settingToken, "holds a character that no token has")
		}
	}
	if o.Username != "" || o.Password != "" {
		ways++
		switch {
		case o.Username == "" || strings.Contains(o.Username, ":"):
			return refuse(settingUsername, "is needed beside "+settingPassword+", without a colon")
		case o.Password == "":
			return refuse(settingPassword, "is needed beside "+settingUsername)
		}
	}
	if o.TokenURL != "" || o.ClientID != "" || o.ClientSecret != "" {
		ways++
		for _, s := range []struct{ name, value string }{{settingTokenURL, o.TokenURL}, {settingClientID, o.ClientID}, {settingClientSecret, o.ClientSecret}} {
			if s.value == "" {
				return refuse(s.name, "is needed beside the other settings of a client")
			}
		}
		if _, err := address(settingTokenURL, o.TokenURL); err != nil {
			return err
		}
	} else if len(o.Scopes) > 0 {
		return refuse(settingScopes, "is for "+settingTokenURL+", which is not set")
	}
	if ways > 1 {
		return refuse("", "set one of "+settingToken+", "+settingUsername+" and "+settingTokenURL)
	}
	return nil
}

// address wants https, or http on this machine, and nothing beside host and path.
func address(setting, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "": // the error repeats the text
		return nil, refuse(setting, "must be an address such as https://directory.example/scim/v2")
	case u.User != nil:
		return nil, refuse(setting, "must hold no user name and no password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, refuse(setting, "must end with its path: no query, no fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, refuse(setting, "must be https: http is for this machine only")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, refuse(setting, "must be https")
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func authorities(path string) (*x509.CertPool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, refuse(settingCAFile, "cannot be read: "+reason(err))
	case !info.Mode().IsRegular() || info.Size() > maxCAFile:
		return nil, refuse(settingCAFile, "is no file of at most 1 MiB")
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, refuse(settingCAFile, "cannot be read: "+reason(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, refuse(settingCAFile, "holds no certificate in PEM")
	}
	return pool, nil
}

func oneOf(setting, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return &plugin.ConfigError{Field: setting, Message: "must be one of " + spell.QuoteList(allowed),
		Suggestion: spell.Nearest(value, allowed)}
}

func refuse(setting, message string) error {
	return &plugin.ConfigError{Field: setting, Message: message}
}
