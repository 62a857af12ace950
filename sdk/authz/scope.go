package authz

import (
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// ScopeType returns the type half of "<scopeType>:<instance>", split at the
// first colon; "" for the global scope and for anything that is no scope id.
func ScopeType(scope string) string {
	t, _, _ := ParseScope(scope)
	return t
}

// ParseScope splits a scope id at its first colon. ok is false for "*" and for
// ids with an empty half. The type is not checked against the key grammar.
func ParseScope(scope string) (scopeType, instance string, ok bool) {
	i := strings.IndexByte(scope, ':')
	if i <= 0 || i == len(scope)-1 {
		return "", "", false
	}
	return scope[:i], scope[i+1:], true
}

// ValidateScope returns nil for "*" and for "<scopeType>:<instance>" whose type
// is a well-formed key.
func ValidateScope(scope string) *GrammarError {
	if scope == Global {
		return nil
	}
	t, _, ok := ParseScope(scope)
	if !ok {
		return &GrammarError{Value: scope, Reason: "scope ids are `*` or `<scopeType>:<instanceId>`"}
	}
	if !IsKey(t) {
		return &GrammarError{Value: scope, Reason: "invalid scope type " + spell.Quote(t)}
	}
	return nil
}

// ScopeID joins a scope type and an instance.
func ScopeID(scopeType, instance string) string { return scopeType + ":" + instance }
