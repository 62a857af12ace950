package fault

import (
	"fmt"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Error is an answer that is no success. Fields stand flat beside name, code and
// message in the envelope.
type Error struct {
	Name    string
	Code    string // "" is left out
	Message string
	Fields  map[string]any

	// RetryAfterMs is sent as Retry-After when it is above 0, in whole seconds,
	// rounded up.
	RetryAfterMs int64

	// Cause is for the log only.
	Cause error
}

func (e *Error) Error() string     { return e.Message }
func (e *Error) Unwrap() error     { return e.Cause }
func (e *Error) ErrorName() string { return e.Name }
func (e *Error) ErrorCode() string { return e.Code }

// With adds a field.
func (e *Error) With(name string, value any) *Error {
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	e.Fields[name] = value
	return e
}

// Failed reports that nobody judged what was asked: the host, an application or its
// driver failed or cannot do it, or no catalog has what was named.
func (e *Error) Failed() bool {
	switch e.Name {
	case internalName, TransportName, unknownPermission, unknownScopeType, missingCondition:
		return true
	}
	return e.Code == string(authz.CodeUnsupported)
}

const (
	internalName      = "InternalError"
	unknownPermission = "UnknownPermissionError"
	unknownScopeType  = "UnknownScopeTypeError"
	missingCondition  = "MissingConditionError"
)

// Cloud is a CloudError.
func Cloud(code, format string, args ...any) *Error {
	return &Error{Name: "CloudError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// Issue is one thing that is wrong with a body.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// MaxIssues is how many issues an error lists.
const MaxIssues = 20

// NoScope is what is said of text that is no scope.
const NoScope = "is not a scope: write type:id, such as docs.doc:plan, or * for everywhere"

// Invalid is CloudError invalid_request with its issues.
func Invalid(issues ...Issue) *Error {
	e := Cloud("invalid_request", "the request is not valid")
	if len(issues) > 0 {
		e.Message = issues[0].Path + ": " + issues[0].Message
	}
	return e.With("issues", issues[:min(len(issues), MaxIssues)])
}

// Parameter is CloudError invalid_parameter, of a query or path parameter.
func Parameter(name, format string, args ...any) *Error {
	return Cloud("invalid_parameter", "%s: %s", name, fmt.Sprintf(format, args...)).With("parameter", name)
}

// Unauthenticated says that nobody is known by the credential.
func Unauthenticated(code, message string) *Error {
	return &Error{Name: "UnauthenticatedError", Code: code, Message: message}
}

// Registry is a RegistryError.
func Registry(code, format string, args ...any) *Error {
	return &Error{Name: "RegistryError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// TransportName names the errors of Transport.
const TransportName = "ProviderTransportError"

// Transport is a ProviderTransportError about an application; outcome is "" for
// reads.
func Transport(code, application, outcome, message string) *Error {
	e := &Error{Name: TransportName, Code: code, Message: message}
	e.With("application", application)
	if outcome != "" {
		e.With("outcome", outcome)
	}
	return e
}

// Limited is RateLimitedError.
func Limited(bucket string, retryAfterMs int64) *Error {
	e := &Error{Name: "RateLimitedError", Code: "rate_limited",
		Message: "too many requests; wait and try again", RetryAfterMs: max(retryAfterMs, 1)}
	return e.With("bucket", bucket).With("retryAfterMs", max(retryAfterMs, 1))
}

// Internal tells nothing but that it happened.
func Internal(cause error) *Error {
	return &Error{Name: internalName, Code: "internal", Message: "internal error", Cause: cause}
}

// CodeProviderDown is the code of ProviderDown.
const CodeProviderDown = "openid_provider_unreachable"

// ProviderDown says that the OpenID provider cannot be reached.
func ProviderDown(cause error, retryAfterMs int64) *Error {
	return &Error{Name: internalName, Code: CodeProviderDown, Message: "the OpenID provider cannot be reached; try again",
		Cause: cause, RetryAfterMs: retryAfterMs}
}

// CodeStorage is the code of Storage.
const CodeStorage = "storage_unavailable"

// Storage is an outage of the account data.
func Storage(cause error) *Error {
	return &Error{Name: internalName, Code: CodeStorage,
		Message: "the account data cannot be reached; try again", Cause: cause, RetryAfterMs: 1000}
}

// Denied is AccessDeniedError of a gate.
func Denied(reason, permission, scope string, principal any) *Error {
	e := &Error{Name: "AccessDeniedError", Code: reason,
		Message: "access denied: " + permission + " at " + spell.Echo(scope) + "; explain tells why"}
	return e.With("permission", permission).With("scope", scope).With("principal", principal)
}

// Rejected is ProviderWriteRejectedError.
func Rejected(code authz.Code, format string, args ...any) *Error {
	return &Error{Name: "ProviderWriteRejectedError", Code: string(code), Message: fmt.Sprintf(format, args...)}
}

// UnknownPermission tells of a key that no catalog has (spec: hosted-api §6).
func UnknownPermission(u *authz.UnknownPermissionError) *Error {
	e := &Error{Name: u.ErrorName(), Message: u.Message}
	e.With("permission", u.Permission).With("expected", string(u.Expected)).With("namespaceOrigin", string(u.NamespaceOrigin))
	e.With("didYouMean", append([]string{}, u.DidYouMean...)).With("importedPatterns", append([]string{}, u.ImportedPatterns...))
	if u.Suggestion != "" {
		e.With("suggestion", u.Suggestion)
	}
	return e
}

// UnknownScopeType tells of a scope whose type no catalog has.
func UnknownScopeType(u *authz.UnknownScopeTypeError) *Error {
	e := &Error{Name: u.ErrorName(), Message: u.Message}
	e.With("scope", u.Scope).With("scopeType", u.ScopeType)
	return e.With("didYouMean", append([]string{}, u.DidYouMean...)).With("declaredTypes", append([]string{}, u.DeclaredTypes...))
}

// MissingCondition tells of a key that is conditional and was asked without one.
func MissingCondition(m *authz.MissingConditionError) *Error {
	e := &Error{Name: m.ErrorName(), Message: m.Error()}
	return e.With("permission", m.Permission).With("shape", m.Shape)
}

// Cycle tells of rows that would make a graph cyclic.
func Cycle(c *authz.GraphCycleError) *Error {
	return (&Error{Name: c.ErrorName(), Message: c.Error()}).With("path", append([]string{}, c.Path...))
}
