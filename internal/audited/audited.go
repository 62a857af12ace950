package audited

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// records are the prefixes of the actions whose target is a bare id, by whose it is.
var records = map[authz.SubjectKind][]string{authz.SubjectUser: {"user.", "seat."}, authz.SubjectGroup: {"group."}}

// About finds the entries that are about a subject: what a user did, what was done to
// their record, and what names the subject in target or detail.
type About struct {
	kind     authz.SubjectKind
	id       string
	subjects []string // of a user also those who report to them
}

// Of is about a subject as grants name it; false when the text names none.
func Of(subject string) (About, bool) {
	kind, id, ok := authz.ParseSubject(subject)
	if !ok {
		return About{}, false
	}
	a := About{kind: kind, id: id, subjects: []string{subject}}
	if kind == authz.SubjectUser {
		a.subjects = append(a.subjects, authz.SubjectOf(authz.SubjectDirects, id), authz.SubjectOf(authz.SubjectOrgOf, id))
	}
	return a, true
}

// Named reports whether an entry is about the subject.
func (a About) Named(e authz.AuditEntry) bool {
	if a.kind == authz.SubjectUser && e.Actor == a.id || slices.Contains(a.subjects, e.Target) {
		return true
	}
	if e.Target == a.id && slices.ContainsFunc(records[a.kind], func(prefix string) bool { return strings.HasPrefix(e.Action, prefix) }) {
		return true
	}
	var detail any
	return len(e.Detail) > 0 && json.Unmarshal(e.Detail, &detail) == nil && a.within("", detail)
}

// within looks at every depth: entries of many rows list them.
func (a About) within(name string, v any) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(a.subjects, v) || v == a.id && a.id != "" && words.IDKinds[name] == a.kind
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return a.within(name, one) })
	case map[string]any:
		for name, one := range v {
			if a.within(name, one) {
				return true
			}
		}
	}
	return false
}

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
