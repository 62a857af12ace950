package audited

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// members are the members of details that hold bare ids, by whose they are.
var members = map[string]authz.SubjectKind{
	"userId": authz.SubjectUser, "managerUserId": authz.SubjectUser, "requesterUserId": authz.SubjectUser, "byUserId": authz.SubjectUser,
	"deciderUserId": authz.SubjectUser, "approverUserId": authz.SubjectUser, "actorUserId": authz.SubjectUser, "approvedBy": authz.SubjectUser,
	"ownerUserId": authz.SubjectUser, "userIds": authz.SubjectUser, "users": authz.SubjectUser,
	"groupId": authz.SubjectGroup, "groupIds": authz.SubjectGroup, "serviceId": authz.SubjectService, "orgs": authz.SubjectOrg,
}

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
		return slices.Contains(a.subjects, v) || v == a.id && a.id != "" && members[name] == a.kind
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

// Action reports whether an action is the one that is wanted. One that ends with ".*" is
// any that begins like it; "" is any.
func Action(wanted, action string) bool {
	if prefix, all := strings.CutSuffix(wanted, "*"); all && strings.HasSuffix(prefix, ".") {
		return strings.HasPrefix(action, prefix)
	}
	return wanted == "" || wanted == action
}
