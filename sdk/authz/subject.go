package authz

import "strings"

// SubjectKind is the part of a subject before its first colon.
type SubjectKind string

// The kinds of subject. SubjectDirects and SubjectOrgOf are implicit groups:
// the direct and the transitive reports of the user they name.
const (
	SubjectUser     SubjectKind = "user"
	SubjectGroup    SubjectKind = "group"
	SubjectOrg      SubjectKind = "org"
	SubjectService  SubjectKind = "service"
	SubjectDirects  SubjectKind = "directs"
	SubjectOrgOf    SubjectKind = "orgof"
	SubjectEveryone SubjectKind = "everyone"
)

// Everyone is the public subject.
const Everyone = "everyone"

// ParseSubject splits "<kind>:<id>" at the first colon. The id may hold colons;
// encoding never escapes, so "user:group:admins" is a user. "everyone" stands
// alone.
func ParseSubject(subject string) (kind SubjectKind, id string, ok bool) {
	if subject == Everyone {
		return SubjectEveryone, "", true
	}
	prefix, id, found := strings.Cut(subject, ":")
	if !found || id == "" {
		return "", "", false
	}
	switch kind := SubjectKind(prefix); kind {
	case SubjectUser, SubjectGroup, SubjectOrg, SubjectService, SubjectDirects, SubjectOrgOf:
		return kind, id, true
	}
	return "", "", false
}

// SubjectOf encodes a subject of the kind; SubjectEveryone ignores the id.
func SubjectOf(kind SubjectKind, id string) string {
	if kind == SubjectEveryone {
		return Everyone
	}
	return string(kind) + ":" + id
}

// IsImplicit reports whether the kind is a group that follows from reporting
// edges.
func (k SubjectKind) IsImplicit() bool { return k == SubjectDirects || k == SubjectOrgOf }

// MisplacedSubject reports that a bare id begins with a kind of subject, in any
// case: a subject was probably given where the id of one is wanted. An id may look
// like that, so it is a question to ask, never a rule.
func MisplacedSubject(id string) (kind SubjectKind, rest string, ok bool) {
	prefix, rest, found := strings.Cut(id, ":")
	if !found {
		return "", "", false
	}
	return ParseSubject(strings.ToLower(prefix) + ":" + rest)
}
