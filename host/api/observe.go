package api

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Answered is one request after its answer. It holds nothing of a body and no
// header but the request id. Whoever receives it must not keep it.
type Answered struct {
	Method      string
	Path        string // as it was sent, without its query
	Remote      string // address of the peer, "" on a unix socket
	RequestID   string
	Application string // "" unless one is served there
	Operation   string // "" unless it is known
	Status      int    // 0 when nothing was answered
	Aborted     bool   // the connection was broken off
	Bytes       int64  // of the answer's body
	Began       time.Time
	Took        time.Duration
}

// ObserveOptions says who hears of requests.
type ObserveOptions struct {
	// Done hears of every request once it was answered, concurrently. It should not
	// block; the access log does when its writer does. nil hears none.
	Done func(*Answered)

	// Tracer makes spans of requests whose caller keeps a trace (traceparent), and
	// of the share Sample of those whose caller has none. nil makes none.
	Tracer trace.Tracer
	Sample float64
}

// RequestIDHeader carries the id of a request, both ways.
const RequestIDHeader = "X-Request-Id"

// NewObserved gives every request to next an id, the caller's where that is sane and
// the request is not of the hosted API, and tells of its answer. The id is in the
// answer's header before next runs.
func NewObserved(next http.Handler, o ObserveOptions) http.Handler {
	return &observed{next: next, options: o}
}

type observed struct {
	next    http.Handler
	options ObserveOptions
	pool    sync.Pool // of *watched
}

func (o *observed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen, _ := o.pool.Get().(*watched)
	if seen == nil {
		seen = new(watched)
	}
	path, id := rawPath(r), ""
	if strings.HasPrefix(path, hostedPrefix) {
		id = newRequestID()
	} else {
		id = requestID(r.Header)
	}
	*seen = watched{ResponseWriter: w, Answered: Answered{
		Method: r.Method, Path: path, Remote: r.RemoteAddr, RequestID: id, Began: time.Now(), Aborted: true}}
	if seen.Remote == "@" { // the peer of a unix socket has no name
		seen.Remote = ""
	}
	w.Header()[RequestIDHeader] = []string{id}
	ctx, span := o.begin(r, id)
	if span != nil {
		r = r.WithContext(ctx)
	}
	defer o.end(seen, span)
	o.next.ServeHTTP(seen, r)
	seen.Aborted = false
}

// end runs also while a handler's panic passes, which is how a connection is
// broken off.
func (o *observed) end(seen *watched, span trace.Span) {
	seen.Took = time.Since(seen.Began)
	if !seen.Aborted && seen.Status == 0 {
		seen.Status = http.StatusOK // what net/http sends for a handler that wrote nothing
	}
	if o.options.Done != nil {
		o.options.Done(&seen.Answered)
	}
	if span != nil {
		finishSpan(span, &seen.Answered)
	}
	if !seen.Aborted { // else a goroutine of the handler may still hold it
		*seen = watched{}
		o.pool.Put(seen)
	}
}

var traceContext propagation.TraceContext

// begin starts the span of a request that is traced. The decision is taken here,
// so that a request that is not traced costs a random number and nothing below
// begins a trace of its own.
func (o *observed) begin(r *http.Request, id string) (context.Context, trace.Span) {
	if o.options.Tracer == nil {
		return nil, nil
	}
	ctx := r.Context()
	if _, sent := r.Header["Traceparent"]; sent {
		ctx = traceContext.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	parent := trace.SpanContextFromContext(ctx)
	if parent.IsValid() && !parent.IsSampled() || !parent.IsValid() && rand.Float64() >= o.options.Sample {
		return nil, nil
	}
	return o.options.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", rawPath(r)),
			attribute.String("authz.request_id", id)))
}

func finishSpan(span trace.Span, a *Answered) {
	if a.Operation != "" {
		span.SetName(a.Method + " " + a.Operation)
	}
	span.SetAttributes(attribute.Int("http.response.status_code", a.Status),
		attribute.String("authz.application", a.Application), attribute.String("authz.operation", a.Operation))
	if a.Aborted || a.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// watched is the answer being written.
type watched struct {
	http.ResponseWriter
	Answered
}

// Unwrap serves http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush is for writers around this one that ask for http.Flusher and unwrap nothing.
func (w *watched) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *watched) WriteHeader(status int) {
	if w.Status == 0 && status >= http.StatusOK { // what is below is informational
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.Bytes += int64(n)
	return n, err
}

// unwatched is the writer of net/http itself, which it knows by its type.
func unwatched(w http.ResponseWriter) http.ResponseWriter {
	if seen, ok := w.(*watched); ok {
		return seen.ResponseWriter
	}
	return w
}

// name tells what a request turned out to ask: an application that is served and
// an operation that exists, so that both may become labels.
func (x *exchange) name(app, op string) {
	x.op = op
	if seen, ok := x.w.(*watched); ok {
		seen.Application, seen.Operation = app, op
	}
}

// requestID is that of the request in hand, "" outside of NewObserved.
func (x *exchange) requestID() string {
	if seen, ok := x.w.(*watched); ok {
		return seen.RequestID
	}
	return ""
}

// maxRequestID bounds an id that is taken over, in bytes.
const maxRequestID = 128

// requestID takes over an id that is safe in every log, else makes one.
func requestID(h http.Header) string {
	if values := h[RequestIDHeader]; len(values) == 1 && saneRequestID(values[0]) {
		return values[0]
	}
	return newRequestID()
}

func newRequestID() string {
	var raw [16]byte
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	var text [32]byte
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

func saneRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '+', c == '/', c == '=', c == '@':
		default:
			return false
		}
	}
	return true
}
