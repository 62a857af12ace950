package condition

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Set are the conditions of an application. It is safe for concurrent use.
type Set struct {
	context map[string]string // types, by member
	byKey   map[string]*condition
}

// Keys are those that have a condition, sorted.
func (s *Set) Keys() []string { return slices.Sorted(maps.Keys(s.byKey)) }

// Context is what a caller sent, read by the types that are declared.
type Context map[string]any

type contextKey struct{}

// With carries a context to the conditions of one check.
func With(ctx context.Context, in Context) context.Context {
	return context.WithValue(ctx, contextKey{}, in)
}

// Holds judges the condition of a key, over what With carries. A member that the
// expression names and that was not sent is validation, and so is what has no value, such
// as a division by zero, or costs too much.
func (s *Set) Holds(ctx context.Context, key string, p authz.Principal, scope string) (bool, error) {
	c := s.byKey[key]
	if c == nil {
		return false, fmt.Errorf("the key %s has no condition", spell.Quote(key))
	}
	sent, _ := ctx.Value(contextKey{}).(Context)
	in := map[string]any{"key": key, "scope": scope, "principal.userId": p.UserID, "principal.serviceId": p.ServiceID, "principal.kind": kindOf(p)}
	for _, name := range c.needs {
		value, there := sent[name]
		if !there {
			return false, authz.Validation("context.%s is missing: the condition of %s needs %s", name, key, "context."+strings.Join(c.needs, ", context."))
		}
		in["context."+name] = value
	}
	out, _, err := c.program.ContextEval(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, authz.Validation("the condition of %s cannot be judged: %s", key, spell.Echo(err.Error()))
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the condition of %s answered %v", spell.Quote(key), out.Type())
	}
	return holds, nil
}

func kindOf(p authz.Principal) string {
	if p.IsService() {
		return string(authz.SubjectService)
	}
	return string(authz.SubjectUser)
}
