package scim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/text/encoding"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	firstWait = 200 * time.Millisecond
	lastWait  = 30 * time.Second
)

// passing is an error that another attempt may not meet.
type passing struct {
	*authz.UnavailableError
	after time.Duration // how long the service asked to be left alone; 0 when it did not
}

func (p *passing) Unwrap() error { return p.UnavailableError }

// retried calls try until it succeeds, fails for good, or has failed too often. It
// waits as long as the service asks, or ever longer, but never past ctx.
func retried(ctx context.Context, retries int, try func() (answer, error)) (answer, error) {
	for attempt := 0; ; attempt++ {
		a, err := try()
		var again *passing
		if !errors.As(err, &again) {
			return a, err
		}
		if ctx.Err() != nil {
			return a, stopped(ctx)
		}
		if attempt == retries {
			return a, again.UnavailableError
		}
		wait := backoff(attempt)
		if again.after > 0 {
			wait = again.after + time.Duration(rand.Int64N(int64(firstWait)))
		}
		if deadline, ok := ctx.Deadline(); ok && wait >= time.Until(deadline) {
			return a, &authz.UnavailableError{Cause: again.Cause,
				Message: again.Message + "; another attempt would come after the reading's timeout"}
		}
		if !pause(ctx, wait) {
			return a, stopped(ctx)
		}
	}
}

// backoff doubles with every attempt; its upper half is left to chance.
func backoff(attempt int) time.Duration {
	full := min(firstWait<<min(attempt, 20), lastWait)
	return full/2 + time.Duration(rand.Int64N(int64(full/2)))
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func stopped(ctx context.Context) error {
	message := messageStopped
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		message = "the reading took longer than its timeout"
	}
	return &authz.UnavailableError{Message: message, Cause: ctx.Err()}
}

func outage(message string, cause error) *authz.UnavailableError {
	return &authz.UnavailableError{Message: message, Cause: cause}
}

// statusError sorts what a service answered: asked wrongly, or not to be had.
func statusError(code int, header http.Header, text string) error {
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &passing{outage(text, nil), retryAfter(header.Get("Retry-After"), time.Now())}
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &passing{UnavailableError: outage(text, nil)}
	case http.StatusUnauthorized, http.StatusForbidden:
		return outage(text, nil)
	}
	return authz.Validation("%s", text)
}

// retryAfter reads seconds or a date; what is neither says nothing.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 7*24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// lost is a request without an answer. The URL, which holds the filter, is left out.
func (s *session) lost(path string, err error) error {
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name):
		return outage(path+": the service's certificate is not trusted: "+spell.Echo(err.Error()), err)
	case errors.As(err, &record), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return outage(path+": the service does not speak TLS as asked: "+spell.Echo(err.Error()), err)
	case errors.Is(err, context.DeadlineExceeded):
		return &passing{UnavailableError: outage(path+": the service did not answer within "+settingRequest, err)}
	}
	return &passing{UnavailableError: outage(path+": the service cannot be reached: "+spell.Echo(err.Error()), err)}
}

// unreadable sorts why an answer was not decoded: cut off, too long, or no SCIM.
func (s *session) unreadable(path string, err error) error {
	var refused *authz.WriteRejectedError
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &refused):
		return authz.Rejected(refused.Code, "%s: %s", path, refused.Message)
	case errors.Is(err, errTooLong):
		return authz.Validation("%s: the answer is longer than %s (%d): ask for smaller pages, or allow longer ones", path, settingMaxResponse, s.o.MaxResponseBytes)
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return authz.Validation("%s: the answer is not UTF-8", path)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &passing{UnavailableError: outage(path+": the answer is cut off", err)}
	case errors.As(err, &syntax):
		return authz.Validation("%s: the answer is not JSON at byte %d", path, syntax.Offset)
	case errors.As(err, &typed):
		return authz.Validation("%s: %s is a JSON %s, which SCIM does not allow there", path, spell.Quote(typed.Field), typed.Value)
	case errors.Is(err, context.DeadlineExceeded):
		return s.lost(path, err)
	}
	return &passing{UnavailableError: outage(path+": the answer is cut off: "+spell.Echo(err.Error()), err)}
}
