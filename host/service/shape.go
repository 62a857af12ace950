package service

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
)

// Limits of texts that clients choose, in bytes. An id of a user must fit the key
// of a record together with an org's.
const (
	maxName = 200
	maxUser = 256
)

// shape gathers what is wrong with a body.
type shape struct{ issues []fault.Issue }

func (s *shape) add(path, message string) {
	s.issues = append(s.issues, fault.Issue{Path: path, Message: message})
}

// text is 1 to limit bytes without control characters.
func (s *shape) text(path, value string, limit int) {
	switch {
	case value == "":
		s.add(path, "must not be empty")
	case len(value) > limit:
		s.add(path, "is too long")
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		s.add(path, "must be text without control characters")
	}
}

func (s *shape) optional(path string, value *string) {
	if value != nil {
		s.text(path, *value, maxName)
	}
}

// email is an address as far as one can be told by looking at it.
func (s *shape) email(path string, value *string) {
	s.optional(path, value)
	if value == nil || *value == "" {
		return // which optional judged
	}
	name, domain, found := strings.Cut(*value, "@")
	if !found || name == "" || domain == "" || strings.ContainsAny(domain, "@ ") {
		s.add(path, "must be an address such as ann@acme.example")
	}
}

// user is an id that can stand in a path, else nobody could change its seat.
func (s *shape) user(path, value string) {
	s.text(path, value, maxUser)
	if strings.Contains(value, "/") {
		s.add(path, "must not contain /")
	}
}

// storable tells whether every storage driver keeps the text. A refusal of the
// driver's would read as an outage.
func storable(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// newID is storable text without control characters, of an id in a new row.
func newID(text string, limit int) bool {
	return storable(text, limit) && !strings.ContainsFunc(text, unicode.IsControl)
}

func (s *shape) err() error {
	if len(s.issues) > 0 {
		return fault.Invalid(s.issues...)
	}
	return nil
}

func oneOf(value string, allowed ...string) bool {
	for _, a := range allowed {
		if value == a {
			return true
		}
	}
	return false
}

// cut bounds text of strangers that is stored.
func cut(text string) string { return spell.EchoN(text, maxUser) }

// Match judges If-Match: whether an object with that etag may be changed. nil
// matches every object.
type Match func(etag string) bool

func (m Match) check(etag string) error {
	if m == nil || m(etag) {
		return nil
	}
	return fault.Cloud("precondition_failed", "the object has changed since it was read; read it again")
}
