package authz

// UnknownScopeError is a WriteRejectedError of CodeUnsupported that names its cause: what
// answers ancestors knows nothing of the scope that a question is about, and the catalog
// nests its type under another one, so rows above it would be missed. A resource that does
// not exist is such a scope, and one whose parents nobody has recorded. It is never an
// answer.
//
// A gap further up is none: of that resource something is known. Nor is an application
// that answers no ancestors at all.
type UnknownScopeError struct {
	Scope   string
	Refusal *WriteRejectedError
}

func (e *UnknownScopeError) Error() string     { return e.Refusal.Error() }
func (e *UnknownScopeError) Unwrap() error     { return e.Refusal }
func (e *UnknownScopeError) ErrorName() string { return e.Refusal.ErrorName() }
func (e *UnknownScopeError) ErrorCode() string { return e.Refusal.ErrorCode() }
