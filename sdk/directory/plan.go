package directory

import "encoding/json"

// Plan is what an import would do, or did, to the rows as they are stored. Its
// lists hold the first of what they count.
type Plan struct {
	ActivePeople int `json:"activePeople"` // stored and active before
	Memberships  int `json:"memberships"`  // stored before

	CreatedPeople     Some[string] `json:"createdPeople"`
	ReactivatedPeople Some[string] `json:"reactivatedPeople"`
	DeactivatedPeople Some[string] `json:"deactivatedPeople"` // absent, or told inactive

	AddedMemberships   Some[MembershipChange] `json:"addedMemberships"`
	RemovedMemberships Some[MembershipChange] `json:"removedMemberships"`

	SetReportingEdges     Some[ReportingEdge] `json:"setReportingEdges"`
	ClearedReportingEdges Some[string]        `json:"clearedReportingEdges"`
	SkippedReportingEdges Some[ReportingEdge] `json:"skippedReportingEdges"` // each would close a cycle

	CreatedGroups   Some[string]        `json:"createdGroups"`
	ChangedGroups   Some[string]        `json:"changedGroups"`
	CondensedGroups Some[VirtualParent] `json:"condensedGroups"`

	Warnings Some[string] `json:"warnings"`

	// Refusal is why the guard of the options stops the import, "" when it does
	// not.
	Refusal string `json:"refusal,omitempty"`
}

// MembershipChange is one user in one group.
type MembershipChange struct {
	UserID  string `json:"userId"`
	GroupID string `json:"groupId"`
}

// Shown is how many elements Some lists.
const Shown = 20

// Some counts elements and lists the first of them, never null.
type Some[T any] struct {
	Count int `json:"count"`
	First []T `json:"first"`
}

// MarshalJSON writes the list as a list when it is empty, too.
func (s Some[T]) MarshalJSON() ([]byte, error) {
	type plain Some[T]
	if s.First == nil {
		s.First = []T{}
	}
	return json.Marshal(plain(s))
}

// Add counts one more element.
func (s *Some[T]) Add(v T) {
	s.Count++
	if len(s.First) < Shown {
		s.First = append(s.First, v)
	}
}

// Report is what an import did: its result, the plan that it carried out, and where
// the audit log says so.
type Report struct {
	Result Result `json:"result"`
	Plan   Plan   `json:"plan"`
	Audit  Audit  `json:"audit"`
}

// Audit are the entries of one import, each of the instant of its commit. At is that
// of the last one, in epoch milliseconds.
type Audit struct {
	At      int64        `json:"at"`
	Entries Some[string] `json:"entries"` // ids, oldest first
	Import  string       `json:"import"`  // the id of the last one, directory.import
}

// Progress is how far the writing of an import is. What its commits have written
// stands, whatever becomes of the rest.
type Progress struct {
	People   int   `json:"people"`   // written
	OfPeople int   `json:"ofPeople"` // who are to be written
	Commits  int   `json:"commits"`
	Left     int64 `json:"left,omitempty"` // about how long the rest takes, in milliseconds

	// Failures counts the attempts at a commit that came to nothing, Failure is what
	// the last of them failed of.
	Failures int    `json:"failures,omitempty"`
	Failure  string `json:"failure,omitempty"`
}
