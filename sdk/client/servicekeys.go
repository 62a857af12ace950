package client

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// ServiceKeysEnv is the environment variable that ParseServiceKeys reads by
// convention.
const ServiceKeysEnv = "AUTHZ_SERVICE_KEYS"

// minServiceKey is in characters.
const minServiceKey = 16

// ServiceKey names the keys of one machine caller: the current one first, old
// ones for as long as a rotation lasts. It prints and marshals without its keys;
// fmt does not ask it when it lies in an unexported field.
type ServiceKey struct {
	ServiceID string   `json:"serviceId"`
	Keys      []string `json:"keys"`
}

// String tells the service and how many keys it has.
func (k ServiceKey) String() string {
	return fmt.Sprintf("service %s (keys: %d)", spell.Quote(k.ServiceID), len(k.Keys))
}

// Format prints String under every verb.
func (k ServiceKey) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) }

// MarshalText keeps the keys out of JSON and YAML.
func (k ServiceKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ServiceKeysError is a fault of the configuration. It repeats no key.
type ServiceKeysError struct {
	ServiceID string // "" when the fault is not one service's
	Message   string
}

func (e *ServiceKeysError) Error() string { return e.Message }

// ServiceKeyResult says whose key was verified. It is zero, {"ok":false} in
// JSON, when none was: a caller learns nothing about why.
type ServiceKeyResult struct {
	OK        bool            `json:"ok"`
	ServiceID string          `json:"serviceId,omitempty"`
	Principal authz.Principal `json:"principal,omitzero"`
}

// ServiceKeys verifies the shared keys of machine callers, on servers only. It
// holds digests, never keys, prints neither, and is safe for concurrent use.
type ServiceKeys struct{ entries []serviceDigest }

type serviceDigest struct {
	serviceID string
	digest    [sha256.Size]byte
}

// NewServiceKeys takes the keys of every service; none at all verifies nobody.
// It refuses, as a *ServiceKeysError, a service without an id, without a key or
// with a key shorter than 16 characters, and a key that two services share.
func NewServiceKeys(services []ServiceKey) (*ServiceKeys, error) {
	s := &ServiceKeys{}
	owners := map[[sha256.Size]byte]string{}
	for _, service := range services {
		id := service.ServiceID
		refuse := func(fault string) (*ServiceKeys, error) {
			return nil, &ServiceKeysError{ServiceID: id, Message: "service " + spell.Quote(id) + ": " + fault}
		}
		if id == "" {
			return refuse("serviceId must not be empty")
		}
		if len(service.Keys) == 0 {
			return refuse("keys must be at least 16 characters")
		}
		for _, key := range service.Keys {
			if utf8.RuneCountInString(key) < minServiceKey {
				return refuse("keys must be at least 16 characters")
			}
			digest := sha256.Sum256([]byte(key))
			if owner, taken := owners[digest]; taken && owner != id {
				return refuse("a key is also configured for service " + spell.Quote(owner))
			}
			owners[digest] = id
			s.entries = append(s.entries, serviceDigest{serviceID: id, digest: digest})
		}
	}
	return s, nil
}

// Verify takes an Authorization value or a bare key. One leading "Bearer " is
// removed, spelled so; nothing else is trimmed. Every key is compared, in
// constant time, so that the time taken tells nothing about the keys.
func (s *ServiceKeys) Verify(authorization string) ServiceKeyResult {
	digest := sha256.Sum256([]byte(strings.TrimPrefix(authorization, "Bearer ")))
	found := -1
	for i := range s.entries {
		equal := subtle.ConstantTimeCompare(digest[:], s.entries[i].digest[:])
		found = subtle.ConstantTimeSelect(equal, i, found)
	}
	if found < 0 {
		return ServiceKeyResult{}
	}
	id := s.entries[found].serviceID
	return ServiceKeyResult{OK: true, ServiceID: id, Principal: authz.ServicePrincipal(id)}
}

// String tells how many keys there are.
func (s ServiceKeys) String() string { return fmt.Sprintf("service keys (%d)", len(s.entries)) }

// Format prints String under every verb.
func (s ServiceKeys) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// ParseServiceKeys reads
// <serviceId>:<current>[,<previous>…][;<serviceId2>:…], the form of
// ServiceKeysEnv. Ids and keys are trimmed; blank entries and empty keys are
// dropped, so that "" and a service without keys parse: what is too little is
// NewServiceKeys' to refuse. The error is a *ServiceKeysError.
func ParseServiceKeys(env string) ([]ServiceKey, error) {
	var services []ServiceKey
	for entry := range strings.SplitSeq(env, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		id, list, ok := strings.Cut(entry, ":")
		if !ok || id == "" {
			return nil, &ServiceKeysError{Message: ServiceKeysEnv + " entries are `<serviceId>:<key>[,<previousKey>]`"}
		}
		service := ServiceKey{ServiceID: strings.TrimSpace(id), Keys: []string{}}
		for key := range strings.SplitSeq(list, ",") {
			if key = strings.TrimSpace(key); key != "" {
				service.Keys = append(service.Keys, key)
			}
		}
		services = append(services, service)
	}
	return services, nil
}
