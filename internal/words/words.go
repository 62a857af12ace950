package words

import (
	"fmt"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// subjectKinds are what stands before the id in a subject.
var subjectKinds = []string{"user", "group", "service", "org", "directs", "orgof"}

// CheckSubject says what is wrong with a word in the place of a subject, nil when it
// is one.
func CheckSubject(word string) error {
	if _, _, ok := authz.ParseSubject(word); ok {
		return nil
	}
	kind, id, found := strings.Cut(word, ":")
	switch near := spell.Nearest(strings.ToLower(kind), subjectKinds); {
	case !found && spell.Nearest(word, []string{authz.Everyone}) != "":
		return fmt.Errorf("%s is no subject: did you mean %s?", spell.Quote(word), authz.Everyone)
	case !found:
		return fmt.Errorf("%s is no subject: write user:%s, or group:, service:, org:, directs: or orgof: before the id, or everyone", spell.Quote(word), word)
	case id == "" && near == kind:
		return fmt.Errorf("%s is no subject: the id behind %s: is missing", spell.Quote(word), kind)
	case near != "" && id != "":
		return fmt.Errorf("%s is no subject: did you mean %s:%s?", spell.Quote(word), near, id)
	}
	return fmt.Errorf("%s is no subject: it begins with user:, group:, service:, org:, directs: or orgof:, or is everyone", spell.Quote(word))
}

// CheckScope says what is wrong with a word in the place of a scope, nil when it is
// one.
func CheckScope(word string) error {
	invalid := authz.ValidateScope(word)
	if invalid == nil {
		return nil
	}
	return fmt.Errorf("%s is no scope: write *, which is everywhere, or TYPE:ID such as docs.folder:f_1 (%s)", spell.Quote(word), invalid.Reason)
}

// Gives is what a grant of a role, or else of a pattern, gives.
func Gives(role, pattern string) string {
	if role != "" {
		return "role " + role
	}
	return pattern
}
