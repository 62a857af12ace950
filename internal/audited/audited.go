package audited

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// About finds the entries that are about a subject: what a user did, what was done to
// their record, and what names the subject in target or detail.
type About string

// Of is about a subject as grants name it; false when the text names none.
func Of(subject string) (About, bool) {
	_, _, ok := authz.ParseSubject(subject)
	return About(subject), ok
}

// Named reports whether an entry is about the subject.
func (a About) Named(e authz.AuditEntry) bool { return e.IsAbout(string(a)) }

// Family is the prefix that the actions of a family have in common, such as "grant." of
// "grant.*"; false for what names a single action.
func Family(wanted string) (prefix string, ok bool) {
	prefix, ok = strings.CutSuffix(wanted, "*")
	return prefix, ok && strings.HasSuffix(prefix, ".") && !strings.ContainsAny(strings.TrimSuffix(prefix, "."), ".*") && prefix != "."
}

// Action reports whether an action is the one that is wanted, or of the family; "" is any.
func Action(wanted, action string) bool {
	if prefix, ok := Family(wanted); ok {
		return strings.HasPrefix(action, prefix)
	}
	return wanted == "" || wanted == action
}
