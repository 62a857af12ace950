package authz

import (
	"encoding/json"
	"slices"
	"strings"
)

// idKinds are the members of operations and of audit details that hold bare ids, by whose
// they are.
var idKinds = map[string]SubjectKind{
	"userId": SubjectUser, "managerUserId": SubjectUser, "requesterUserId": SubjectUser, "byUserId": SubjectUser,
	"deciderUserId": SubjectUser, "approverUserId": SubjectUser, "actorUserId": SubjectUser, "ownerUserId": SubjectUser,
	"approvedBy": SubjectUser, "userIds": SubjectUser, "users": SubjectUser, "groupId": SubjectGroup,
	"groupIds": SubjectGroup, "serviceId": SubjectService, "orgs": SubjectOrg,
}

// IDKind is whose bare ids a member of operations and of audit details holds.
func IDKind(member string) (kind SubjectKind, ok bool) {
	kind, ok = idKinds[member]
	return kind, ok
}

// recordActions begin the actions whose target is a bare id, by whose it is.
var recordActions = []struct {
	prefix string
	kind   SubjectKind
}{{"user.", SubjectUser}, {"seat.", SubjectUser}, {"group.", SubjectGroup}}

// maxAuditSubject is the longest id of a subject that entries are found by, in bytes: the
// longest that the product takes. Databases bound the keys of their indexes.
const maxAuditSubject = 1024

// Subjects are those that the entry is about, in the order of their bytes, each once: who
// acted, whose record is the target, and every subject that the target or the detail names
// at any depth, by itself or by a bare id. What is about those who report to a user is also
// about the user. An entry that was read without its detail is about fewer.
func (e AuditEntry) Subjects() []string {
	var all []string
	e.eachSubject(func(s string) bool {
		all = append(all, s)
		return true
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// IsAbout reports that the subject is one of Subjects.
func (e AuditEntry) IsAbout(subject string) bool {
	return !e.eachSubject(func(s string) bool { return s != subject })
}

// eachSubject yields subjects, some repeatedly, until yield returns false.
func (e AuditEntry) eachSubject(yield func(string) bool) bool {
	named := func(text string) bool {
		kind, id, ok := ParseSubject(text)
		switch {
		case !ok || len(id) > maxAuditSubject:
			return true
		case kind.IsImplicit():
			return yield(text) && yield(SubjectOf(SubjectUser, id))
		}
		return yield(text)
	}
	if !named(SubjectOf(SubjectUser, e.Actor)) || !named(e.Target) {
		return false
	}
	for _, r := range recordActions {
		if strings.HasPrefix(e.Action, r.prefix) && !named(SubjectOf(r.kind, e.Target)) {
			return false
		}
	}
	var detail any
	if len(e.Detail) == 0 || json.Unmarshal(e.Detail, &detail) != nil {
		return true
	}
	var within func(member string, v any) bool
	within = func(member string, v any) bool {
		switch v := v.(type) {
		case string:
			if kind, ok := IDKind(member); ok && !named(SubjectOf(kind, v)) {
				return false
			}
			return named(v)
		case []any:
			for _, one := range v {
				if !within(member, one) {
					return false
				}
			}
		case map[string]any:
			for member, one := range v {
				if !within(member, one) {
					return false
				}
			}
		}
		return true
	}
	return within("", detail)
}
