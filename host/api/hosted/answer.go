package hosted

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// responder answers by itself: a redirect, a stream, a bare document.
type responder interface {
	respond(c *Call, w http.ResponseWriter) error
}

// secure puts the headers that every answer has (spec: hosted-api §1).
func (a *API) secure(h http.Header, requestID string) {
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if a.origin.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// typed turns what a service returned into an error of the API. What it does not
// know tells nothing but that it happened.
func typed(err error) *fault.Error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Storage(err)
	default:
		return fault.Internal(err)
	}
}

// fail writes the envelope of an error, and logs what it does not tell.
func (c *Call) fail(w http.ResponseWriter, err error) {
	e := c.withOutcome(typed(err))
	if failed(e) {
		c.api.log.Error("a request failed", "request_id", c.requestID, "endpoint", c.name(), "name", e.Name, "code", e.Code, "cause", e.Cause)
	}
	if to := c.backToSignIn(e); to != "" {
		_ = redirect{to}.respond(c, w) // which never fails
		return
	}
	h := w.Header()
	switch {
	case statusOf(e) == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case e.RetryAfterMs > 0:
		h.Set("Retry-After", strconv.FormatInt((e.RetryAfterMs+999)/1000, 10))
	}
	if methods, ok := e.Fields["allow"].([]string); ok && statusOf(e) == http.StatusMethodNotAllowed {
		h.Set("Allow", strings.Join(methods, ", "))
	}
	writeJSON(w, statusOf(e), envelope(e, c.requestID))
}

// failed reports an error that operators should hear of. What an application or a
// driver lacks, and a key or scope type that no catalog declares, are the caller's affair, though
// their status is above 500.
func failed(e *fault.Error) bool {
	switch e.Name {
	case "ProviderWriteRejectedError", "UnknownPermissionError", "UnknownScopeTypeError", "MissingConditionError":
		return false
	}
	return (e.Failed() || statusOf(e) >= http.StatusInternalServerError) && !errors.Is(e.Cause, admission.ErrRefused) // which is told apart
}

// withOutcome tells what a write has done whose error is that of a read: a relayed
// write says so itself, and every endpoint reads before it writes.
func (c *Call) withOutcome(e *fault.Error) *fault.Error {
	if c.endpoint == nil || !c.endpoint.write() || e.Name != "ProviderTransportError" || e.Fields["outcome"] != nil {
		return e
	}
	told := *e
	told.Fields = maps.Clone(e.Fields)
	if c.endpoint.Piecemeal {
		return told.With("outcome", string(authz.OutcomeUnknown))
	}
	return told.With("outcome", string(authz.OutcomeNotApplied))
}

// envelope is {"error":{name, code, message, requestId, …fields}}, in that order.
func envelope(e *fault.Error, requestID string) []byte {
	b := []byte(`{"error":{`)
	put := func(name string, value any) {
		text, err := authz.Marshal(value)
		if err != nil {
			return // a field that cannot be said is left out; the error is still told
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"', ':')
		b = append(b, text...)
	}
	put("name", e.Name)
	if code := cmp.Or(told[e.Code], e.Code); code != "" {
		put("code", code)
	}
	put("message", e.Message)
	put("requestId", requestID)
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		if name != "allow" && name != "name" && name != "code" && name != "message" && name != "requestId" {
			put(name, e.Fields[name])
		}
	}
	return append(b, "}}"...)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // nobody is there to be told
}

// answer writes a success.
func (c *Call) answer(w http.ResponseWriter, output any) error {
	if r, ok := output.(responder); ok {
		return r.respond(c, w)
	}
	body, err := c.encode(output)
	if err != nil {
		return err
	}
	if c.notModified(c.header.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if c.compressible() {
		w.Header().Del(gzhttp.HeaderNoCompression)
	}
	c.write(w, c.status, body)
	return nil
}

// compressible is a read without secrets: with a text that a stranger chose beside it,
// the size of what was compressed would tell a secret. An ETag is of the bytes as they are.
func (c *Call) compressible() bool {
	return c.endpoint.Method == http.MethodGet && c.header.Get("ETag") == "" && !strings.HasPrefix(c.endpoint.Path, "/auth/")
}

// encode makes the body of a success and puts the header ETag of the single object
// in it.
func (c *Call) encode(output any) ([]byte, error) {
	if c.status == http.StatusNoContent {
		return nil, nil
	}
	if tag := etagOf(reflect.ValueOf(output)); tag != "" {
		c.header.Set("ETag", tag)
	}
	body, err := authz.Marshal(output)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return body, nil
}

func (c *Call) write(w http.ResponseWriter, status int, body []byte) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	writeJSON(w, status, body)
}

// notModified honours If-None-Match of a GET.
func (c *Call) notModified(tag string) bool {
	if tag == "" || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		return false
	}
	tags, any := parseETags(c.Request.Header.Values("If-None-Match"), true)
	return any || slices.Contains(tags, tag)
}

// etagOf finds the etag of the single object that an answer holds: {"seat":{…,
// "etag":…}}.
func etagOf(v reflect.Value) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	if tag := stringField(v, "Etag"); tag != "" {
		return tag
	}
	for i := range v.NumField() {
		inner := v.Field(i)
		if inner.Kind() == reflect.Pointer && !inner.IsNil() {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			if tag := stringField(inner, "Etag"); tag != "" {
				return tag
			}
		}
	}
	return ""
}

func stringField(v reflect.Value, name string) string {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Kind() != reflect.String {
		return ""
	}
	return f.String()
}

// withheld is an answer as it may be kept: members tagged once are null, and
// secretWithheld says so. An answer without such a member is kept as it is.
func withheld(output any, body []byte) ([]byte, error) {
	v := reflect.ValueOf(output)
	if v.Kind() != reflect.Struct {
		return body, nil
	}
	kept := reflect.New(v.Type()).Elem()
	kept.Set(v)
	found := false
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("once") == "true" && !v.Field(i).IsNil() {
			kept.Field(i).SetZero()
			found = true
		}
	}
	if !found {
		return body, nil
	}
	text, err := authz.Marshal(kept.Interface())
	if err != nil {
		return nil, err
	}
	return append(text[:len(text)-1], `,"secretWithheld":true}`...), nil
}
