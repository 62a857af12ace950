package api

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// keyEvaluator is an Evaluator with a shorter way for a single key, of the same
// meaning.
type keyEvaluator interface {
	CheckKey(ctx context.Context, p authz.Principal, key, scope string, fresh bool) (bool, error)
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

// plainAction is what a plain body asks for, of which it holds nothing; nil leaves
// it to the general reader.
func (x *exchange) plainAction(body []byte, e Evaluator) action {
	if e == nil {
		return nil
	}
	one, many, ok := plainBody(body)
	switch {
	case !ok:
		return nil
	case many != nil:
		return func(ctx context.Context) (any, error) { return askAll(ctx, e, many) }
	}
	x.asked = one
	return func(ctx context.Context) (any, error) {
		allowed, err := x.asked.ask(ctx, e)
		return answerOf(allowed), err
	}
}

func (c *plainCheck) ask(ctx context.Context, e Evaluator) (allowed bool, err error) {
	if short, ok := e.(keyEvaluator); ok {
		allowed, err = short.CheckKey(ctx, c.principal, c.key, c.scope, c.fresh)
	} else {
		allowed, err = e.Check(ctx, c.principal, []string{c.key}, c.scope, c.fresh)
	}
	return allowed && err == nil, err
}

// askAll is checkMany over members that have been read.
func askAll(ctx context.Context, e Evaluator, many []plainCheck) (any, error) {
	out := make(encoded, 0, len(`{"results":[]}`)+len(many)*len(`{"allowed":false},`))
	out = append(out, `{"results":[`...)
	for i := range many {
		if i > 0 {
			out = append(out, ',')
		}
		allowed, err := many[i].ask(ctx, e)
		if err == nil {
			out = append(out, answerOf(allowed).(encoded)...)
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
