package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

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
// instance by a poller of EventLog, which is there also when the far side persists
// no events and answers with CodeUnsupported.
type Hosted struct {
	Calls
	caller  Caller
	timeout time.Duration
	listeners
}

var (
	_ Provider  = (*Hosted)(nil)
	_ Ingesting = (*Hosted)(nil)
)

// NewHosted refuses a URL over which the secret would travel in the open, or
// that is none, and a secret that no header carries, with a *TransportError.
func NewHosted(o HostedOptions) (*Hosted, error) {
	base, err := hostedBase(o.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Secret == "":
		return nil, &TransportError{Message: "a hosted provider needs the secret of the application"}
	case strings.ContainsFunc(o.Secret, unicode.IsControl): // which no header carries
		return nil, &TransportError{Message: "the secret of a hosted provider holds a control character, such as the line break at the end of a file: trim it"}
	case o.Timeout < 0:
		return nil, &TransportError{Message: "the timeout of a hosted provider must not be negative"}
	case o.Timeout == 0:
		o.Timeout = DefaultTimeout
	}
	h := &Hosted{timeout: o.Timeout, caller: Caller{Base: base, Secret: o.Secret, Transport: o.Transport}}
	h.Calls = Calls{invoker{h}}
	return h, nil
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

// Ping asks the far side which application it serves.
func (h *Hosted) Ping(ctx context.Context) (Ping, error) {
	return ask(ctx, h.Calls, opPing, none{})
}

// invoker carries operations out over the wire.
type invoker struct{ h *Hosted }

func (i invoker) Invoke(ctx context.Context, op *Operation, in, out any) error {
	params, err := sendable(in)
	if err != nil {
		return err
	}
	err = i.invoke(ctx, op, op.Op, params, out)
	if op.Older != "" && isUnknownOp(err) { // so it has done nothing
		if older := i.invoke(ctx, op, op.Older, params, out); !isUnknownOp(older) {
			return older
		}
	}
	return err
}

func (i invoker) invoke(ctx context.Context, op *Operation, name string, params, out any) error {
	ctx, cancel := context.WithTimeout(ctx, i.h.timeout)
	defer cancel()
	a, err := i.h.caller.ask(ctx, name, params)
	if err != nil {
		return err
	}
	defer a.body.Close()
	raw, err := a.object()
	if err != nil {
		return err
	}
	if op.Lenient {
		return a.result(raw, out)
	}
	m := answered{answer: a}
	if err := json.Unmarshal(raw, &m.fields); err != nil {
		return a.notJSON()
	}
	return m.read(out)
}

func isUnknownOp(err error) bool {
	e := new(TransportError)
	return errors.As(err, &e) && e.Code == UnknownOp
}

// answered is an answer that was read.
type answered struct {
	*answer
	fields map[string]json.RawMessage
}

// read takes the members of out, a pointer to a struct, which must all be there
// unless they are optional: one that is missing must not read as nothing.
func (m answered) read(out any) error {
	if own, ok := out.(interface{ read(answered) error }); ok {
		return own.read(m)
	}
	v := reflect.ValueOf(out).Elem()
	for _, f := range Members(v.Type()) {
		raw, there := m.fields[f.Name]
		switch {
		case !there && f.Optional:
			continue
		case !there || isNull(raw) && f.Type.Kind() != reflect.Pointer:
			return m.unusable(f.Name)
		}
		if json.Unmarshal(raw, v.FieldByIndex(f.Index).Addr().Interface()) != nil {
			return m.unusable(f.Name)
		}
	}
	return nil
}

// read tells a page from a gap and from a reset.
func (p *EventLogPage) read(m answered) error {
	p.Gap, p.Reset = string(m.fields["gap"]) == "true", string(m.fields["reset"]) == "true"
	if p.Gap || p.Reset {
		return nil
	}
	var page struct {
		UpTo     int64         `json:"upTo"`
		Identity string        `json:"identity,omitempty"`
		Events   []authz.Event `json:"events"`
	}
	err := m.read(&page)
	p.UpTo, p.Events = authz.Position{Seq: page.UpTo, Identity: page.Identity}, page.Events
	return err
}

// read insists that the snapshot was applied.
func (o *appliedOut) read(m answered) error {
	if o.Applied = string(m.fields["applied"]) == "true"; !o.Applied {
		return m.unusable("applied")
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// sendable makes the parameters of in. It refuses text that JSON cannot carry, as
// the application would: the encoder would replace it, and another row would be
// written than was asked for.
func sendable(in any) (map[string]json.RawMessage, error) {
	v := reflect.ValueOf(in).Elem()
	params := map[string]json.RawMessage{}
	for _, f := range Members(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.Optional && value.IsZero() {
			continue
		}
		if f.Rule == RuleDocument {
			if raw := value.Bytes(); !json.Valid(raw) {
				return nil, authz.Validation("a document must be valid JSON")
			}
		}
		body, err := authz.Marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		if f.Rule != RuleDocument && replaced(body) {
			return nil, authz.Validation("text must be valid UTF-8")
		}
		params[f.Name] = body
	}
	return params, nil
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
