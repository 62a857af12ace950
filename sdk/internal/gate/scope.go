package gate

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// ErrNoResource says that a request names no resource at whose scope could be asked.
var ErrNoResource = errors.New("the request names no resource")

// UnknownTold is what logs say of a resource that is unknown. Anybody can ask for one, so
// it is nothing to be woken for; and whoever forgot to record a resource finds it here.
const UnknownTold = "nothing is known of where the resource of a request lies: it does not exist, or its parents are not recorded (authz scope parents, setScopeParents)"

// Unknown is the scope of which an error says that the application knows no parents.
func Unknown(err error) string {
	if unknown, is := errors.AsType[*authz.UnknownScopeError](err); is {
		return unknown.Scope
	}
	return ""
}

// maxScope is what applications hold a scope to.
const maxScope = 1024

// placed refuses what would turn the question into the global one: revokes at the resource
// would be passed over. What a client makes of it is not asked.
func placed(scope string) error {
	if scope == authz.Global {
		return nil
	}
	scopeType, instance, typed := strings.Cut(scope, ":")
	switch {
	case scope == "", typed && authz.IsKey(scopeType) && !nameable(instance), len(scope) > maxScope:
		return ErrNoResource
	case authz.ValidateScope(scope) != nil:
		return &ProgramError{Problem: "the gate was given " + spell.Quote(scope) + `, which is no scope: it is "TYPE:ID", by authz.ScopeID, or authz.Global`}
	}
	return nil
}

// nameable says that a resource can have the id: no row is ever written at another one, and
// providers refuse the question.
func nameable(instance string) bool {
	return instance != "" && utf8.ValidString(instance) && !strings.ContainsFunc(instance, unicode.IsControl)
}
