package authzhttp

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// Scope says where a gate asks. The zero Scope is refused: a scope that was forgotten must
// not become the global one.
type Scope struct {
	scopeType string // "" when only the request knows
	of        func(*http.Request) (string, error)
}

// ErrNoResource is what a ScopeFunc answers when the request names no resource: 404.
var ErrNoResource = gate.ErrNoResource

// Global asks the global question, which only global grants answer.
var Global = Scope{of: func(*http.Request) (string, error) { return authz.Global, nil }}

// ScopeFromPath is the scope of a type whose instance is a path value: {id} of the route
// is "id". A route whose pattern has no such value is a mistake of the program, 500.
func ScopeFromPath(scopeType, name string) Scope {
	return Scope{scopeType, func(r *http.Request) (string, error) {
		if instance := r.PathValue(name); instance != "" {
			return gate.Scope(scopeType, instance)
		}
		if !strings.Contains(r.Pattern, "{"+name+"}") && !strings.Contains(r.Pattern, "{"+name+"...}") {
			return "", &gate.ProgramError{Problem: fmt.Sprintf("ScopeFromPath: the pattern %s of the route has no value {%s}", spell.Quote(r.Pattern), name)}
		}
		return "", ErrNoResource
	}}
}

// ScopeFromQuery is the scope of a type whose instance is a parameter of the query. One
// that is given more than once is refused, as one that is missing: handlers read either.
func ScopeFromQuery(scopeType, name string) Scope {
	return Scope{scopeType, func(r *http.Request) (string, error) {
		values := r.URL.Query()[name]
		if len(values) != 1 {
			return "", ErrNoResource
		}
		return gate.Scope(scopeType, values[0])
	}}
}

// ScopeFunc is a scope that a function of the application finds, in its database for
// instance. ErrNoResource is 404, every other error an outage.
func ScopeFunc(of func(*http.Request) (string, error)) Scope { return Scope{of: of} }
