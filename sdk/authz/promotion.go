package authz

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/authzhost/authz/internal/spell"
)

// ConflictKind says in what two organizations contradict each other
// (spec: merge §3).
type ConflictKind string

// The kinds of conflict.
const (
	ConflictRoleID         ConflictKind = "role_id_collision"
	ConflictGroupID        ConflictKind = "group_id_collision"
	ConflictReportingEdge  ConflictKind = "reporting_edge"
	ConflictReportingCycle ConflictKind = "reporting_cycle"
	ConflictWidens         ConflictKind = "widens"
)

// ConflictAction is what a resolution does about a conflict.
type ConflictAction string

// The actions. Each kind of conflict offers some of them.
const (
	ActionRenameIncoming ConflictAction = "rename_incoming"
	ActionRenameCurrent  ConflictAction = "rename_current"
	ActionUnite          ConflictAction = "unite"
	ActionChoose         ConflictAction = "choose"
	ActionNarrow         ConflictAction = "narrow"
	ActionAccept         ConflictAction = "accept"
)

// Conflict is one contradiction between two organizations that are merged. What
// the sides hold is kept as JSON: a role, a group with its members, a grant, a
// request or the id of a manager; null where a side only names the id, absent
// where the conflict is none of that side.
type Conflict struct {
	ID       string           `json:"id"`
	Kind     ConflictKind     `json:"kind"`
	UserID   string           `json:"userId,omitempty"` // of a reporting edge
	Current  json.RawMessage  `json:"current,omitempty"`
	Incoming json.RawMessage  `json:"incoming,omitempty"`
	Path     []string         `json:"path,omitempty"`    // of a reporting cycle, its first id repeated last
	Beyond   []string         `json:"beyond,omitempty"`  // the patterns that widen
	Narrowed []string         `json:"narrowed,omitzero"` // what narrow leaves of them all
	Actions  []ConflictAction `json:"actions"`           // never nil; empty: it is to be settled before the merge
	Blocked  []BlockedRename  `json:"blocked,omitzero"`  // of collisions, never nil there
}

// BlockedRename says why a rename is not offered: rows of an application that no
// merge rewrites name the id.
type BlockedRename struct {
	Action      ConflictAction `json:"action"`
	Application string         `json:"application"`
	Reason      BlockedReason  `json:"reason"`
	Count       int            `json:"count"`
}

// BlockedReason says which rows of an application name the id.
type BlockedReason string

// The reasons of a BlockedRename.
const (
	BlockedByRows     BlockedReason = "instance_rows"
	BlockedByRequests BlockedReason = "instance_requests"
	BlockedByCatalog  BlockedReason = "catalog" // approval stages of scope types
)

// Resolution is how one conflict is settled. Members that its action does not read
// must be absent.
type Resolution struct {
	Action        ConflictAction `json:"action"`
	NewID         string         `json:"newId,omitempty"`        // of renames
	UserID        string         `json:"userId,omitempty"`       // of choose on a cycle: whose manager is chosen
	ManagerUserID ChosenManager  `json:"managerUserId,omitzero"` // of choose
}

// ChosenManager is the manager that a resolution chooses. Its zero value chose
// nothing and is absent on the wire; to choose that there is none is null there.
type ChosenManager struct {
	userID string
	chosen bool
}

// ChooseManager chooses a manager, or none by "".
func ChooseManager(userID string) ChosenManager { return ChosenManager{userID: userID, chosen: true} }

// UserID returns the manager, "" for none, and false when nothing was chosen.
func (m ChosenManager) UserID() (userID string, ok bool) { return m.userID, m.chosen }

// IsZero reports that nothing was chosen.
func (m ChosenManager) IsZero() bool { return !m.chosen }

func (m ChosenManager) MarshalJSON() ([]byte, error) {
	if m.userID == "" {
		return []byte("null"), nil
	}
	return Marshal(m.userID)
}

func (m *ChosenManager) UnmarshalJSON(b []byte) error {
	*m = ChooseManager("")
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(b, &m.userID); err != nil {
		return fmt.Errorf("a chosen manager is a user id or null, not %s", spell.Echo(string(b)))
	}
	if m.userID == "" {
		return fmt.Errorf("a chosen manager is a user id or null, not an empty string")
	}
	return nil
}

// PromotionCode discriminates a PromotionConflictError.
type PromotionCode string

// The codes of a PromotionConflictError.
const (
	// UnresolvedConflicts: Conflicts are those without a resolution.
	UnresolvedConflicts PromotionCode = "unresolved_conflicts"

	// InvalidResolution: a resolution does not fit its conflict; Conflicts are all.
	InvalidResolution PromotionCode = "invalid_resolution"

	// StaleResolutions: the resolutions were made for another set; Conflicts are all.
	StaleResolutions PromotionCode = "stale_resolutions"
)

// PromotionConflictError refuses a merge of organizations, of which nothing
// happened. Conflicts are in ascending order of id. Fingerprint is of the whole set,
// and goes back with the resolutions (spec: merge §5).
type PromotionConflictError struct {
	Code        PromotionCode
	Message     string
	Conflicts   []Conflict
	Fingerprint string
}

func (e *PromotionConflictError) Error() string     { return e.Message }
func (e *PromotionConflictError) ErrorName() string { return "PromotionConflictError" }
func (e *PromotionConflictError) ErrorCode() string { return string(e.Code) }
