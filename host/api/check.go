package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Evaluator answers check in this process, with the semantics of the client's
// can: keys are any-of, scope "*" is the global question, fresh bypasses caches.
// An outage, an undeclared key and a missing condition are errors, never answers.
//
// One that also implements AwaitPosition serves the parameter at.
type Evaluator interface {
	Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error)
}

// positionAwaiter waits until answers come from state at least as new as an event of
// the application's own log, refreshing when behind.
type positionAwaiter interface {
	AwaitPosition(ctx context.Context, at authz.Position) error
}

const (
	maxChecks = 1000            // members of the batch form
	maxAwait  = 2 * time.Second // for the state that at asks for
)

type allowedResult struct {
	Allowed bool `json:"allowed"`
}

type resultsResult struct {
	Results []any `json:"results"` // allowedResult or provider.Envelope
}

// question is one check.
type question struct {
	principal authz.Principal
	keys      []string
	scope     string
	fresh     bool
}

func check(c *call) action {
	at := c.optionalPosition("at")
	if c.has("checks") {
		return checkMany(c, at)
	}
	q := readQuestion(c.object)
	return func(ctx context.Context) (any, error) {
		if err := c.await(ctx, at); err != nil {
			return nil, err
		}
		allowed, err := q.ask(ctx, c.evaluator)
		return allowedResult{allowed}, err
	}
}

// checkMany judges each member on its own: what one fails with is its answer.
func checkMany(c *call, at *authz.Position) action {
	for _, field := range []string{"principal", "key", "scope", "fresh"} {
		if c.has(field) {
			c.problem.refuse(authz.Validation("%s: %q cannot stand beside \"checks\"", c.op, field))
		}
	}
	members := c.list("checks", "a list of checks")
	if len(members) < 1 || len(members) > maxChecks {
		c.refuse("checks", fmt.Sprintf("a list of 1 to %d checks", maxChecks))
	}
	return func(ctx context.Context) (any, error) {
		if err := c.await(ctx, at); err != nil {
			return nil, err
		}
		results := make([]any, 0, len(members))
		for _, raw := range members {
			allowed, err := askMember(ctx, c, raw)
			if err != nil {
				wire, _ := provider.ToWireError(interrupted(ctx, err))
				results = append(results, provider.Envelope{Error: wire})
				continue
			}
			results = append(results, allowedResult{allowed})
		}
		return resultsResult{results}, nil
	}
}

// askMember reads and answers one member of a batch.
func askMember(ctx context.Context, c *call, raw []byte) (bool, error) {
	own := object{op: c.op, problem: &problem{}}
	read, ok := own.objectOf(raw)
	if !ok {
		return false, authz.Validation("%s: a member of \"checks\" must be an object", c.op)
	}
	own.members = read.members
	if c.known != nil {
		own = own.strictly()
	}
	for _, field := range []string{"principal", "key"} {
		if !own.has(field) {
			return false, authz.Validation("%s requires the %q field", c.op, field)
		}
	}
	if own.has("at") {
		return false, authz.Validation(`%s: "at" belongs beside "checks", not into a member`, c.op)
	}
	q := readQuestion(own)
	own.problem.refuseUnknown()
	if err := own.problem.err; err != nil {
		return false, err
	}
	return q.ask(ctx, c.evaluator)
}

// interrupted makes an outage of a member that the end of the call cut off.
func interrupted(ctx context.Context, err error) error {
	var typed authz.Error
	if ctx.Err() == nil || errors.As(err, &typed) {
		return err
	}
	return &authz.UnavailableError{Message: "the call ended before this check was answered", Cause: err}
}

func readQuestion(o object) question {
	q := question{principal: principal(o.nested("principal")), keys: o.keys("key"),
		scope: o.targetScope("scope"), fresh: o.flag("fresh")}
	if q.scope == "" {
		q.scope = authz.Global
	}
	if err := q.principal.Validate(); err != nil {
		o.problem.refuse(err)
	}
	return q
}

func (q question) ask(ctx context.Context, e Evaluator) (bool, error) {
	allowed, err := e.Check(ctx, q.principal, q.keys, q.scope, q.fresh)
	return allowed && err == nil, err
}

// keys reads one key or a list of them, never an empty one: a mistake must not
// read as a denial.
func (o object) keys(field string) []string {
	const want = "a key or a non-empty list of keys"
	raw := o.value(field)
	if len(raw) == 0 || raw[0] != '[' {
		key := o.textOf(field, raw, want)
		if key == "" {
			o.refuse(field, want)
		}
		return []string{key}
	}
	items := o.list(field, want)
	if len(items) == 0 {
		o.refuse(field, want)
	}
	keys := make([]string, 0, len(items))
	for _, item := range items {
		key := o.textOf(field, item, want)
		if key == "" {
			o.refuse(field, want)
		}
		keys = append(keys, key)
	}
	return keys
}

// optionalPosition reads {"seq": n, "identity": "…"}; nil when absent.
func (o object) optionalPosition(field string) *authz.Position {
	if !o.has(field) {
		return nil
	}
	at := o.nested(field).position()
	return &at
}

// await returns once answers are at least as new as an event, nil being any.
func (c *call) await(ctx context.Context, at *authz.Position) error {
	if at == nil {
		return nil
	}
	awaiter, ok := c.evaluator.(positionAwaiter)
	if !ok || !c.app.HasEpoch() {
		return noEpoch()
	}
	ctx, cancel := context.WithTimeout(ctx, maxAwait)
	defer cancel()
	err := awaiter.AwaitPosition(ctx, *at)
	if err != nil && ctx.Err() != nil {
		return &authz.UnavailableError{Message: fmt.Sprintf("state as new as event %d was not reached within %s", at.Seq, maxAwait), Cause: err}
	}
	return err
}
