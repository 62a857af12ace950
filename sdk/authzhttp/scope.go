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
// is "id". A route whose pattern has no such value is a mistake of the program, 500. It
// panics where type or name is empty.
func ScopeFromPath(scopeType, name string) Scope {
	named("ScopeFromPath", scopeType, name)
	return Scope{scopeType, func(r *http.Request) (string, error) {
		if instance := r.PathValue(name); instance != "" {
			return authz.ScopeID(scopeType, instance), nil
		}
		if !strings.Contains(r.Pattern, "{"+name+"}") && !strings.Contains(r.Pattern, "{"+name+"...}") {
			return "", &gate.ProgramError{Problem: fmt.Sprintf("ScopeFromPath: the pattern %s of the route has no value {%s}", spell.Quote(r.Pattern), name)}
		}
		return "", ErrNoResource
	}}
}

// ScopeFromQuery is the scope of a type whose instance is a parameter of the query. One
// that is given more than once is refused, as one that is missing: handlers read either. It
// panics where type or name is empty.
func ScopeFromQuery(scopeType, name string) Scope {
	named("ScopeFromQuery", scopeType, name)
	return Scope{scopeType, func(r *http.Request) (string, error) {
		values := r.URL.Query()[name]
		if len(values) != 1 {
			return "", ErrNoResource
		}
		return authz.ScopeID(scopeType, values[0]), nil
	}}
}

// named ends the program before a request can ask at a scope that has no type.
func named(function, scopeType, name string) {
	if scopeType == "" || name == "" {
		panic("authzhttp: " + function + " needs a type of scopes and a name, such as " + function + `("docs.folder", "id")`)
	}
}

// ScopeFunc is a scope that a function of the application finds, in its database for
// instance: authz.ScopeID makes one. ErrNoResource is 404, and so are "" and an empty id:
// what was not found must not become the global question. Text that is no scope is a
// mistake, 500, and every other error an outage.
func ScopeFunc(of func(*http.Request) (string, error)) Scope { return Scope{of: of} }
