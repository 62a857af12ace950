package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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

const maxAwait = 2 * time.Second // for the state that at asks for

type resultsResult struct {
	Results []any `json:"results"` // provider.CheckAnswer or provider.Envelope
}

func check(c *call, in *provider.Check) action {
	return func(ctx context.Context) (any, error) {
		if err := c.await(ctx, in.At); err != nil {
			return nil, err
		}
		return ask(ctx, c.evaluator, in.Question)
	}
}

// checkMany judges each member on its own: what one fails with is its answer.
func checkMany(c *call, in *provider.Checks) action {
	return func(ctx context.Context) (any, error) {
		if err := c.await(ctx, in.At); err != nil {
			return nil, err
		}
		results := make([]any, 0, len(in.Checks))
		for _, raw := range in.Checks {
			answer, err := askMember(ctx, c, raw)
			if err != nil {
				wire, _ := provider.ToWireError(interrupted(ctx, err))
				results = append(results, provider.Envelope{Error: wire})
				continue
			}
			results = append(results, answer)
		}
		return resultsResult{results}, nil
	}
}

// askMember reads and answers one member of a batch.
func askMember(ctx context.Context, c *call, raw []byte) (provider.CheckAnswer, error) {
	own := object{op: c.op, problem: &problem{}}
	read, ok := own.objectOf(raw)
	if !ok {
		return provider.CheckAnswer{}, authz.Validation("%s: a member of \"checks\" must be an object", c.op)
	}
	own.members = read.members
	if c.known != nil {
		own = own.strictly()
	}
	for _, field := range []string{"principal", "key"} {
		if !own.has(field) {
			return provider.CheckAnswer{}, authz.Validation("%s requires the %q field", c.op, field)
		}
	}
	if own.has("at") {
		return provider.CheckAnswer{}, authz.Validation(`%s: "at" belongs beside "checks", not into a member`, c.op)
	}
	var q provider.Question
	own.into(reflect.ValueOf(&q).Elem())
	own.problem.refuseUnknown()
	if err := own.problem.err; err != nil {
		return provider.CheckAnswer{}, err
	}
	return ask(ctx, c.evaluator, q)
}

// interrupted makes an outage of a member that the end of the call cut off.
func interrupted(ctx context.Context, err error) error {
	var typed authz.Error
	if ctx.Err() == nil || errors.As(err, &typed) {
		return err
	}
	return &authz.UnavailableError{Message: "the call ended before this check was answered", Cause: err}
}

func ask(ctx context.Context, e Evaluator, q provider.Question) (provider.CheckAnswer, error) {
	if q.Scope == "" {
		q.Scope = authz.Global
	}
	allowed, err := e.Check(ctx, q.Principal, q.Key, q.Scope, q.Fresh)
	return provider.CheckAnswer{Allowed: allowed && err == nil}, err
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
