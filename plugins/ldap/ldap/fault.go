package ldap

import (
	"context"
	"errors"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// refusals are results that come again however often one asks: the configuration
// and the server do not agree, and this is what to do about it. Every other result
// is an outage.
var refusals = map[uint16]string{
	ldap.LDAPResultInvalidCredentials:           "look at bind_dn and bind_password",
	ldap.LDAPResultInappropriateAuthentication:  "the server wants another kind of bind: look at bind_dn and bind_external",
	ldap.LDAPResultAuthMethodNotSupported:       "the server wants another kind of bind: look at bind_dn and bind_external",
	ldap.LDAPResultStrongAuthRequired:           "the server wants TLS or a bind: use ldaps:// or start_tls, and bind_dn",
	ldap.LDAPResultConfidentialityRequired:      "the server wants TLS: use ldaps:// or start_tls",
	ldap.LDAPResultInsufficientAccessRights:     "whom bind_dn names may not read this",
	ldap.LDAPResultNoSuchObject:                 "it does not exist, or whom bind_dn names may not see it: look at user_base and group_base",
	ldap.LDAPResultInvalidDNSyntax:              "a distinguished name is not one for this server: look at bind_dn, user_base and group_base",
	ldap.LDAPResultUndefinedAttributeType:       "an attribute is unknown to the server: look at the filters and attributes",
	ldap.LDAPResultInappropriateMatching:        "a filter asks what the server cannot compare: look at user_filter and group_filter",
	ldap.LDAPResultUnavailableCriticalExtension: "the server lacks an extension; page_size 0 does without paged results",
	ldap.LDAPResultProtocolError:                "the server does not speak this: look at the addresses and start_tls",
	ldap.LDAPResultReferral:                     "this server refers to another, and referrals are never followed: name in urls a server that holds the base itself",
	ldap.LDAPResultLoopDetect:                   "the servers refer to each other in a circle: name in urls a server that holds the base itself",
}

// limits are results that say that more is there than was told.
var limits = map[uint16]string{
	ldap.LDAPResultSizeLimitExceeded:  "the server told a part only: use paged results (page_size), or raise its limit for whom bind_dn names",
	ldap.LDAPResultTimeLimitExceeded:  "the server told a part only: raise its time limit for whom bind_dn names, or index what the filters ask",
	ldap.LDAPResultAdminLimitExceeded: "the server told a part only: raise its limits for whom bind_dn names, or choose a smaller page_size",
}

// fault makes an error of the product of what the library says of a request.
func (s *session) fault(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil || !answered(err) {
		return s.failed(ctx, doing+" failed", err)
	}
	var result *ldap.Error
	errors.As(err, &result)
	text := s.server.String() + ": " + doing + ": " + name(result.ResultCode)
	if said := s.clean(result.Err); said != "" {
		text += " (" + said + ")"
	}
	if advice, ok := refusals[result.ResultCode]; ok {
		return authz.Validation("%s: %s", text, advice)
	}
	if advice, ok := limits[result.ResultCode]; ok {
		text += ": " + advice
	}
	return &authz.UnavailableError{Message: text}
}

// answered reports whether an error is a server's result and not the library's own.
func answered(err error) bool {
	var result *ldap.Error
	return errors.As(err, &result) && result.ResultCode < ldap.ErrorNetwork
}

// failed is a connection that did not do what was asked.
func (s *session) failed(ctx context.Context, what string, err error, advice ...string) error {
	if ctx.Err() != nil {
		return stopped(context.Cause(ctx))
	}
	if s.raw != nil && s.raw.exceeded.Load() {
		err = errTooMuch
	}
	return &authz.UnavailableError{Message: s.server.String() + ": " + what + ": " + s.clean(err) + strings.Join(advice, "")}
}

func name(code uint16) string {
	if text, ok := ldap.LDAPResultCodeMap[code]; ok {
		return strings.ToLower(text)
	}
	return "an unknown result"
}

// maxSaid bounds what an error repeats of a server's words, in characters.
const maxSaid = 250

// clean is what a server or the library said, cut, and without the password should
// it be repeated there.
func (s *session) clean(err error) string {
	if err == nil {
		return ""
	}
	var result *ldap.Error
	if errors.As(err, &result) && result.Err != nil {
		err = result.Err
	}
	text := strings.ToValidUTF8(err.Error(), "�")
	if s.o.BindPassword != "" {
		text = strings.ReplaceAll(text, s.o.BindPassword, "[redacted]")
	}
	return spell.EchoN(text, maxSaid)
}
