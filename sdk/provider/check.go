package provider

import (
	"encoding/json"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// Check holds the parameters of check: one question, or several at once. At asks for
// state at least as new as an event.
type Check struct {
	At       *authz.Position `json:"at,omitempty"`
	Question `read:"unless=checks"`
	Checks   Batch `json:"checks,omitempty"`
}

// Batch is 1 to MaxChecks questions. Each is read when it is answered. When one fails,
// its error is its answer.
type Batch []json.RawMessage

// MaxChecks bounds the questions of one check.
const MaxChecks = 1000

// Question is one check. Scope "" means "*"; Fresh bypasses caches.
type Question struct {
	Principal authz.Principal `json:"principal,omitzero" read:"required"`
	Key       Keys            `json:"key,omitempty" read:"required"`
	Scope     string          `json:"scope,omitempty" read:"target"`
	Fresh     bool            `json:"fresh,omitempty"`

	// Reason asks for one beside the answer. It costs what an explanation costs.
	Reason bool `json:"reason,omitempty"`

	// Context is what conditions of the serving side judge by, an object.
	Context json.RawMessage `json:"context,omitempty" read:"document"`
}

// Check refuses a principal that is nobody, or two.
func (q *Question) Check() error { return q.Principal.Validate() }

// Check is the question's Check. The questions of a batch are checked one by one later.
func (c *Check) Check() error {
	if c.Checks != nil {
		return nil
	}
	return c.Question.Check()
}

// Keys are keys of which one suffices. On the wire they are a key or a list of keys.
type Keys []string

// CheckAnswer answers one question. Reason is "" unless it was asked for.
type CheckAnswer struct {
	Allowed bool   `json:"allowed"`
	Reason  Reason `json:"reason,omitempty"`
}

// Reason says in a word why a check is answered as it is (spec: provider-api §7.2). Of
// several keys it is that of the first which is allowed, or the first of these that holds
// for a key: those of denials, in their order.
type Reason string

// The reasons of an allow.
const (
	ReasonGranted Reason = "granted" // a grant on the chain
	ReasonImplied Reason = "implied" // a grant below it, by implication
)

// The reasons of a denial.
const (
	ReasonInactive     Reason = "inactive"          // the user is
	ReasonRevoked      Reason = "revoked"           // a revoke on the chain
	ReasonCondition    Reason = "condition"         // the rows allow; the key's condition does not
	ReasonExpired      Reason = "expired"           // a grant that would allow has expired
	ReasonElsewhere    Reason = "granted_elsewhere" // a grant at another scope
	ReasonNotGrantable Reason = "not_grantable"     // no grant at this type of scope confers the key
	ReasonNoGrant      Reason = "no_grant"          // nothing of all that
)

// Explain holds the parameters of explain: one check whose working is asked for.
type Explain struct {
	Principal authz.Principal `json:"principal,omitzero" read:"required"`
	Key       string          `json:"key" read:"required,id"`
	Scope     string          `json:"scope,omitempty" read:"target"`

	Supposing
}

// Check refuses a principal that is nobody, or two.
func (e *Explain) Check() error { return e.Principal.Validate() }

var opExplain = declare[Explain, access.Explained](Operation{Op: "explain", Kind: Read,
	Tag: "evaluation", Summary: "Show the working of a check", Answer: "The answer, the rows that gave it, and what lies around them.",
	Notes: "The errors are those of `check`. To a secret for checks the answer names no rows. `unsupported` where the serving side has no catalog."}, nil)

var opCheck = declare[Check, CheckAnswer](Operation{Op: "check", Kind: Read,
	Tag: "evaluation", Summary: "Answer whether a principal may", Answer: "The answer, or one for each member of `checks`.",
	Notes: "For callers that cannot evaluate themselves. An undeclared key is an `UnknownPermissionError`, one declared `requiresCondition` a `MissingConditionError`, a scope of an undeclared type an `UnknownScopeTypeError` where the serving side is configured so: never a denial. Of `checks`, what a member fails with is its answer. `unsupported` where the serving side has no catalog, or with `at` and no persisted events."}, nil)
