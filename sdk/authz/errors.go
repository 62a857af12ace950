package authz

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
)

// Error is what every error class of the product implements: the class name
// that crosses process boundaries, and the discriminator within the class ("" if
// it has none). Act on these, never on the text.
type Error interface {
	error
	ErrorName() string
	ErrorCode() string
}

// Code discriminates refused writes.
type Code string

// The codes of a WriteRejectedError.
const (
	CodeValidation  Code = "validation"
	CodeNotFound    Code = "not_found"
	CodeConflict    Code = "conflict"
	CodeGraphCycle  Code = "graph_cycle"
	CodeNotOrgRoot  Code = "not_org_root"
	CodeUnsupported Code = "unsupported"
)

// WriteRejectedError (ProviderWriteRejectedError) is a refusal: the operation
// was understood and changed nothing. Path is the cycle of a CodeGraphCycle,
// its first id repeated last.
type WriteRejectedError struct {
	Code    Code
	Message string
	Path    []string
}

func (e *WriteRejectedError) Error() string     { return e.Message }
func (e *WriteRejectedError) ErrorName() string { return "ProviderWriteRejectedError" }
func (e *WriteRejectedError) ErrorCode() string { return string(e.Code) }

// Rejected builds a refusal.
func Rejected(code Code, format string, args ...any) *WriteRejectedError {
	return &WriteRejectedError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Validation is Rejected with CodeValidation.
func Validation(format string, args ...any) *WriteRejectedError {
	return Rejected(CodeValidation, format, args...)
}

// Cycle refuses a graph write; path is the full cycle, its first id repeated
// last.
func Cycle(path []string) *WriteRejectedError {
	return &WriteRejectedError{Code: CodeGraphCycle, Message: cycleMessage(path), Path: path}
}

func cycleMessage(path []string) string {
	shown := make([]string, len(path))
	for i, id := range path {
		shown[i] = spell.Echo(id)
	}
	return "cycle: " + strings.Join(shown, " → ")
}

// CodeOf returns the code of a refusal anywhere in err's chain, else "".
func CodeOf(err error) Code {
	var refused *WriteRejectedError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// GraphCycleError is a cycle reported by class, as some providers do.
type GraphCycleError struct {
	Path []string

	// Message is what another process said where the other fields do not say it; ""
	// is made of them.
	Message string
}

func (e *GraphCycleError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return cycleMessage(e.Path)
}
func (e *GraphCycleError) ErrorName() string { return "GraphCycleError" }
func (e *GraphCycleError) ErrorCode() string { return "" }

// Outcome says what is known of a write whose answer did not arrive. "" is the
// outcome of reads.
type Outcome string

// The outcomes of an unavailable write.
const (
	OutcomeNotApplied Outcome = "not_applied"
	OutcomeUnknown    Outcome = "unknown"
)

// UnavailableError is an outage: a driver, plugin or database could not be
// reached. It is never an answer. Cause is for logs and does not cross a wire.
type UnavailableError struct {
	Message string
	Outcome Outcome
	Cause   error
}

func (e *UnavailableError) Error() string     { return e.Message }
func (e *UnavailableError) Unwrap() error     { return e.Cause }
func (e *UnavailableError) ErrorName() string { return "UnavailableError" }
func (e *UnavailableError) ErrorCode() string { return "unavailable" }

// InvalidPrincipalError is a programming error: a principal that names nobody,
// or two at once.
type InvalidPrincipalError struct{ Message string }

func (e *InvalidPrincipalError) Error() string     { return e.Message }
func (e *InvalidPrincipalError) ErrorName() string { return "InvalidPrincipalError" }
func (e *InvalidPrincipalError) ErrorCode() string { return "" }

// DenialReason says why a require shape denied.
type DenialReason string

// The reasons of an AccessDeniedError. ReasonUnauthenticated is for hosts whose
// identity layer found nobody; no check produces it.
const (
	ReasonUnauthenticated DenialReason = "unauthenticated"
	ReasonForbidden       DenialReason = "forbidden"
	ReasonInactive        DenialReason = "inactive"
)

// AccessDeniedError is a denial, the answer of a require shape. Permissions
// holds the keys or the pattern as they were asked for.
type AccessDeniedError struct {
	Reason      DenialReason
	Permissions []string
	AnyOf       bool
	Scope       string
	Principal   Principal

	// Expired are grants that would allow had they not expired, as far as the checker still
	// had them.
	Expired []Grant

	Message string // as that of GraphCycleError
}

func (e *AccessDeniedError) ErrorName() string { return "AccessDeniedError" }
func (e *AccessDeniedError) ErrorCode() string { return string(e.Reason) }

// maxEchoedKeys bounds how many keys of an any-of list a message repeats.
const maxEchoedKeys = 8

func (e *AccessDeniedError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	var b strings.Builder
	b.WriteString(string(e.Reason))
	b.WriteString(": ")
	asked := "access"
	switch {
	case e.AnyOf:
		shown := e.Permissions[:min(len(e.Permissions), maxEchoedKeys)]
		echoed := make([]string, len(shown), len(shown)+1)
		for i, k := range shown {
			echoed[i] = spell.Echo(k)
		}
		if left := len(e.Permissions) - len(shown); left > 0 {
			echoed = append(echoed, fmt.Sprintf("…(+%d more)", left))
		}
		asked = "any of [" + strings.Join(echoed, ", ") + "]"
	case len(e.Permissions) > 0:
		asked = spell.Echo(e.Permissions[0])
	}
	b.WriteString(asked)
	if e.Scope != "" {
		b.WriteString(" at " + spell.Echo(e.Scope))
	}
	if e.Principal != (Principal{}) {
		b.WriteString(" for " + spell.Echo(e.Principal.Subject()))
	}
	for _, g := range e.Expired[:min(len(e.Expired), maxEchoedKeys)] {
		b.WriteString(" — grant " + spell.Echo(g.ID) + " to " + spell.Echo(g.Subject) + " has expired")
		if at, _ := g.ExpiresAt.At(); at > 0 {
			b.WriteString(" (" + time.UnixMilli(at).UTC().Format(time.RFC3339) + ")")
		}
	}
	switch {
	case e.Reason == ReasonForbidden && len(e.Permissions) > 0:
		b.WriteString(" — explain(principal, key")
		if e.Scope != "" {
			b.WriteString(", scope")
		}
		b.WriteString(") shows which rows decided")
	case e.Reason == ReasonInactive:
		b.WriteString(" — the principal is deactivated until setUserActive (authz user activate) switches it on")
	}
	return b.String()
}

// Expected says what kind of name a check wanted.
type Expected string

// What a check can expect.
const (
	ExpectedKey     Expected = "key"
	ExpectedPattern Expected = "pattern"
)

// NamespaceOrigin says how a catalog stands to a namespace.
type NamespaceOrigin string

// The origins of a namespace.
const (
	NamespaceOwned    NamespaceOrigin = "owned"
	NamespaceImported NamespaceOrigin = "imported"
	NamespaceForeign  NamespaceOrigin = "foreign"
)

// UnknownPermissionError is a programming error: a check named a key or
// pattern that no catalog declares. It is never a denial.
type UnknownPermissionError struct {
	Permission       string          `json:"permission"`
	Expected         Expected        `json:"expected"`
	Suggestion       string          `json:"suggestion,omitempty"`
	DidYouMean       []string        `json:"didYouMean"`
	NamespaceOrigin  NamespaceOrigin `json:"namespaceOrigin"`
	ImportedPatterns []string        `json:"importedPatterns"`
	Message          string          `json:"-"`
}

func (e *UnknownPermissionError) Error() string     { return e.Message }
func (e *UnknownPermissionError) ErrorName() string { return "UnknownPermissionError" }
func (e *UnknownPermissionError) ErrorCode() string { return "" }

// IsForeignNamespace reports that the catalog does not own the namespace.
func (e *UnknownPermissionError) IsForeignNamespace() bool {
	return e.NamespaceOrigin != NamespaceOwned
}

// UnknownScopeTypeError is a programming error: a check named a scope of a type
// that the catalog does not declare. It is never a denial.
type UnknownScopeTypeError struct {
	Scope         string   `json:"scope"`
	ScopeType     string   `json:"scopeType"`
	DidYouMean    []string `json:"didYouMean"`    // the nearest types, closest first, at most three
	DeclaredTypes []string `json:"declaredTypes"` // sorted
	Message       string   `json:"-"`
}

func (e *UnknownScopeTypeError) Error() string     { return e.Message }
func (e *UnknownScopeTypeError) ErrorName() string { return "UnknownScopeTypeError" }
func (e *UnknownScopeTypeError) ErrorCode() string { return "" }

// MissingConditionError is a programming error: a gate for a permission
// declared requiresCondition carried no predicate. Shape is the check shape
// that was called.
type MissingConditionError struct {
	Permission string
	Shape      string
	Reason     string
	Message    string // as that of GraphCycleError
}

func (e *MissingConditionError) ErrorName() string { return "MissingConditionError" }
func (e *MissingConditionError) ErrorCode() string { return "" }
func (e *MissingConditionError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	m := spell.Quote(e.Permission) + " is declared `requiresCondition: true` — every " + e.Shape +
		" gate for it must pass the application's condition"
	if e.Reason != "" {
		m += ": " + e.Reason
	}
	return m
}

// UnresolvedScopeError is a programming error: a snapshot was asked about a
// scope whose chain of ancestors it does not hold.
type UnresolvedScopeError struct {
	Scope          string
	ScopeType      string // "" when the id has no type
	Declared       bool
	ResolvedScopes []string // sorted
	DeclaredTypes  []string
}

func (e *UnresolvedScopeError) ErrorName() string { return "UnresolvedScopeError" }
func (e *UnresolvedScopeError) ErrorCode() string { return "" }

// maxEchoedScopes bounds how many resolved scopes a message repeats.
const maxEchoedScopes = 8

func (e *UnresolvedScopeError) Error() string {
	var b strings.Builder
	b.WriteString("snapshot cannot resolve the ancestor chain of " + spell.Quote(e.Scope) + " synchronously: ")
	if e.Declared {
		b.WriteString("scope type " + spell.Quote(e.ScopeType) + " is hierarchical")
	} else {
		b.WriteString("scope type " + spell.Quote(e.ScopeType) + " is not declared in the catalog (declared scope types: " +
			strings.Join(e.DeclaredTypes, ", ") + ")")
	}
	b.WriteString("; name it in the snapshot's scopes, call resolve once the id is known, or use the client's can — ")
	if len(e.ResolvedScopes) == 0 {
		b.WriteString("no scopes are pre-resolved in this snapshot")
		return b.String()
	}
	shown := e.ResolvedScopes[:min(len(e.ResolvedScopes), maxEchoedScopes)]
	b.WriteString("resolved: " + spell.QuoteList(shown))
	if left := len(e.ResolvedScopes) - len(shown); left > 0 {
		fmt.Fprintf(&b, " (and %d more)", left)
	}
	return b.String()
}

// Severity grades an issue of a catalog.
type Severity string

// The severities of an issue.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Issue is one finding about a catalog. Code is stable where it is set. Line and
// Column, counted from 1, are those of the declaration's text; they are absent for
// what was not read from one.
type Issue struct {
	Severity Severity `json:"severity"`
	Path     string   `json:"path"`
	Message  string   `json:"message"`
	Code     string   `json:"code,omitempty"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
}

// CatalogError carries everything that is wrong with a catalog at once. It is a
// programming or publishing fault, never an authorization answer.
type CatalogError struct {
	Issues  []Issue
	Message string // as that of GraphCycleError
}

func (e *CatalogError) ErrorName() string { return "CatalogError" }
func (e *CatalogError) ErrorCode() string { return "" }
func (e *CatalogError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	var b strings.Builder
	b.WriteString("invalid catalog:")
	for _, i := range e.Issues {
		b.WriteString("\n  - ")
		if i.Line > 0 {
			fmt.Fprintf(&b, "line %d, column %d: ", i.Line, i.Column)
		}
		b.WriteString(i.Path + ": " + i.Message)
	}
	return b.String()
}
