package authz

// Requestable says how access may be asked for: on a role its stages stand
// here directly, on a scope type they stand under the catalog's policy.
type Requestable struct {
	Prompts       []Prompt `json:"prompts,omitempty"`
	MaxDurationMs int64    `json:"maxDurationMs,omitempty" read:"first,positive"`
	RequireExpiry bool     `json:"requireExpiry,omitempty" read:"first"`
	Stages        []Stage  `json:"stages" read:"required"`
}

func (r Requestable) MarshalJSON() ([]byte, error) {
	type plain Requestable
	r.Stages = nonNil(r.Stages)
	return Marshal(plain(r))
}

// Prompt is a question that a requester answers. A prompt is required unless
// Required points at false.
type Prompt struct {
	ID       string   `json:"id" read:"required"`
	Label    string   `json:"label" read:"required"`
	Kind     string   `json:"kind,omitempty" read:"nonempty"`
	Options  []string `json:"options,omitempty"`
	Required *bool    `json:"required,omitempty"`
}

// The kinds of approval stage.
const (
	StageAuto           = "auto"
	StageNamedApprovers = "named_approvers"
	StageManagement     = "management"
)

// Stage is one step of an approval, discriminated by Kind. Layers counts
// managers upwards, absent means 1.
type Stage struct {
	Kind      string     `json:"kind" read:"required"`
	Predicate *Predicate `json:"predicate,omitempty"`
	RoleID    string     `json:"roleId,omitempty"`
	Layers    *int64     `json:"layers,omitempty"`
}

// The types of predicate of an auto stage.
const (
	PredicateInGroup      = "in_group"
	PredicateInOrg        = "in_org"
	PredicateMemberOf     = "member_of"
	PredicateHoldsPattern = "holds_pattern"
)

// Predicate is a test of the requester, discriminated by Type.
type Predicate struct {
	Type    string `json:"type" read:"required"`
	GroupID string `json:"groupId,omitempty"`
	OrgID   string `json:"orgId,omitempty"`
	Subject string `json:"subject,omitempty"`
	Pattern string `json:"pattern,omitempty"`
}

// RequestState is where an access request stands; all but pending are final.
type RequestState string

// The states of an access request.
const (
	RequestPending   RequestState = "pending"
	RequestApproved  RequestState = "approved"
	RequestDenied    RequestState = "denied"
	RequestCancelled RequestState = "cancelled"
)

// What is decided of a stage.
const (
	DecisionApproved = string(RequestApproved)
	DecisionDenied   = string(RequestDenied)
)

// DecidedByAuto stands in place of a user id where an auto stage decided.
const DecidedByAuto = "auto"

// Decision is one decided stage of a request; DecidedBy is a user id or
// DecidedByAuto.
type Decision struct {
	StageIndex int64  `json:"stageIndex"`
	DecidedBy  string `json:"decidedBy"`
	Decision   string `json:"decision"`
	At         int64  `json:"at"`
	Note       string `json:"note,omitempty"`
}

// Request is a proposed grant with its answers and its workflow state. Exactly
// one of RoleID and Pattern is non-empty. A nil DecidedAt means that nobody has
// decided yet.
type Request struct {
	ID                string            `json:"id"`
	RequesterUserID   string            `json:"requesterUserId"`
	RoleID            string            `json:"roleId,omitempty" read:"nonempty"`
	Pattern           string            `json:"pattern,omitempty" read:"pattern"`
	Scope             string            `json:"scope"`
	ProposedExpiresAt Expiry            `json:"proposedExpiresAt,omitzero"`
	Justification     map[string]string `json:"justification" read:"answers,last"`
	State             RequestState      `json:"state"`
	StageIndex        int64             `json:"stageIndex" read:"required"`
	Stages            []Stage           `json:"stages"`
	Decisions         []Decision        `json:"decisions" read:"last"`
	CreatedAt         int64             `json:"createdAt" read:"required"`
	DecidedAt         *int64            `json:"decidedAt,omitempty"`
}

func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	r.Stages = nonNil(r.Stages)
	r.Decisions = nonNil(r.Decisions)
	if r.Justification == nil {
		r.Justification = map[string]string{}
	}
	return Marshal(plain(r))
}
