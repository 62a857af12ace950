package provider

import (
	"context"
)

// Supposed are rows as they might be. What it names stands in place of what is stored;
// everything else is as it is.
type Supposed struct {
	Grants  []GrantInput      `json:"grants,omitempty"`
	Revokes []RevokeInput     `json:"revokes,omitempty"`
	Roles   []SupposedRole    `json:"roles,omitempty"`
	Groups  []SupposedGroup   `json:"groups,omitempty"`
	Members []SupposedMembers `json:"members,omitempty"`
}

// SupposedRole is a role with these patterns instead of its own; it need not exist yet.
// Without patterns it is as if it were deleted.
type SupposedRole struct {
	RoleID   string   `json:"roleId" read:"required"`
	Patterns []string `json:"patterns" read:"required"`
}

// SupposedGroup is a group with these parents instead of its own; it need not exist yet.
type SupposedGroup struct {
	GroupID string   `json:"groupId" read:"required"`
	Parents []string `json:"parents" read:"required"`
}

// SupposedMembers is a user in these groups instead of their own.
type SupposedMembers struct {
	UserID   string   `json:"userId" read:"required"`
	GroupIDs []string `json:"groupIds" read:"required"`
}

// Supposing is a change that nobody makes: rows that are supposed, and the ids of grants
// and revokes that are supposed to be gone.
type Supposing struct {
	With    Supposed `json:"with,omitzero"`
	Without []string `json:"without,omitempty"`
}

// Empty reports whether nothing is supposed.
func (s *Supposing) Empty() bool {
	return len(s.Without)+len(s.With.Grants)+len(s.With.Revokes)+len(s.With.Roles)+len(s.With.Groups)+len(s.With.Members) == 0
}

// Planner tells what a change would do before it is made.
type Planner interface {
	// Plan lists who would hold what that they do not hold now, and the other way round.
	Plan(ctx context.Context, in Supposing) (Impact, error)
}

// Impact is what a change would do (spec: lookups §7).
type Impact struct {
	Changes []Effect `json:"changes"` // by subject, key and scope
	Checked int      `json:"checked"` // how many principals were compared

	// Unknown are the subjects whose people are not known: what changes for them is not
	// told.
	Unknown []string `json:"unknown,omitempty"`

	// Unresolved are scopes whose ancestors are not known. What changes at them is not told.
	Unresolved []string `json:"unresolved,omitempty"`

	More bool `json:"more,omitempty"` // a bound was met: there may be more changes
}

// Effect is one answer of a check that would change. What changes at a scope changes
// below it too, where nothing else decides.
type Effect struct {
	Subject string `json:"subject"`
	Key     string `json:"key"`
	Scope   string `json:"scope"`
	Allowed bool   `json:"allowed"` // afterwards
}

// The bounds of a plan.
const (
	MaxPlanPrincipals = 1000
	MaxPlanChanges    = 10_000
)

var opPlan = declare(Operation{Op: "plan", Kind: Read, Method: "Plan", Tag: "evaluation", Summary: "Tell what a change of rows would do",
	Notes: "Nothing is written. It is bounded, and says so when a bound was met.", Answer: "Every answer of a check that would change."},
	func(ctx context.Context, to Provider, in *Supposing) (Impact, error) { return to.Plan(ctx, *in) })

func (c Calls) Plan(ctx context.Context, in Supposing) (Impact, error) {
	return ask(ctx, c, opPlan, in)
}
