package plugin

import (
	"context"
	"errors"
	"io"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The failures of sinks and importers: *authz.WriteRejectedError and
// *authz.UnavailableError on both sides. Those of storage are in errors.go.

// codeUnavailable marks an *authz.UnavailableError on the wire; any other code is
// a refusal's.
const codeUnavailable = string(storage.CodeUnavailable)

// failureStatus renders the failure of a kind, "the sink" or "the importer", for
// the wire. Causes, and errors that are not of the seam, stay in the plugin's log;
// of a write they say that its fate is unknown.
func failureStatus(err error, of string, write bool, log hclog.Logger) error {
	if err == nil {
		return nil
	}
	var unavailable *authz.UnavailableError
	var refused *authz.WriteRejectedError
	detail, code := &pluginv1.Error{Code: codeUnavailable}, codes.Unavailable
	switch {
	case errors.As(err, &unavailable): // before what may be its cause
		detail.Message, detail.Outcome = unavailable.Message, string(unavailable.Outcome)
		if unavailable.Cause != nil && !interrupted(unavailable.Cause) {
			log.Warn(of+" is unavailable", "error", unavailable.Message, "cause", unavailable.Cause)
		}
	case errors.As(err, &refused):
		code = codes.InvalidArgument
		detail.Code, detail.Message = string(refused.Code), refused.Message
		if detail.Code == "" || detail.Code == codeUnavailable {
			detail.Code = string(authz.CodeValidation)
		}
	default:
		detail.Message = of + " failed"
		if !interrupted(err) {
			log.Error(of+" returned an error of its own", "error", err)
		}
	}
	if detail.Code == codeUnavailable {
		detail.Outcome = outcomeOf(authz.Outcome(detail.Outcome), write)
		if errors.Is(err, context.DeadlineExceeded) {
			code = codes.DeadlineExceeded // tells the caller which reason ended the call
		}
	}
	detail.Message, detail.Code = errorText(detail.Message), errorText(detail.Code)
	s, withErr := status.New(code, detail.GetMessage()).WithDetails(detail)
	if withErr != nil {
		return status.Error(codes.Internal, "the error could not be encoded")
	}
	return s.Err()
}

// outcomeOf is what may be told of a write: what is not known not to have been
// applied is of unknown fate. Reads have none.
func outcomeOf(told authz.Outcome, write bool) string {
	switch {
	case !write:
		return ""
	case told == authz.OutcomeNotApplied:
		return string(told)
	}
	return string(authz.OutcomeUnknown)
}

// failureFromWire turns what a call returned into the seam's error. lost is the
// outcome to report when no answer arrived: "" for reads.
func failureFromWire(ctx context.Context, err error, lost authz.Outcome) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	for _, d := range s.Details() {
		detail, ok := d.(*pluginv1.Error)
		if !ok {
			continue
		}
		if detail.GetCode() != codeUnavailable {
			return authz.Rejected(authz.Code(detail.GetCode()), "%s", detail.GetMessage())
		}
		return unavailable(authz.Outcome(outcomeOf(authz.Outcome(detail.GetOutcome()), lost != "")), ended(ctx, s.Code()), detail.GetMessage())
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return unavailable(lost, ctxErr, "the caller stopped waiting")
	}
	switch {
	case errors.Is(err, io.EOF):
		return unavailable(lost, err, "the plugin ended the answer early")
	case s.Code() == codes.DeadlineExceeded: // the plugin's clock saw it first
		return unavailable(lost, context.DeadlineExceeded, "the plugin did not answer in time")
	case s.Code() == codes.Unimplemented:
		return authz.Rejected(authz.CodeUnsupported, "the plugin does not know this operation")
	case s.Code() == codes.Internal, s.Code() == codes.ResourceExhausted:
		return unavailable(lost, err, "the plugin's answer cannot be read")
	}
	return unavailable(lost, err, "the plugin did not answer")
}

func unavailable(outcome authz.Outcome, cause error, message string) *authz.UnavailableError {
	return &authz.UnavailableError{Message: message, Outcome: outcome, Cause: cause}
}

// closedKind is the failure of a kind that is not configured, or closed.
func closedKind(of string) error {
	return unavailable(authz.OutcomeNotApplied, nil, of+" is closed")
}
