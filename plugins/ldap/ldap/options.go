package ldap

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/sdk/plugin"
)

// Options configures an importer. Defaults fills in what a schema says.
type Options struct {
	URLs           []string
	StartTLS       bool
	CAFile         string
	CertFile       string
	KeyFile        string
	ServerName     string
	AllowPlaintext bool // to loopback addresses only

	BindDN       string // "" is anonymous
	BindPassword string
	BindExternal bool

	UserBase        string
	UserFilter      string
	UserID          string
	ActiveAttribute string   // "" says nothing; else exactly one of the next three
	ActiveValues    []string // active is who has one
	InactiveValues  []string // inactive is who has one; "*" is any
	InactiveBits    int64    // inactive is whose number has one
	UserManager     string   // "" is none
	UserOrgs        []string

	GroupBase          string // "" reads no groups
	GroupFilter        string
	GroupID            string
	GroupName          string
	GroupDescription   string // "" is none
	Member             string // "" is none
	MemberKind         MemberKind
	MemberKeyAttribute string // of people, for MemberKey
	PrimaryGroup       PrimaryGroup
	NestedGroups       bool

	PageSize    int64 // 0 is without pages
	MaxEntries  int64
	Timeout     time.Duration
	CheckSchema bool
}

const (
	maxURLs       = 16
	maxPageSize   = 10_000
	maxMaxEntries = 500_000 // each person takes up to four of a reading's entries
	maxTimeout    = 10 * time.Minute
)

// wrong is a setting that is refused. It never repeats a value.
func wrong(setting, format string, args ...any) error {
	return &plugin.ConfigError{Field: setting, Message: fmt.Sprintf(format, args...)}
}

// check refuses what can be known to fail before a server is asked.
func (o Options) check() error {
	for _, check := range []func() error{o.checkURLs, o.checkBind, o.checkUsers, o.checkActive, o.checkGroups, o.checkLimits} {
		if err := check(); err != nil {
			return err
		}
	}
	_, err := o.tls("")
	return err
}

func (o Options) checkURLs() error {
	if len(o.URLs) == 0 || len(o.URLs) > maxURLs {
		return wrong(settingURLs, "must be between 1 and %d addresses", maxURLs)
	}
	for _, raw := range o.URLs {
		s, err := parseServer(raw)
		switch {
		case err != nil:
			return wrong(settingURLs, "%s", err)
		case s.tls && o.StartTLS:
			return wrong(settingStartTLS, "is for ldap:// addresses; ldaps:// has TLS from its first byte")
		case s.tls || o.StartTLS:
		case !o.AllowPlaintext:
			return wrong(settingURLs, "ldap:// is plaintext: use ldaps://, set start_tls, or, on this machine only, allow_plaintext")
		case !s.loopback():
			return wrong(settingPlaintext, "is for loopback addresses: over a network, passwords and people need ldaps:// or start_tls")
		}
	}
	return nil
}

// server is one address of a directory.
type server struct {
	host, port string
	tls        bool // from the first byte
}

func (s server) String() string {
	scheme := "ldap://"
	if s.tls {
		scheme = "ldaps://"
	}
	return scheme + net.JoinHostPort(s.host, s.port)
}

// loopback judges a name as it stands; the address that it leads to is judged when
// it is dialled.
func (s server) loopback() bool {
	ip := net.ParseIP(s.host)
	return strings.EqualFold(s.host, "localhost") || ip != nil && ip.IsLoopback()
}

// parseServer's errors do not repeat the address, in which somebody may have put a
// password.
func parseServer(raw string) (server, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "ldap" && u.Scheme != "ldaps" || u.Hostname() == "" {
		return server{}, fmt.Errorf(`must be addresses such as "ldaps://ldap.example.com" or "ldap://ldap.example.com:389"`)
	}
	if u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return server{}, fmt.Errorf("must be of scheme, host and port only: who binds and what is read are settings of their own")
	}
	s := server{host: u.Hostname(), port: u.Port(), tls: u.Scheme == "ldaps"}
	if s.port == "" {
		s.port = map[bool]string{false: "389", true: "636"}[s.tls]
	}
	if n, err := strconv.Atoi(s.port); err != nil || n < 1 || n > 65535 {
		return server{}, fmt.Errorf("must have ports between 1 and 65535")
	}
	return s, nil
}

func (o Options) checkBind() error {
	switch {
	case o.BindExternal && (o.BindDN != "" || o.BindPassword != ""):
		return wrong(settingBindExternal, "takes the place of bind_dn and bind_password")
	case o.BindExternal && o.CertFile == "":
		return wrong(settingBindExternal, "needs cert_file, which says who binds")
	case o.BindDN == "" && o.BindPassword != "":
		return wrong(settingBindDN, "is required with bind_password")
	case o.BindDN != "" && o.BindPassword == "":
		// Servers take an empty password for an anonymous bind, and say success.
		return wrong(settingBindPassword, "is required with bind_dn, and must not be empty")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return wrong(settingKeyFile, "goes with cert_file: both or neither")
	}
	return nil
}

func (o Options) checkUsers() error {
	if err := checkBase(settingUserBase, o.UserBase); err != nil {
		return err
	}
	if err := checkFilter(settingUserFilter, o.UserFilter); err != nil {
		return err
	}
	if err := checkAttribute(settingUserID, o.UserID, false); err != nil {
		return err
	}
	if err := checkAttribute(settingManager, o.UserManager, true); err != nil {
		return err
	}
	for _, name := range o.UserOrgs {
		if err := checkAttribute(settingOrgs, name, false); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) checkActive() error {
	ways := 0
	for _, given := range []bool{len(o.ActiveValues) > 0, len(o.InactiveValues) > 0, o.InactiveBits != 0} {
		if given {
			ways++
		}
	}
	switch {
	case o.InactiveBits < 0:
		return wrong(settingInactiveBits, "must not be negative")
	case o.ActiveAttribute == "" && ways > 0:
		return wrong(settingActive, "is required with user_active_values, user_inactive_values and user_inactive_bits")
	case o.ActiveAttribute != "" && ways != 1:
		return wrong(settingActive, "needs exactly one of user_active_values, user_inactive_values and user_inactive_bits")
	}
	return checkAttribute(settingActive, o.ActiveAttribute, true)
}

func (o Options) checkGroups() error {
	switch o.MemberKind {
	case MemberDN, MemberKey:
	default:
		return wrong(settingMemberKind, `must be "dn" or "key"`)
	}
	switch o.PrimaryGroup {
	case PrimaryNone, PrimaryGID, PrimarySID:
	default:
		return wrong(settingPrimaryGroup, `must be "none", "gid_number" or "sid"`)
	}
	if o.GroupBase == "" {
		return nil
	}
	if err := checkBase(settingGroupBase, o.GroupBase); err != nil {
		return err
	}
	if err := checkFilter(settingGroupFilter, o.GroupFilter); err != nil {
		return err
	}
	for _, a := range []struct {
		setting, name string
		optional      bool
	}{
		{settingGroupID, o.GroupID, false}, {settingGroupName, o.GroupName, false},
		{settingDescription, o.GroupDescription, true}, {settingMember, o.Member, o.PrimaryGroup != PrimaryNone},
		{settingMemberKey, o.MemberKeyAttribute, o.MemberKind != MemberKey},
	} {
		if err := checkAttribute(a.setting, a.name, a.optional); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) checkLimits() error {
	switch {
	case o.PageSize < 0 || o.PageSize > maxPageSize:
		return wrong(settingPageSize, "must be between 0 and %d", maxPageSize)
	case o.MaxEntries < 1 || o.MaxEntries > maxMaxEntries:
		return wrong(settingMaxEntries, "must be between 1 and %d", maxMaxEntries)
	case o.Timeout < time.Second || o.Timeout > maxTimeout:
		return wrong(settingTimeout, "must be between 1s and %s", maxTimeout)
	}
	return nil
}

func checkBase(setting, base string) error {
	if dn, err := ldap.ParseDN(base); err != nil || len(dn.RDNs) == 0 {
		return wrong(setting, `must be a distinguished name such as "ou=people,dc=example,dc=com"`)
	}
	return nil
}

func checkFilter(setting, filter string) error {
	if _, err := ldap.CompileFilter(filter); err != nil {
		return wrong(setting, `must be a search filter such as "(objectClass=person)"`)
	}
	return nil
}

// checkAttribute wants a plain name: options such as ;binary or ;range are the
// importer's to add.
func checkAttribute(setting, name string, optional bool) error {
	if name == "" && optional {
		return nil
	}
	if name == "" || len(name) > 128 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "" {
		return wrong(setting, "must be the name of an attribute: letters, digits and hyphens")
	}
	return nil
}
