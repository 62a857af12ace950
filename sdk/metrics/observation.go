package metrics

import (
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Shape is the check shape that was called. A fresh check is of ShapeCan.
type Shape string

// The shapes that are observed.
const (
	ShapeCan        Shape = "can"
	ShapeRequire    Shape = "require"
	ShapeCanAny     Shape = "canAny"
	ShapeRequireAny Shape = "requireAny"
	ShapeHolds      Shape = "holds"
	ShapeHeldKeys   Shape = "heldKeys"
)

// Gate reports whether the shape protects an action. The others ask what to
// show; the two are never summed.
func (s Shape) Gate() bool { return s == ShapeCan || s == ShapeRequire }

// Decision is the answer of a check.
type Decision string

// The answers of a check.
const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
)

// Decided is the decision of a check that answered allowed.
func Decided(allowed bool) Decision {
	if allowed {
		return Allow
	}
	return Deny
}

// Scope types of observations that have none.
const (
	// GlobalScopeType stands for "*" and for shapes without a scope.
	GlobalScopeType = authz.Global

	// UnparsedScopeType stands for a scope id without a type.
	UnparsedScopeType = "(unparsed)"
)

// CheckObservation is one check that the draw kept. It is immutable once
// delivered; observers may keep it.
type CheckObservation struct {
	// At is the client's clock, epoch milliseconds; on a snapshot its instant.
	At       int64
	Shape    Shape
	Decision Decision // heldKeys: Allow when the list is not empty

	// Permission is, for a gate, the key that decided an allow or a condition's
	// denial, else the first key; the pattern of canAny and requireAny; the key
	// of holds. "" is null: an empty list of keys, and heldKeys.
	Permission string
	AnyOf      bool // more than one key was passed

	ScopeType string // GlobalScopeType, UnparsedScopeType, or the type half
	Scope     string // the whole id when the options ask for it, else ""
	Principal authz.Principal

	// MatchedGrantIDs are the rows that allowed, also when a condition then
	// denied. SoleMatchGrantID is set on an allow that exactly one row carried,
	// over all keys of the call and over implication.
	MatchedGrantIDs  []string
	SoleMatchGrantID string

	// MatchedRevokeIDs are the revokes that suppressed the first key of a gate
	// that rows denied.
	MatchedRevokeIDs []string
	RoleIDs          []string // distinct, of the matched grants

	Implied  bool // decided by ancestor implication
	Fresh    bool
	Snapshot bool

	// ExternalPermission: the name is in no catalog and was admitted by policy.
	ExternalPermission bool

	SampleRate float64 // the rate that kept it, in (0, 1]
}

// Attribute sets the matched grants and their distinct roles, in row order. A
// stored row with both a role and a pattern confers its pattern: no use of the
// role.
func (o *CheckObservation) Attribute(grants []authz.Grant) {
	o.MatchedGrantIDs = make([]string, len(grants))
	o.RoleIDs = nil
	for i := range grants {
		o.MatchedGrantIDs[i] = grants[i].ID
		if role := grants[i].RoleID; role != "" && grants[i].Pattern == "" && !slices.Contains(o.RoleIDs, role) {
			o.RoleIDs = append(o.RoleIDs, role)
		}
	}
}

// Weight is how many checks the observation stands for, 1/SampleRate; 1 when the
// rate is not one.
func (o *CheckObservation) Weight() float64 {
	if o.SampleRate > 0 && o.SampleRate < 1 {
		return 1 / o.SampleRate
	}
	return 1
}

type wireObservation struct {
	At                 int64           `json:"at"`
	Shape              Shape           `json:"shape"`
	Gate               bool            `json:"gate"`
	Decision           Decision        `json:"decision"`
	Permission         *string         `json:"permission"`
	AnyOf              bool            `json:"anyOf"`
	ScopeType          string          `json:"scopeType"`
	Scope              string          `json:"scope,omitempty"`
	Principal          authz.Principal `json:"principal"`
	MatchedGrantIDs    []string        `json:"matchedGrantIds"`
	SoleMatchGrantID   *string         `json:"soleMatchGrantId"`
	MatchedRevokeIDs   []string        `json:"matchedRevokeIds"`
	RoleIDs            []string        `json:"roleIds"`
	Implied            bool            `json:"implied"`
	Fresh              bool            `json:"fresh"`
	Snapshot           bool            `json:"snapshot"`
	ExternalPermission bool            `json:"externalPermission,omitempty"`
	SampleRate         float64         `json:"sampleRate"`
}

func (o CheckObservation) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireObservation{
		At: o.At, Shape: o.Shape, Gate: o.Shape.Gate(), Decision: o.Decision,
		Permission: orNull(o.Permission), AnyOf: o.AnyOf,
		ScopeType: o.ScopeType, Scope: o.Scope, Principal: o.Principal,
		MatchedGrantIDs: nonNil(o.MatchedGrantIDs), SoleMatchGrantID: orNull(o.SoleMatchGrantID),
		MatchedRevokeIDs: nonNil(o.MatchedRevokeIDs), RoleIDs: nonNil(o.RoleIDs),
		Implied: o.Implied, Fresh: o.Fresh, Snapshot: o.Snapshot,
		ExternalPermission: o.ExternalPermission, SampleRate: o.SampleRate,
	})
}

// UnmarshalJSON takes the class of the check from its shape; the member gate
// repeats it.
func (o *CheckObservation) UnmarshalJSON(b []byte) error {
	var w wireObservation
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*o = CheckObservation{
		At: w.At, Shape: w.Shape, Decision: w.Decision,
		Permission: orEmpty(w.Permission), AnyOf: w.AnyOf,
		ScopeType: w.ScopeType, Scope: w.Scope, Principal: w.Principal,
		MatchedGrantIDs: w.MatchedGrantIDs, SoleMatchGrantID: orEmpty(w.SoleMatchGrantID),
		MatchedRevokeIDs: w.MatchedRevokeIDs, RoleIDs: w.RoleIDs,
		Implied: w.Implied, Fresh: w.Fresh, Snapshot: w.Snapshot,
		ExternalPermission: w.ExternalPermission, SampleRate: w.SampleRate,
	}
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
