package provider

import (
	"encoding/json"

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

// CheckAnswer answers one question.
type CheckAnswer struct {
	Allowed bool `json:"allowed"`
}

var opCheck = declare[Check, CheckAnswer](Operation{Op: "check", Kind: Read,
	Tag: "evaluation", Summary: "Answer whether a principal may", Answer: "The answer, or one for each member of `checks`.",
	Notes: "For callers that cannot evaluate themselves. An undeclared key is an `UnknownPermissionError`, one declared `requiresCondition` a `MissingConditionError`, a scope of an undeclared type an `UnknownScopeTypeError` where the serving side is configured so: never a denial. Of `checks`, what a member fails with is its answer. `unsupported` where the serving side has no catalog, or with `at` and no persisted events."}, nil)
