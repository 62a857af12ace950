// Separation of duties: who holds keys that a catalog keeps apart.

package access

// Violations is one user who breaks constraints, which come in the catalog's
// order.
type Violations struct {
	UserID     string      `json:"userId"`
	Violations []Violation `json:"violations"`
}

// Violation is one constraint that a user breaks: the sets of which the user
// holds keys, two or more of them.
type Violation struct {
	ConstraintID string    `json:"constraintId"`
	Description  string    `json:"description,omitempty"`
	Sets         []HeldSet `json:"sets"`
}

// HeldSet is what a user holds of one set: keys ascending, never none. SetIndex
// counts the sets of the constraint from 0.
type HeldSet struct {
	SetIndex int      `json:"setIndex"`
	Keys     []string `json:"keys"`
}
