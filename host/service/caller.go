package service

import (
	"github.com/authzhost/authz/sdk/authz"
)

// CallerKind says which kind of credential was shown.
type CallerKind string

// The credentials that the API accepts (spec: hosted-api §2).
const (
	CallerSession   CallerKind = "session"
	CallerAdmin     CallerKind = "admin_key"
	CallerPrincipal CallerKind = "principal_key"
	CallerPublisher CallerKind = "publisher_key"
)

// Caller is who a credential speaks for, read from account data at this request.
type Caller struct {
	Kind         CallerKind
	Org          string // of a key; where a session was opened
	UserID       string // of a session and an admin key
	ServiceID    string // of a principal key
	Namespace    string // of a publisher key
	CredentialID string // of the key or session; no secret
	Address      string // the client's, trusted proxies resolved
	UserAgent    string
	Quiet        bool // this is no use of the credential, nor of the seat
}

const servicePrefix = "service:"

// Actor is the caller in the audit logs: the user's id, service:<serviceId>, or
// publisher:<namespace>.
func (c Caller) Actor() string {
	switch c.Kind {
	case CallerPrincipal:
		return servicePrefix + c.ServiceID
	case CallerPublisher:
		return "publisher:" + c.Namespace
	default:
		return c.UserID
	}
}

// Provenance is what every write of the caller carries (spec: hosted-api §1).
func (c Caller) Provenance() authz.Provenance { return authz.AdminProvenance(c.Actor()) }

// Principal is who gates are judged for; not for publisher keys, which are
// nobody's.
func (c Caller) Principal() authz.Principal {
	if c.Kind == CallerPrincipal {
		return authz.ServicePrincipal(c.ServiceID)
	}
	return authz.UserPrincipal(c.UserID)
}
