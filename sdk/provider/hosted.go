package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// HostedOptions says where an application is served.
type HostedOptions struct {
	// URL is the base below which /v1/{op} is served: https, or http to this
	// machine. Its query, fragment, user and one trailing slash are dropped.
	URL string

	// Secret is sent as bearer. It is in no error, log line or printed value.
	Secret string

	// Timeout bounds one call, from connecting to the last byte; 0 means
	// DefaultTimeout.
	Timeout time.Duration

	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// DefaultTimeout bounds a call of a Hosted.
const DefaultTimeout = 15 * time.Second

// Hosted is an application that is served elsewhere. It stores and decides
// nothing: each method is one POST, whose errors are those of the application or
// a *TransportError. It never repeats a call: after a TransportError of a write,
// look before repeating it.
//
// Nothing arrives by itself: OnInvalidate hears what IngestEvents is given, for
// instance by a poller of Epoch, which is there also when the far side persists
// no events and answers with CodeUnsupported.
type Hosted struct {
	caller  Caller
	timeout time.Duration
	listeners
}

var (
	_ Provider  = (*Hosted)(nil)
	_ Ingesting = (*Hosted)(nil)
)

// NewHosted refuses a URL over which the secret would travel in the open, or
// that is none, with a *TransportError.
func NewHosted(o HostedOptions) (*Hosted, error) {
	base, err := hostedBase(o.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Secret == "":
		return nil, &TransportError{Message: "a hosted provider needs the secret of the application"}
	case o.Timeout < 0:
		return nil, &TransportError{Message: "the timeout of a hosted provider must not be negative"}
	case o.Timeout == 0:
		o.Timeout = DefaultTimeout
	}
	return &Hosted{timeout: o.Timeout, caller: Caller{Base: base, Secret: o.Secret, Transport: o.Transport}}, nil
}

func hostedBase(given string) (string, error) {
	const must = "the URL of a hosted provider must be absolute and https, or http to localhost, 127.0.0.1 or [::1]"
	u, err := url.Parse(given)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return "", &TransportError{Message: must}
	}
	local := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return "", &TransportError{Message: must}
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String(), nil // Caller drops the slash
}

// String keeps the secret out of printed values.
func (h *Hosted) String() string { return "hosted provider at " + h.caller.Base }

// GoString is String: %#v prints no secret either.
func (h *Hosted) GoString() string { return h.String() }

// Call posts one operation by its name, as Caller.Call does, within the timeout.
func (h *Hosted) Call(ctx context.Context, op string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.caller.Call(ctx, op, params, result)
}

// params are the named parameters of one operation.
type params map[string]any

// post carries out an operation that answers nothing.
func (h *Hosted) post(ctx context.Context, op string, p params) error {
	_, err := h.members(ctx, op, p)
	return err
}

// members are those of the answer.
func (h *Hosted) members(ctx context.Context, op string, p params) (m answered, err error) {
	if err := sendable(p); err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	a, err := h.caller.ask(ctx, op, p)
	if err != nil {
		return m, err
	}
	defer a.body.Close()
	raw, err := a.object()
	if err != nil {
		return m, err
	}
	m.answer = a
	if err := json.Unmarshal(raw, &m.fields); err != nil {
		return m, a.notJSON()
	}
	return m, nil
}

// answered is an answer that was read.
type answered struct {
	*answer
	fields map[string]json.RawMessage
}

// field reads one member of the answer of op, which must be there.
func field[T any](ctx context.Context, h *Hosted, op string, p params, name string) (v T, err error) {
	m, err := h.members(ctx, op, p)
	if err != nil {
		return v, err
	}
	return member[T](m, name)
}

func member[T any](m answered, name string) (v T, err error) {
	raw, ok := m.fields[name]
	if !ok || isNull(raw) || json.Unmarshal(raw, &v) != nil {
		var none T
		return none, m.unusable(name)
	}
	return v, nil
}

// optional reads a member that may be null, which is nil.
func optional[T any](m answered, name string) (*T, error) {
	if raw, ok := m.fields[name]; ok && isNull(raw) {
		return nil, nil
	}
	v, err := member[T](m, name)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// sendable refuses text that JSON cannot carry, as the application would: the
// encoder would replace it, and another row would be written than was asked for.
func sendable(p params) error {
	for _, v := range p {
		if raw, document := v.(json.RawMessage); document {
			if !json.Valid(raw) {
				return authz.Validation("a document must be valid JSON")
			}
			continue
		}
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if replaced(body) {
			return authz.Validation("text must be valid UTF-8")
		}
	}
	return nil
}

// replaced reports the escape by which encoding/json marks a byte that is no
// UTF-8. A U+FFFD of the caller's own is never escaped.
func replaced(body []byte) bool {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if i++; body[i] == 'u' && i+4 < len(body) && string(body[i+1:i+5]) == "fffd" {
			return true
		}
	}
	return false
}

// errStopped ends a list whose reader wants no more of it.
var errStopped = errors.New("no more rows are wanted")

// listeners are those who hear of events in this process.
type listeners struct {
	mu   sync.Mutex
	list []*func(authz.Event)
	turn sync.Mutex // events are handed over one call after the other
}

// OnInvalidate calls listener for every event that is ingested, in order.
func (l *listeners) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	mine := &listener
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, mine)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.list, mine); i >= 0 {
			l.list = slices.Delete(slices.Clone(l.list), i, i+1)
		}
	}
}

// IngestEvents passes events of other processes to the listeners, in order.
func (l *listeners) IngestEvents(events []authz.Event) {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.mu.Lock()
	hearing := slices.Clone(l.list)
	l.mu.Unlock()
	for _, e := range events {
		for _, hear := range hearing {
			(*hear)(e)
		}
	}
}
