package relay

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// failure is how an attempt ended; with err nil it is a success.
type failure struct {
	err    error
	sent   bool  // the request may have arrived
	begun  bool  // something came back
	status int   // of the answer, 0 when there was none
	ended  error // of the context of the attempt
	wait   int64 // milliseconds that an open circuit stays so
}

// unanswered is a failure of the transport: no whole answer arrived.
func (f failure) unanswered() bool {
	var transport *provider.TransportError
	if f.err == nil || errors.Is(f.err, errCircuit) || errors.Is(f.err, errTooLarge) || errors.As(f.err, &transport) && transport.Status != 0 {
		return false
	}
	if !f.sent {
		return !f.refusedHere()
	}
	return f.late() || f.cut()
}

// refusedHere is an error of the call's own arguments: nothing was asked.
func (f failure) refusedHere() bool {
	var typed authz.Error
	var transport *provider.TransportError
	return errors.As(f.err, &typed) && !errors.As(f.err, &transport)
}

func (f failure) late() bool {
	var slow net.Error
	return f.ended != nil || errors.Is(f.err, context.DeadlineExceeded) || errors.Is(f.err, context.Canceled) ||
		errors.As(f.err, &slow) && slow.Timeout()
}

// cut is a connection that was lost after the request was sent. What came back
// and is no HTTP at all is an answer, if a broken one.
func (f failure) cut() bool {
	var transport *provider.TransportError
	if !errors.As(f.err, &transport) || transport.Status != 0 || transport.Cause == nil {
		return false
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(f.err, lost) {
			return true
		}
	}
	return !f.begun
}

// transport is what counts towards opening the circuit.
func (f failure) transport() bool {
	var here *fault.Error
	return f.unanswered() && !errors.As(f.err, &here)
}

// lost is what a read is repeated for: the connection failed, and not by time.
func (f failure) lost() bool {
	return f.transport() && !f.late() && !errors.Is(f.err, errUnlisted) && !errors.Is(f.err, errAddress)
}

// maxMessage bounds how much of the text of a refusal is passed on, in characters.
const maxMessage = 1000

// maxEntries bounds the lists of a refusal, a cycle's path before all.
const maxEntries = 200

// fault gives a failure its name in the table (spec: hosted-api §9).
func (a *application) fault(op string, f failure) error {
	if f.err == nil {
		return nil
	}
	if refused := a.refused(f.err); refused != nil {
		return refused
	}
	about := func(code, outcome, message string) *fault.Error {
		if outcome != outcomeAlways && !writes[op] {
			outcome = ""
		}
		e := fault.Transport(code, a.target.Application, strings.TrimPrefix(outcome, "="), message)
		e.Cause = f.err
		if f.status != 0 {
			e.With("upstreamStatus", f.status)
		}
		return e
	}
	var transport *provider.TransportError
	var down *authz.UnavailableError
	switch answered := errors.As(f.err, &transport) && transport.Status != 0; {
	case errors.Is(f.err, errCircuit):
		e := about("application_unavailable", notApplied, "the application failed repeatedly and is left alone for now")
		e.RetryAfterMs = f.wait
		return e
	case errors.As(f.err, &down):
		outcome := string(down.Outcome)
		if outcome != notApplied {
			outcome = unknown
		}
		return about("application_unavailable", outcome, "the application says that it is unavailable")
	case !f.sent:
		return about("application_unreachable", outcomeAlways, "the application cannot be reached")
	case f.status == http.StatusUnauthorized || answered && (transport.Code == provider.Unauthorized || transport.Code == provider.RateLimited || transport.Code == provider.Forbidden):
		return about("application_credential_rejected", notApplied, "the application refuses the credential; link it again")
	case f.unanswered():
		return about("application_timeout", unknown, "the application did not answer in time")
	case transport != nil && transport.Code != "":
		return about("application_protocol_error", notApplied, "the application does not serve this operation of the provider API")
	case transport != nil:
		return about("application_protocol_error", unknown, "the application answered what the provider API does not allow")
	}
	return about("application_error", unknown, "the application failed")
}

const (
	notApplied = string(authz.OutcomeNotApplied)
	unknown    = string(authz.OutcomeUnknown)

	// outcomeAlways is notApplied, told of reads too.
	outcomeAlways = "=" + notApplied
)

// refused passes on what the application says in the product's own words; nil
// when it said something else, a denial included: whether somebody may is never
// for the far side of a relay to say.
func (a *application) refused(err error) *fault.Error {
	if e := Refusal(err); e != nil {
		e.Message = a.clean(e.Message)
		for name, v := range e.Fields {
			switch v := v.(type) {
			case string:
				e.Fields[name] = a.clean(v)
			case []string:
				kept := make([]string, min(len(v), maxEntries))
				for i := range kept {
					kept[i] = a.clean(v[i])
				}
				e.Fields[name] = kept
			}
		}
		return e
	}
	return nil
}

// contract are the codes of refused writes that the provider API has.
var contract = map[authz.Code]bool{
	authz.CodeValidation: true, authz.CodeNotFound: true, authz.CodeConflict: true,
	authz.CodeGraphCycle: true, authz.CodeNotOrgRoot: true, authz.CodeUnsupported: true,
}

// Refusal is an error of a provider's own as this API answers it; nil for those
// that it does not pass on.
func Refusal(err error) *fault.Error {
	var (
		here      *fault.Error
		write     *authz.WriteRejectedError
		cycle     *authz.GraphCycleError
		principal *authz.InvalidPrincipalError
		name      *authz.UnknownPermissionError
		scopeType *authz.UnknownScopeTypeError
		condition *authz.MissingConditionError
	)
	switch {
	case errors.As(err, &here):
		copied := *here
		copied.Fields = maps.Clone(here.Fields)
		return &copied
	case errors.As(err, &write):
		if !contract[write.Code] {
			return nil
		}
		e := fault.Rejected(write.Code, "%s", write.Message)
		if write.Path != nil {
			e.With("path", write.Path)
		}
		return e
	case errors.As(err, &principal):
		return fault.Rejected(authz.CodeValidation, "%s", principal.Message)
	case errors.As(err, &cycle):
		return fault.Cycle(cycle)
	case errors.As(err, &name):
		return fault.UnknownPermission(name)
	case errors.As(err, &scopeType):
		return fault.UnknownScopeType(scopeType)
	case errors.As(err, &condition):
		return fault.MissingCondition(condition)
	}
	return nil
}

// clean makes text of the far side fit to be passed on: bounded, without control
// characters, and never with the secret that it was asked with.
func (a *application) clean(text string) string {
	if a.target.Secret != "" {
		text = strings.ReplaceAll(text, a.target.Secret, "…")
	}
	return spell.EchoN(text, maxMessage)
}
