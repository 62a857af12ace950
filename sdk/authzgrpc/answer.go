package authzgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// Answer is the status of a call whose handler asked itself and got an error, as a gate
// would answer: Unauthenticated, PermissionDenied, NotFound, Internal or Unavailable.
// ErrNoResource is NotFound; what is not known to be anything else is an outage.
func (g *Guard) Answer(ctx context.Context, err error) error {
	if err == nil { // a call must not pass for answered
		err = &gate.ProgramError{Problem: "Answer was given no error"}
	}
	method, _ := grpc.Method(ctx)
	p, asked := gate.Denied(err)
	return g.answer(ctx, method, p, asked, err)
}

func (g *Guard) answer(ctx context.Context, method string, p authz.Principal, asked client.Gate, err error) error {
	verdict := gate.VerdictOf(err)
	if (verdict == gate.Mistake || verdict == gate.Outage) && ctx.Err() == nil {
		g.o.Logger.ErrorContext(ctx, "a call could not be judged", "method", method, "error", err.Error())
	}
	if unknown := gate.Unknown(err); unknown != "" {
		g.o.Logger.InfoContext(ctx, gate.UnknownTold, "method", method, "scope", unknown)
	}
	answer := answers[verdict]
	if verdict == gate.Forbidden && g.o.ExplainInDevelopment {
		answer.says += "\n" + gate.Explain(ctx, g.o.Client, p, asked)
	}
	return status.Error(answer.code, answer.says)
}

// answers are what callers are told: no key, and no row.
var answers = map[gate.Verdict]struct {
	code codes.Code
	says string
}{
	gate.Nobody:     {codes.Unauthenticated, "the call names nobody"},
	gate.Forbidden:  {codes.PermissionDenied, "access denied"},
	gate.NoResource: {codes.NotFound, "the message names no resource"},
	gate.Mistake:    {codes.Internal, "the gate of the method is wrong"},
	gate.Outage:     {codes.Unavailable, "access could not be judged: try again"},
}
