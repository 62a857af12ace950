package authzgrpc

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// Gates declares the gate of each method, by its full name: "/docs.v1.Files/Get".
type Gates map[string]Gate

// Gate is what a method asks. The zero Gate is refused.
type Gate struct {
	Keys  []string // any of them
	Scope Scope

	// Fresh asks past the caches, for destructive actions.
	Fresh bool

	// Condition is asked after the rows allow, with the message. Keys declared
	// requiresCondition need one.
	Condition func(ctx context.Context, message any) (bool, error)

	public   bool
	signedIn bool
}

// Require is the gate that asks for one key.
func Require(key string, scope Scope) Gate { return Gate{Keys: []string{key}, Scope: scope} }

// Public lets everybody pass: health checks, for instance.
func Public() Gate { return Gate{public: true} }

// SignedIn lets everybody pass who is somebody, and asks for no key: for lists, whose
// handler asks what of them its caller may see. Rows are not looked at, so a user who is
// deactivated passes too, and is denied where the handler asks.
func SignedIn() Gate { return Gate{signedIn: true} }

// Scope says where a gate asks. The zero Scope is refused: a scope that was forgotten must
// not become the global one.
type Scope struct {
	scopeType string // "" when only the call knows
	of        func(ctx context.Context, message any) (string, error)
	constant  bool // no message is looked at
}

// ErrNoResource is what a ScopeFunc answers when the message names no resource:
// NotFound.
var ErrNoResource = gate.ErrNoResource

// Global asks the global question, which only global grants answer.
var Global = Scope{constant: true, of: func(context.Context, any) (string, error) { return authz.Global, nil }}

// ScopeFrom is the scope of a type whose instance is a field of the message, by its
// getter: ScopeFrom("docs.folder", (*docsv1.GetRequest).GetFolderId). It panics where the
// type is empty, or the getter nil.
func ScopeFrom[Message any](scopeType string, instance func(Message) string) Scope {
	if scopeType == "" || instance == nil { // or a message could ask at a scope that has no type
		panic(`authzgrpc: ScopeFrom needs a type of scopes and a getter, such as ScopeFrom("docs.folder", (*docsv1.GetRequest).GetFolderId)`)
	}
	return Scope{scopeType: scopeType, of: func(_ context.Context, message any) (string, error) {
		m, ok := message.(Message)
		if !ok {
			return "", &gate.ProgramError{Problem: fmt.Sprintf("the gate of the method reads a %T, and the message is a %T", *new(Message), message)}
		}
		return authz.ScopeID(scopeType, instance(m)), nil
	}}
}

// ScopeFunc is a scope that a function of the application finds, in its database for
// instance: authz.ScopeID makes one. ErrNoResource is NotFound, and so are "" and an empty
// id: what was not found must not become the global question. Text that is no scope is a
// mistake, Internal, and every other error an outage.
func ScopeFunc(of func(ctx context.Context, message any) (string, error)) Scope { return Scope{of: of} }
