package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// Asked is one request at a gate.
type Asked struct {
	Client    *client.Client
	Principal func() (authz.Principal, error) // nobody is the zero one
	Scope     func() (string, error)
	Gate      client.Gate // without its scope
}

// Judge lets the request pass, with nil, or says why not.
func (a Asked) Judge(ctx context.Context) (authz.Principal, client.Gate, error) {
	g := a.Gate
	p, err := a.Who()
	if err != nil {
		return p, g, err
	}
	if g.Scope, err = a.Scope(); err != nil {
		return p, g, err
	}
	if err := placed(g.Scope); err != nil {
		return p, g, err
	}
	return p, g, a.Client.RequireGate(ctx, p, g)
}

// Who is who sent the request, or why that is not to be had.
func (a Asked) Who() (authz.Principal, error) {
	p, err := a.Principal()
	switch {
	case err != nil:
		return p, fmt.Errorf("the principal of the request: %w", err)
	case p == (authz.Principal{}):
		return p, &authz.AccessDeniedError{Reason: authz.ReasonUnauthenticated, Permissions: a.Gate.Keys, AnyOf: len(a.Gate.Keys) != 1}
	}
	return p, p.Validate()
}

// Verdict is what an error of Judge means.
type Verdict int

// The verdicts. Whatever is not known for another is an outage, and never an answer.
const (
	Allowed Verdict = iota
	Nobody
	Forbidden
	NoResource
	Mistake
	Outage
)

// VerdictOf is what the error means.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Allowed
	}
	if errors.Is(err, ErrNoResource) || Unknown(err) != "" {
		return NoResource
	}
	if denied, ok := errors.AsType[*authz.AccessDeniedError](err); ok {
		if denied.Reason == authz.ReasonUnauthenticated {
			return Nobody
		}
		return Forbidden
	}
	var (
		permission *authz.UnknownPermissionError
		scopeType  *authz.UnknownScopeTypeError
		condition  *authz.MissingConditionError
		unresolved *authz.UnresolvedScopeError
		principal  *authz.InvalidPrincipalError
		program    *ProgramError
	)
	if errors.As(err, &permission) || errors.As(err, &scopeType) || errors.As(err, &condition) ||
		errors.As(err, &unresolved) || errors.As(err, &principal) || errors.As(err, &program) {
		return Mistake
	}
	return Outage
}

// Denied is who was denied what, as far as a key can be explained; nothing for an error
// that is no denial.
func Denied(err error) (authz.Principal, client.Gate) {
	denied, is := errors.AsType[*authz.AccessDeniedError](err)
	if !is {
		return authz.Principal{}, client.Gate{}
	}
	keys := slices.DeleteFunc(slices.Clone(denied.Permissions), func(key string) bool { return !authz.IsKey(key) })
	return denied.Principal, client.Gate{Keys: keys, Scope: denied.Scope}
}

// Advised is what VerifyGate says of a gate, with what a pattern is asked by instead.
func Advised(err error) error {
	if unknown, is := errors.AsType[*authz.UnknownPermissionError](err); is && authz.IsWildcard(unknown.Permission) {
		return fmt.Errorf("%w In Go that is Client.RequireAny, in a handler behind SignedIn", err)
	}
	return err
}

// ProgramError is a mistake of the program at its gates.
type ProgramError struct{ Problem string }

func (e *ProgramError) Error() string { return e.Problem }

// maxExplained bounds the keys that a denial explains.
const maxExplained = 8

// Explain shows the working of a denial to a developer, key by key.
func Explain(ctx context.Context, c *client.Client, p authz.Principal, g client.Gate) string {
	var b strings.Builder
	for i, key := range g.Keys {
		if i == maxExplained {
			fmt.Fprintf(&b, "and %d more keys\n", len(g.Keys)-i)
			break
		}
		e, err := c.Explain(ctx, p, key, g.Scope)
		if err != nil {
			fmt.Fprintf(&b, "%s: no explanation: %v\n", key, err)
			continue
		}
		b.WriteString(e.Text(p, key, g.Scope))
		if e.Allowed && g.Condition != nil {
			b.WriteString("  the condition of the gate does not hold\n")
			continue
		}
		flag, id := "--user", p.UserID
		if p.IsService() {
			flag, id = "--service", p.ServiceID
		}
		command := []string{"authz", "explain", flag, id, key}
		if g.Scope != "" && g.Scope != authz.Global {
			command = append(command, g.Scope)
		}
		for i := range command {
			command[i] = words.Shell(command[i])
		}
		b.WriteString("what would change it: " + strings.Join(command, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
