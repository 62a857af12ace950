package authz

// EventType says what an invalidation event names.
type EventType string

// The types of invalidation event. A reader treats any other type as EventAll:
// a newer peer wrote it.
const (
	EventUser    EventType = "user"
	EventSubject EventType = "subject"
	EventRole    EventType = "role"
	EventScope   EventType = "scope"
	EventCatalog EventType = "catalog"
	EventAll     EventType = "all"
)

// Event tells caches what changed, never the new state. Applying one twice is
// harmless. Only the member that its type names is set.
type Event struct {
	Type    EventType `json:"type"`
	UserID  string    `json:"userId,omitempty"`
	Subject string    `json:"subject,omitempty"`
	RoleID  string    `json:"roleId,omitempty"`
	Scope   string    `json:"scope,omitempty"`
}

// UserEvent announces a change to a user's record, revokes or direct rows.
func UserEvent(userID string) Event { return Event{Type: EventUser, UserID: userID} }

// SubjectEvent announces a change to a subject's rows or a group's parentage.
func SubjectEvent(subject string) Event { return Event{Type: EventSubject, Subject: subject} }

// RoleEvent announces that a role was created, changed or deleted.
func RoleEvent(roleID string) Event { return Event{Type: EventRole, RoleID: roleID} }

// ScopeEvent announces that a resource moved or its scope was deleted.
func ScopeEvent(scope string) Event { return Event{Type: EventScope, Scope: scope} }

// SubjectEvents announces a change to a subject; one that is a user is
// announced as a user as well, in that order.
func SubjectEvents(subject string) []Event {
	events := []Event{SubjectEvent(subject)}
	if kind, id, _ := ParseSubject(subject); kind == SubjectUser {
		events = append(events, UserEvent(id))
	}
	return events
}
