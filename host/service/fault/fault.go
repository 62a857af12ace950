package fault

import (
	"fmt"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
)

// Error is an answer that is no success. Fields stand flat beside name, code and
// message in the envelope.
type Error struct {
	Status  int
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

// statuses of CloudError codes; those that are not listed are 409.
var statuses = map[string]int{
	"invalid_request": 400, "invalid_parameter": 400, "invalid_cursor": 400, "invalid_idempotency_key": 400,
	"relay_url_rejected": 400, "mixed_homes": 400, "not_evaluable_here": 400,

	"csrf_failed": 403, "credential_not_allowed": 403, "seat_required": 403, "owner_required": 403,
	"escalation_refused": 403, "principal_mismatch": 403, "org_creation_disabled": 403, "view_as_read_only": 403,
	"proof_required": 403,

	"org_not_found": 404, "application_not_found": 404, "seat_not_found": 404, "api_key_not_found": 404,
	"session_not_found": 404, "namespace_not_found": 404, "version_not_found": 404, "dimension_not_found": 404,
}

// Cloud is a CloudError; its status follows from the code.
func Cloud(code, format string, args ...any) *Error {
	status := statuses[code]
	if status == 0 {
		status = http.StatusConflict
	}
	return &Error{Status: status, Name: "CloudError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// Issue is one thing that is wrong with a body.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// MaxIssues is how many issues an error lists.
const MaxIssues = 20

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

// Unauthenticated is 401.
func Unauthenticated(code, message string) *Error {
	return &Error{Status: http.StatusUnauthorized, Name: "UnauthenticatedError", Code: code, Message: message}
}

// Registry is a RegistryError.
func Registry(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Name: "RegistryError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// TransportName names the errors of Transport.
const TransportName = "ProviderTransportError"

// Transport is a ProviderTransportError about an application; outcome is "" for
// reads.
func Transport(status int, code, application, outcome, message string) *Error {
	e := &Error{Status: status, Name: TransportName, Code: code, Message: message}
	e.With("application", application)
	if outcome != "" {
		e.With("outcome", outcome)
	}
	return e
}

// Limited is RateLimitedError.
func Limited(bucket string, retryAfterMs int64) *Error {
	e := &Error{Status: http.StatusTooManyRequests, Name: "RateLimitedError", Code: "rate_limited",
		Message: "too many requests; wait and try again", RetryAfterMs: max(retryAfterMs, 1)}
	return e.With("bucket", bucket).With("retryAfterMs", max(retryAfterMs, 1))
}

// Protocol is an error of HTTP itself.
func Protocol(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Name: "ProtocolError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// Internal tells nothing but that it happened.
func Internal(cause error) *Error {
	return &Error{Status: http.StatusInternalServerError, Name: "InternalError", Code: "internal", Message: "internal error", Cause: cause}
}

// Storage is an outage of the account data.
func Storage(cause error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Name: "InternalError", Code: "storage_unavailable",
		Message: "the account data cannot be reached; try again", Cause: cause, RetryAfterMs: 1000}
}

// Denied is AccessDeniedError of a gate.
func Denied(reason, permission, scope string, principal any) *Error {
	e := &Error{Status: http.StatusForbidden, Name: "AccessDeniedError", Code: reason,
		Message: "access denied: " + permission + " at " + authz.Echo(scope) + "; explain tells why"}
	return e.With("permission", permission).With("scope", scope).With("principal", principal)
}

// rejected are the statuses of refused writes (spec: hosted-api §6), which differ
// from those of the provider wire.
var rejected = map[authz.Code]int{
	authz.CodeNotOrgRoot: http.StatusConflict, authz.CodeGraphCycle: http.StatusConflict, authz.CodeValidation: http.StatusBadRequest,
	authz.CodeNotFound: http.StatusNotFound, authz.CodeConflict: http.StatusConflict, authz.CodeUnsupported: http.StatusNotImplemented,
}

// Rejected is ProviderWriteRejectedError; its status is 0 for a code that this API
// does not have.
func Rejected(code authz.Code, format string, args ...any) *Error {
	return &Error{Status: rejected[code], Name: "ProviderWriteRejectedError", Code: string(code), Message: fmt.Sprintf(format, args...)}
}

// UnknownPermission tells of a key that no catalog has (spec: hosted-api §6).
func UnknownPermission(u *authz.UnknownPermissionError) *Error {
	e := &Error{Status: http.StatusInternalServerError, Name: u.ErrorName(), Message: u.Message}
	e.With("permission", u.Permission).With("expected", string(u.Expected)).With("namespaceOrigin", string(u.NamespaceOrigin))
	e.With("didYouMean", append([]string{}, u.DidYouMean...)).With("importedPatterns", append([]string{}, u.ImportedPatterns...))
	if u.Suggestion != "" {
		e.With("suggestion", u.Suggestion)
	}
	return e
}

// UnknownScopeType tells of a scope whose type no catalog has.
func UnknownScopeType(u *authz.UnknownScopeTypeError) *Error {
	e := &Error{Status: http.StatusInternalServerError, Name: u.ErrorName(), Message: u.Message}
	e.With("scope", u.Scope).With("scopeType", u.ScopeType)
	return e.With("didYouMean", append([]string{}, u.DidYouMean...)).With("declaredTypes", append([]string{}, u.DeclaredTypes...))
}
