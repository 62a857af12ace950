package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// maxErrorText bounds the text of an error that crosses: it travels in a header.
const maxErrorText = 4 << 10

func encodeError(e *storage.Error) *pluginv1.Error {
	return &pluginv1.Error{
		Code: string(e.Code), Message: errorText(e.Message), Outcome: string(e.Outcome), Grants: e.Grants, Version: e.Version, Lost: e.Lost,
	}
}

func decodeError(e *pluginv1.Error) *storage.Error {
	return &storage.Error{
		Code: storage.Code(e.GetCode()), Message: e.GetMessage(), Outcome: authz.Outcome(e.GetOutcome()),
		Grants: e.GetGrants(), Version: e.GetVersion(), Lost: e.GetLost(),
	}
}

func errorText(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// storageError is what crosses for any error of a driver. Causes go to the
// plugin's log. An error that is not the seam's own keeps its text at home, and
// says of a write only that its fate is unknown.
func storageError(err error, write bool, log hclog.Logger) *storage.Error {
	var e *storage.Error
	if errors.As(err, &e) {
		switch {
		case e.Cause == nil || interrupted(e.Cause):
		case e.Code == storage.CodeUnavailable:
			log.Warn("storage is unavailable", "error", e.Message, "cause", e.Cause)
		default:
			log.Debug("storage refused a call", "code", e.Code, "error", e.Message, "cause", e.Cause)
		}
		return e
	}
	if !interrupted(err) {
		log.Error("the driver returned an error of its own", "error", err)
	}
	outcome := authz.Outcome("")
	if write {
		outcome = authz.OutcomeUnknown
	}
	return storage.Unavailable(outcome, err, "the storage driver failed")
}

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// toStatus renders a driver's error for the wire.
func toStatus(err error, write bool, log hclog.Logger) error {
	if err == nil {
		return nil
	}
	e := storageError(err, write, log)
	detail, code := encodeError(e), grpcCode(e.Code)
	if e.Code == storage.CodeUnavailable && errors.Is(e.Cause, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded // tells the caller which reason ended the call
	}
	s, withErr := status.New(code, detail.GetMessage()).WithDetails(detail)
	if withErr != nil {
		return status.Error(codes.Internal, "the error could not be encoded")
	}
	return s.Err()
}

func grpcCode(c storage.Code) codes.Code {
	switch c {
	case storage.CodeValidation:
		return codes.InvalidArgument
	case storage.CodeConflict:
		return codes.FailedPrecondition
	case storage.CodeNotFound:
		return codes.NotFound
	case storage.CodeStaleFence:
		return codes.Aborted
	case storage.CodeUnsupported:
		return codes.Unimplemented
	case storage.CodeTooLarge:
		return codes.ResourceExhausted
	}
	return codes.Unavailable
}

// gone reports that no plugin answered: the failure is the transport's own.
func gone(err error) bool {
	s := status.Convert(err)
	return len(s.Details()) == 0 && (s.Code() == codes.Unavailable || s.Code() == codes.Canceled)
}

// ended is the caller's own reason why the call ended, if it has one. The plugin
// may see the deadline first, by little: it got what was left of it, not its time.
// What is further from it is a limit of the plugin's own.
func ended(ctx context.Context, code codes.Code) error {
	if at, limited := ctx.Deadline(); limited && time.Until(at) < time.Second && ctx.Err() == nil && code == codes.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// fromWire turns what a call returned into the seam's error. lost is the outcome
// to report when no answer arrived: "" for reads.
func fromWire(ctx context.Context, err error, lost authz.Outcome) error {
	if err == nil {
		return nil
	}
	var e *storage.Error
	if errors.As(err, &e) {
		return err // of this side: never sent
	}
	s := status.Convert(err)
	for _, d := range s.Details() {
		if detail, ok := d.(*pluginv1.Error); ok {
			e := decodeError(detail)
			if e.Code == storage.CodeUnavailable {
				e.Cause = ended(ctx, s.Code())
			}
			return e
		}
	}
	var nothing *unsent
	if lost != "" && errors.As(err, &nothing) {
		lost = authz.OutcomeNotApplied
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return storage.Unavailable(lost, ctxErr, "the caller stopped waiting")
	}
	switch {
	case errors.Is(err, io.EOF):
		return storage.Unavailable(lost, err, "the plugin ended the answer early")
	case s.Code() == codes.DeadlineExceeded:
		// The plugin's clock saw the deadline first.
		return storage.Unavailable(lost, context.DeadlineExceeded, "the plugin did not answer in time")
	case s.Code() == codes.ResourceExhausted: // no request of ours is, so that nothing is said of a write
		return storage.Unavailable(lost, err, "the plugin's answer has more than %d bytes", maxMessage)
	case s.Code() == codes.Unimplemented:
		return storage.Errorf(storage.CodeUnsupported, "the plugin does not know this operation")
	}
	return storage.Unavailable(lost, err, "the plugin did not answer")
}
