package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// check is one question as it crosses the wire.
type check struct {
	Principal authz.Principal `json:"principal"`
	Key       string          `json:"key"`
	Scope     string          `json:"scope,omitempty"`
}

// reply is what a host made of one question: an answer, or an error.
type reply struct {
	Allowed *bool               `json:"allowed"`
	Error   *provider.WireError `json:"error"`
}

func wire(q acme.Question) check {
	return check{Principal: q.Principal, Key: q.Key, Scope: q.Scope}
}

// maxBatch is how many checks one call may carry.
const maxBatch = 1000

func askBatch(ctx context.Context, caller *provider.Caller, questions []acme.Question) (replies []reply, err error) {
	for len(questions) > 0 {
		batch := questions[:min(maxBatch, len(questions))]
		questions = questions[len(batch):]
		checks := make([]check, len(batch))
		for i, q := range batch {
			checks[i] = wire(q)
		}
		var answer struct{ Results []reply }
		if err := caller.Call(ctx, "check", map[string]any{"checks": checks}, &answer); err != nil {
			return nil, err
		}
		if len(answer.Results) != len(batch) {
			return nil, fmt.Errorf("the host answered %d of %d questions", len(answer.Results), len(batch))
		}
		replies = append(replies, answer.Results...)
	}
	return replies, nil
}

// askSingly keeps an error of the far side as the reply to its question; a
// failing transport ends the run.
func askSingly(ctx context.Context, caller *provider.Caller, questions []acme.Question) ([]reply, error) {
	replies := make([]reply, len(questions))
	for i, q := range questions {
		err := caller.Call(ctx, "check", wire(q), &replies[i])
		var transport *provider.TransportError
		switch {
		case errors.As(err, &transport):
			return nil, err
		case err != nil:
			replies[i].Error, _ = provider.ToWireError(err)
		}
	}
	return replies, nil
}

// result is the outcome as it is printed.
type result struct {
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Failures []differs `json:"failures"`
}

// differs is one question that the host answered otherwise, or not.
type differs struct {
	Question int             `json:"question"` // its number, from 1
	Who      authz.Principal `json:"principal"`
	Key      string          `json:"key"`
	Scope    string          `json:"scope"`
	Want     bool            `json:"want"`
	Got      string          `json:"got"` // allowed, denied, or the error
	Why      string          `json:"why"`
}

func (d differs) String() string {
	return fmt.Sprintf("FAIL %d: %s %s at %s: want %s, got %s; %s", d.Question, d.Who, d.Key, d.Scope, word(d.Want), d.Got, d.Why)
}

func word(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

func compare(questions []acme.Question, replies []reply) result {
	r := result{Failures: []differs{}}
	for i, q := range questions {
		got := "no answer"
		switch reply := replies[i]; {
		case reply.Error != nil:
			got = "error " + spell.Echo(reply.Error.Name+": "+reply.Error.Message)
		case reply.Allowed != nil && *reply.Allowed == q.Want:
			r.Passed++
			continue
		case reply.Allowed != nil:
			got = word(*reply.Allowed)
		}
		r.Failed++
		r.Failures = append(r.Failures, differs{Question: i + 1, Who: q.Principal, Key: q.Key, Scope: q.Scope, Want: q.Want, Got: got, Why: q.Why})
	}
	return r
}
