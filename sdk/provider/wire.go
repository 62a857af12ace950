package provider

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
)

// WireError (ProviderWireError) is the form in which an error crosses the wire,
// alone in the member "error" of the envelope. It never holds a stack, file
// name, query text or driver message.
type WireError struct {
	Name    string          `json:"name"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Envelope is the body of every failure.
type Envelope struct {
	Error *WireError `json:"error"`
}

// APIError (ProviderApiError) is a request that never reached the provider.
type APIError struct {
	Code    APICode
	Message string
}

// APICode discriminates an APIError.
type APICode string

// The codes of an APIError.
const (
	MethodNotAllowed APICode = "method_not_allowed"
	Unauthorized     APICode = "unauthorized"
	UnknownOp        APICode = "unknown_op"
	BadRequest       APICode = "bad_request"
	PayloadTooLarge  APICode = "payload_too_large"

	// Forbidden answers a secret whose purpose is another.
	Forbidden APICode = "forbidden"

	// RateLimited answers bad credentials only, after too many of them from one
	// address. A valid credential never gets it.
	RateLimited APICode = "rate_limited"
)

func (e *APIError) Error() string     { return e.Message }
func (e *APIError) ErrorName() string { return "ProviderApiError" }
func (e *APIError) ErrorCode() string { return string(e.Code) }

var apiStatus = map[APICode]int{
	MethodNotAllowed: http.StatusMethodNotAllowed,
	Unauthorized:     http.StatusUnauthorized,
	UnknownOp:        http.StatusNotFound,
	Forbidden:        http.StatusForbidden,
	BadRequest:       http.StatusBadRequest,
	PayloadTooLarge:  http.StatusRequestEntityTooLarge,
	RateLimited:      http.StatusTooManyRequests,
}

var rejectedStatus = map[authz.Code]int{
	authz.CodeValidation:  http.StatusUnprocessableEntity,
	authz.CodeNotFound:    http.StatusNotFound,
	authz.CodeConflict:    http.StatusConflict,
	authz.CodeGraphCycle:  http.StatusConflict,
	authz.CodeNotOrgRoot:  http.StatusForbidden,
	authz.CodeUnsupported: http.StatusNotImplemented,
}

// ToWireError turns an error into its wire form and the status that hints at it.
// An error that is not of the product's own model crosses as "Error" with the
// message "internal error"; the caller logs the original.
func ToWireError(err error) (*WireError, int) {
	var typed authz.Error
	if !errors.As(err, &typed) {
		return internalError(), http.StatusInternalServerError
	}
	w := &WireError{Name: typed.ErrorName(), Code: typed.ErrorCode(), Message: typed.Error()}
	switch e := typed.(type) {
	case *APIError:
		return w, apiStatus[e.Code]
	case *authz.WriteRejectedError:
		if e.Path != nil {
			w.Detail = detail(pathDetail{e.Path})
		}
		return w, rejectedStatus[e.Code]
	case *authz.UnknownScopeError:
		w.Detail = detail(unknownScopeDetail{e.Scope})
		return w, rejectedStatus[e.Refusal.Code]
	case *authz.InvalidPrincipalError:
		// On this wire a malformed argument is the caller's mistake, not an outage.
		return &WireError{Name: "ProviderWriteRejectedError", Code: string(authz.CodeValidation), Message: e.Message},
			http.StatusUnprocessableEntity
	case *authz.GraphCycleError:
		w.Detail = detail(pathDetail{e.Path})
		return w, http.StatusConflict
	case *authz.PromotionConflictError:
		w.Detail = detail(promotionDetail{e.Conflicts, e.Fingerprint})
		return w, http.StatusConflict
	case *authz.UnavailableError:
		if e.Outcome != "" {
			w.Detail = detail(outcomeDetail{e.Outcome})
		}
		return w, http.StatusServiceUnavailable
	case *authz.AccessDeniedError:
		w.Detail = detail(deniedDetail{Permissions: e.Permissions, AnyOf: e.AnyOf, Scope: e.Scope, Principal: e.Principal, Expired: e.Expired})
		return w, http.StatusForbidden
	case *authz.UnknownPermissionError:
		w.Detail = detail(e)
		return w, http.StatusInternalServerError
	case *authz.UnknownScopeTypeError:
		w.Detail = detail(e)
		return w, http.StatusInternalServerError
	case *authz.MissingConditionError:
		w.Detail = detail(conditionDetail{e.Permission, e.Shape})
		return w, http.StatusInternalServerError
	case *authz.CatalogError:
		w.Detail = detail(issuesDetail{e.Issues})
		return w, http.StatusInternalServerError
	case *authz.UnresolvedScopeError:
		return w, http.StatusInternalServerError
	case *authz.MeshError:
		w.Detail = detail(e)
		return w, meshStatus(e.Code)
	}
	return internalError(), http.StatusInternalServerError
}

func meshStatus(code authz.MeshCode) int {
	if code == authz.MeshNoEdge || code == authz.MeshReadOnlyPeer {
		return http.StatusForbidden
	}
	return http.StatusConflict
}

func internalError() *WireError { return &WireError{Name: "Error", Message: "internal error"} }

type (
	pathDetail struct {
		Path []string `json:"path"`
	}
	unknownScopeDetail struct {
		UnknownScope string `json:"unknownScope"`
	}
	promotionDetail struct {
		Conflicts   []authz.Conflict `json:"conflicts"`
		Fingerprint string           `json:"fingerprint"`
	}
	outcomeDetail struct {
		Outcome authz.Outcome `json:"outcome"`
	}
	issuesDetail struct {
		Issues []authz.Issue `json:"issues"`
	}

	deniedDetail struct {
		Permissions []string        `json:"permissions,omitempty"`
		AnyOf       bool            `json:"anyOf,omitempty"`
		Scope       string          `json:"scope,omitempty"`
		Principal   authz.Principal `json:"principal"`
		Expired     []authz.Grant   `json:"expired,omitempty"`
	}
	conditionDetail struct {
		Permission string `json:"permission"`
		Shape      string `json:"shape,omitempty"`
	}
)

func detail(v any) json.RawMessage {
	b, err := authz.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// NamedError is an error of a class that this version does not know.
type NamedError struct {
	Name    string
	Code    string
	Message string
}

func (e *NamedError) Error() string     { return e.Message }
func (e *NamedError) ErrorName() string { return e.Name }
func (e *NamedError) ErrorCode() string { return e.Code }

// FromWireError rebuilds the error that crossed, by its name, whatever the
// status was.
func FromWireError(w *WireError) error {
	switch w.Name {
	case "ProviderApiError":
		return &APIError{Code: APICode(w.Code), Message: w.Message}
	case "ProviderWriteRejectedError":
		e := &authz.WriteRejectedError{Code: authz.Code(w.Code), Message: w.Message}
		if e.Code == "" {
			e.Code = authz.CodeValidation
		}
		if e.Code == authz.CodeGraphCycle {
			e.Path = read[pathDetail](w).Path
		}
		if unknown := read[unknownScopeDetail](w).UnknownScope; unknown != "" && e.Code == authz.CodeUnsupported {
			return &authz.UnknownScopeError{Scope: unknown, Refusal: e}
		}
		return e
	case "GraphCycleError":
		e := &authz.GraphCycleError{Path: read[pathDetail](w).Path}
		e.Message = w.unless(e)
		return e
	case "PromotionConflictError":
		d := read[promotionDetail](w)
		return &authz.PromotionConflictError{Code: authz.PromotionCode(w.Code), Message: w.Message, Conflicts: d.Conflicts, Fingerprint: d.Fingerprint}
	case "UnavailableError":
		return &authz.UnavailableError{Message: w.Message, Outcome: read[outcomeDetail](w).Outcome}
	case "CatalogError":
		e := &authz.CatalogError{Issues: read[issuesDetail](w).Issues}
		e.Message = w.unless(e)
		return e
	case "UnknownPermissionError":
		e := read[authz.UnknownPermissionError](w)
		e.Message = w.Message
		return &e
	case "UnknownScopeTypeError":
		e := read[authz.UnknownScopeTypeError](w)
		e.Message = w.Message
		return &e
	case "MissingConditionError":
		d := read[conditionDetail](w)
		e := &authz.MissingConditionError{Permission: d.Permission, Shape: d.Shape}
		e.Message = w.unless(e)
		return e
	case "MeshError":
		e := read[authz.MeshError](w)
		e.Code, e.Message = authz.MeshCode(w.Code), w.Message
		return &e
	case "AccessDeniedError":
		d := read[deniedDetail](w)
		e := &authz.AccessDeniedError{Reason: authz.DenialReason(w.Code), Permissions: d.Permissions,
			AnyOf: d.AnyOf, Scope: d.Scope, Principal: d.Principal, Expired: d.Expired}
		e.Message = w.unless(e)
		return e
	}
	return &NamedError{Name: w.Name, Code: w.Code, Message: w.Message}
}

// unless is the message that crossed, unless the error says it by its fields: a far
// side may send none of them.
func (w *WireError) unless(said error) string {
	if w.Message == said.Error() {
		return ""
	}
	return w.Message
}

// read tolerates an absent or malformed detail: the class still crosses.
func read[T any](w *WireError) (v T) {
	if len(w.Detail) > 0 {
		_ = json.Unmarshal(w.Detail, &v)
	}
	return v
}
