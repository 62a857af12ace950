package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// exchange is one request being answered.
type exchange struct {
	w           http.ResponseWriter
	r           *http.Request
	log         *journal
	operationOn // for the log; empty until known
	out         connection
	body        *bytes.Buffer // nil once nothing of it is held
	asked       plainQuestion // of a body that is one
}

// exchanges are used again, but for those that ended in a panic: a goroutine of
// their handler may still hold them.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// serve answers with what handle returns. A panic is an internal error, logged;
// the connection stays usable unless part of an answer was sent: then it is
// broken, so that nobody takes the part for the whole.
func serve(w http.ResponseWriter, r *http.Request, log *journal, handle func(x *exchange) (any, error)) {
	x := exchanges.Get().(*exchange)
	*x = exchange{w: w, r: r, log: log, out: connection{w: w, control: *http.NewResponseController(w)}}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			x.out.ticket.Release()
			panic(p)
		default:
			x.end(nil)
			x.log.Error("panic while serving a request", "op", x.op, "request_id", x.requestID(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if x.out.started {
				panic(http.ErrAbortHandler)
			}
			x.fail(errors.New("panic"))
		}
	}()
	result, err := handle(x)
	if err == nil {
		err = x.answer(result)
	}
	if err != nil {
		x.end(err)
		x.fail(err)
	}
	x.out.ticket.Release()
	*x = exchange{}
	exchanges.Put(x)
}

// answer writes a result. An error means that nothing was sent yet.
func (x *exchange) answer(result any) error {
	if stream, ok := result.(rowStream); ok {
		err := stream(x.r.Context(), &x.out)
		if err != nil && x.out.started {
			x.logFailure(err)
			panic(http.ErrAbortHandler)
		}
		return err
	}
	body, ok := result.(encoded)
	if !ok {
		var err error
		if body, err = authz.Marshal(result); err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
	}
	if len(body) > countedByServer {
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.send(body)
	return nil
}

// countedByServer is the length up to which net/http itself, which holds back so
// much, finds an answer's Content-Length, without a header that it has to copy.
const countedByServer = 1024

func (x *exchange) send(body []byte) {
	if _, err := x.out.Write(body); err != nil {
		panic(http.ErrAbortHandler) // nobody is there to be told
	}
}

// fail writes the envelope of an error.
func (x *exchange) fail(err error) {
	x.logFailure(err)
	// A body that did not come in time cancels the context as well; that caller is
	// still told.
	var early *provider.APIError
	if errors.Is(x.r.Context().Err(), context.Canceled) && !errors.As(err, &early) {
		panic(http.ErrAbortHandler) // the caller has gone
	}
	wire, status := provider.ToWireError(err)
	body, marshalErr := authz.Marshal(provider.Envelope{Error: wire})
	if marshalErr != nil {
		panic(http.ErrAbortHandler)
	}
	x.out.status = status
	if limited := new(throttled); errors.As(err, &limited) {
		x.w.Header().Set("Retry-After", strconv.FormatInt((limited.waitMs+999)/1000, 10))
	}
	switch status {
	case http.StatusUnauthorized:
		x.w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		x.w.Header().Set("Allow", http.MethodPost)
	}
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.send(body)
}

// logFailure logs what the answer does not tell: outages, and errors that cross
// as "internal error". Refusals are the caller's affair.
func (x *exchange) logFailure(err error) {
	if errors.Is(x.r.Context().Err(), context.Canceled) {
		x.log.Debug("the caller went away", "op", x.op, "request_id", x.requestID(), "error", err)
		return
	}
	var outage *authz.UnavailableError
	switch wire, _ := provider.ToWireError(err); {
	case errors.As(err, &outage):
		x.log.outage(x.operationOn, "request_id", x.requestID(), "error", err, "cause", outage.Cause)
	case wire.Name == internalName:
		x.log.Error("operation failed", "op", x.op, "request_id", x.requestID(), "error", err, "cause", errors.Unwrap(err))
	}
}

// internalName is the name under which errors outside the product's model cross.
const internalName = "Error"

// connection puts the headers before the first byte and a deadline on each write,
// net/http's (WriteTimeout) on an answer that came soon and is short: setting
// another costs as much as a warm check.
type connection struct {
	w       http.ResponseWriter
	control http.ResponseController
	status  int // 0 is 200
	started bool
	soon    bool // the server's own deadline is close enough
	ticket  admission.Ticket
}

// Values of headers, which nobody changes.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

func (c *connection) Write(b []byte) (int, error) {
	if !c.soon {
		// Writers that cannot time out have no connection to protect.
		_ = c.control.SetWriteDeadline(time.Now().Add(listen.WriteTimeout))
	}
	if !c.started {
		c.started = true
		c.ticket.Answered()
		h := c.w.Header()
		h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = jsonType, noStore, noSniff
		if c.status == 0 {
			c.status = http.StatusOK
		}
		c.w.WriteHeader(c.status)
	}
	return c.w.Write(b)
}
