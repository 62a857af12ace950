package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Evaluator answers check in this process, with the semantics of the client's
// can: keys are any-of, scope "*" is the global question, fresh bypasses caches.
// An outage, an undeclared key and a missing condition are errors, never answers. It
// keeps none of keys.
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

// reasoner says why Check answers as it did. One that is none serves no reason.
type reasoner interface {
	Why(ctx context.Context, p authz.Principal, keys []string, scope string, allowed bool) (provider.Reason, error)
}

// contextual carries what a caller sent to the conditions of its keys.
type contextual interface {
	WithContext(ctx context.Context, raw json.RawMessage) (context.Context, error)
}

// explainer shows the working of one check on the rows as they stand. An Evaluator that is
// none serves no explain.
type explainer interface {
	Explain(ctx context.Context, q *provider.Explain) (access.Explained, error)
}

const maxAwait = 2 * time.Second // for the state that at asks for

func checkEntry() entry {
	e := own(manifest("check"), check)
	e.ready = func(c *call) error {
		if c.evaluator == nil {
			return authz.Rejected(authz.CodeUnsupported,
				"the check operation needs an Application (a provider with a catalog) on the serving side")
		}
		return nil
	}
	e.quick = plainCheck
	return e
}

func explain(ctx context.Context, c *call, in *provider.Explain) (access.Explained, error) {
	e, ok := c.evaluator.(explainer)
	if !ok {
		return access.Explained{}, authz.Rejected(authz.CodeUnsupported,
			"the explain operation needs an Application (a provider with a catalog) on the serving side")
	}
	if c.rowless && !in.Empty() {
		return access.Explained{}, &provider.APIError{Code: provider.Forbidden, Message: "the secret is for checks: a what-if question takes a secret that may read"}
	}
	x, err := e.Explain(ctx, in)
	if err == nil && c.rowless {
		x.MatchedGrants, x.MatchedRevokes, x.ImpliedBy, x.Expired = []authz.Grant{}, []authz.Revoke{}, []authz.Grant{}, nil
		x.Paths, x.Near = nil, nil
	}
	return x, err
}

func check(ctx context.Context, c *call, in *provider.Check) (any, error) {
	if err := c.await(ctx, in.At); err != nil {
		return nil, err
	}
	if in.Checks == nil {
		return answered(ctx, c.evaluator, &in.Question)
	}
	return askAll(ctx, c.evaluator, len(in.Checks), func(i int) (*provider.Question, error) { return c.question(in.Checks[i]) })
}

// question reads one member of a batch.
func (c *call) question(raw []byte) (*provider.Question, error) {
	own := object{op: c.op, problem: &problem{}}
	read, ok := own.objectOf(raw)
	if !ok {
		return nil, authz.Validation("%s: a member of \"checks\" must be an object", c.op)
	}
	own.members = read.members
	if c.known != nil {
		own = own.strictly()
	}
	for _, field := range []string{"principal", "key"} {
		if !own.has(field) {
			return nil, authz.Validation("%s requires the %q field", c.op, field)
		}
	}
	if own.has("at") {
		return nil, authz.Validation(`%s: "at" belongs beside "checks", not into a member`, c.op)
	}
	q := new(provider.Question)
	own.into(reflect.ValueOf(q).Elem())
	own.problem.refuseUnknown()
	return q, own.problem.err
}

// encoded is a result that is JSON already.
type encoded []byte

// The answers of one check; as values of any, they need not be made for each.
var (
	answerAllowed any = encoded(`{"allowed":true}`)
	answerDenied  any = encoded(`{"allowed":false}`)
)

func answerOf(allowed bool) any {
	if allowed {
		return answerAllowed
	}
	return answerDenied
}

// ask answers one question. An error beats an answer that stands beside it.
func ask(ctx context.Context, e Evaluator, q *provider.Question) (bool, error) {
	if q.Context != nil {
		c, ok := e.(contextual)
		if !ok {
			return false, authz.Rejected(authz.CodeUnsupported, "the serving side judges no context")
		}
		var err error
		if ctx, err = c.WithContext(ctx, q.Context); err != nil {
			return false, err
		}
	}
	allowed, err := e.Check(ctx, q.Principal, q.Key, cmp.Or(q.Scope, authz.Global), q.Fresh)
	return allowed && err == nil, err
}

// answered is the answer to one question, with its reason where that is asked for.
func answered(ctx context.Context, e Evaluator, q *provider.Question) (any, error) {
	allowed, err := ask(ctx, e, q)
	if err != nil || !q.Reason {
		return answerOf(allowed), err
	}
	r, ok := e.(reasoner)
	if !ok {
		return nil, authz.Rejected(authz.CodeUnsupported, "the serving side tells no reasons")
	}
	why, err := r.Why(ctx, q.Principal, q.Key, cmp.Or(q.Scope, authz.Global), allowed)
	if err != nil {
		return nil, err
	}
	text, err := authz.Marshal(provider.CheckAnswer{Allowed: allowed, Reason: why})
	return encoded(text), err
}

// askAll answers a batch, each of whose members is judged on its own: what one fails
// with is its answer.
func askAll(ctx context.Context, e Evaluator, n int, member func(int) (*provider.Question, error)) (any, error) {
	out := make(encoded, 0, len(`{"results":[]}`)+n*len(`{"allowed":false},`))
	out = append(out, `{"results":[`...)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		q, err := member(i)
		var answer any
		if err == nil {
			answer, err = answered(ctx, e, q)
		}
		if err == nil {
			out = append(out, answer.(encoded)...)
			continue
		}
		wire, _ := provider.ToWireError(interrupted(ctx, err))
		text, err := authz.Marshal(provider.Envelope{Error: wire})
		if err != nil {
			return nil, err
		}
		out = append(out, text...)
	}
	return append(out, "]}"...), nil
}

// interrupted makes an outage of a member that the end of the call cut off.
func interrupted(ctx context.Context, err error) error {
	var typed authz.Error
	if ctx.Err() == nil || errors.As(err, &typed) {
		return err
	}
	return &authz.UnavailableError{Message: "the call ended before this check was answered", Cause: err}
}

// await returns once answers are at least as new as an event, nil being any.
func (c *call) await(ctx context.Context, at *authz.Position) error {
	if at == nil {
		return nil
	}
	awaiter, ok := c.evaluator.(positionAwaiter)
	if !ok || !c.app.HasEventLog() {
		return noEventLog()
	}
	ctx, cancel := context.WithTimeout(ctx, maxAwait)
	defer cancel()
	err := awaiter.AwaitPosition(ctx, *at)
	if err != nil && ctx.Err() != nil {
		return &authz.UnavailableError{Message: fmt.Sprintf("state as new as event %d was not reached within %s", at.Seq, maxAwait), Cause: err}
	}
	return err
}
