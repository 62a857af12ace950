package hosted

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
	"github.com/klauspost/compress/gzhttp"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/internal/throttle"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/secret"
)

// answerTimeout bounds a request's work unless its endpoint says otherwise; of a
// stream, the wait for progress.
const answerTimeout = 30 * time.Second

// Options is what the API is built over.
type Options struct {
	// PublicURL is the origin: the only source of it (spec: hosted-api §1).
	PublicURL string

	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix

	// Account keeps idempotency entries; Keys authenticate cursors and CSRF tokens.
	Account *account.Store
	Keys    *secret.Keys

	// Services are what the rows of the table are bound to.
	Services Services

	// SignIn is the path of the screen where a browser is sent whose sign-in failed; ""
	// when there is none.
	SignIn string

	// Limiter refuses what is too much; nil refuses nothing.
	Limiter *admission.Limiter

	// Clock is the time in epoch milliseconds.
	Clock func() int64

	// Logger takes internal errors; nil drops them.
	Logger hclog.Logger
}

// API serves everything below /api/v1/. It is safe for concurrent use.
type API struct {
	o           Options
	origin      origin
	table       *table
	limits      *limits
	cursors     cursors
	idempotency *idempotency
	log         hclog.Logger
	told        atomic.Int64 // when a refusal for load was logged last
	handler     http.Handler // serve, compressed where the answer allows it
}

// cookieName has the prefix that browsers hold to https; over plain HTTP, which is
// loopback only, they would refuse it.
func (a *API) cookieName(name string) string {
	if a.origin.secure {
		return "__Host-authz_" + name
	}
	return "authz_" + name
}

// New builds the handler of the API.
func New(o Options) (*API, error) {
	if o.Account == nil || o.Keys == nil || o.Clock == nil {
		return nil, errors.New("the hosted API needs account data, host keys and a clock")
	}
	at, err := parseOrigin(o.PublicURL)
	if err != nil {
		return nil, err
	}
	a := &API{o: o, origin: at, limits: newLimits(o.Clock), cursors: cursors{keys: o.Keys, clock: o.Clock},
		idempotency: &idempotency{store: o.Account, swept: map[string]string{}}, log: o.Logger}
	if a.log == nil {
		a.log = hclog.NewNullLogger()
	}
	a.table = endpoints()
	compressed, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	a.handler = compressed(http.HandlerFunc(a.serve))
	return a, nil
}

// minCompressed is the least size of a body that is worth compressing, bytes.
const minCompressed = 1400

// origin is what public_url says.
type origin struct {
	text   string // scheme://host[:port], as a browser sends it in Origin
	secure bool   // https
}

func parseOrigin(text string) (origin, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return origin{}, fmt.Errorf("public_url must be an absolute http or https URL without a path")
	}
	return origin{text: u.Scheme + "://" + u.Host, secure: u.Scheme == "https"}, nil
}

// Call is one request being answered.
type Call struct {
	Request *http.Request
	Caller  service.Caller  // zero at Public endpoints
	Access  *service.Access // of a passed gate; nil at Public and session endpoints
	Address netip.Addr      // the client's

	// Page is what a list is asked for.
	Page service.Page

	api       *API
	endpoint  *endpoint
	requestID string
	values    map[string]string
	body      []byte
	status    int
	header    http.Header
	standing  standing
	began     oidc.Identity // Org and ReturnTo of the sign-in that this is part of
	waited    time.Duration // for places
}

func (c *Call) name() string {
	if c.endpoint == nil {
		return ""
	}
	return c.endpoint.Method + " " + c.endpoint.Path
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// serve answers one request. A panic is an internal error, logged.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(gzhttp.HeaderNoCompression, "1") // until an answer may be
	id := w.Header().Get("X-Request-Id")            // by which the access log knows the request
	if id == "" {
		id = uuid.NewString()
	}
	c := &Call{Request: r, api: a, requestID: id, header: w.Header(), Address: throttle.ClientAddress(r, a.o.TrustedProxies)}
	a.secure(w.Header(), c.requestID)
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			a.log.Error("panic while serving a request", "request_id", c.requestID, "endpoint", c.name(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.fail(w, fault.Internal(nil))
		}
	}()
	if err := c.serve(w); err != nil {
		c.fail(w, err)
	}
}

// serve keeps the order of authorization (spec: hosted-api §5): credential, CSRF,
// rate limit, body shape, org membership, gate, proof; existence and own rules are
// the handler's.
func (c *Call) serve(w http.ResponseWriter) error {
	input, err := c.admit(w)
	show(c.standing, w.Header())
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	if c.endpoint.write() {
		ctx = context.WithoutCancel(ctx) // a caller that leaves must not cut a write in two
	}
	ctx = orgroot.WithOneReading(applications.WithOneRoot(ctx))
	ctx, cancel := context.WithTimeout(ctx, c.endpoint.within())
	defer cancel()
	ticket, err := c.place(ctx, c.endpoint.class())
	if err != nil {
		return err
	}
	release := sync.OnceFunc(ticket.Release)
	defer release()
	ctx = admission.With(ctx, ticket)
	if err := c.enter(account.Remember(ctx), input); err != nil {
		show(c.standing, w.Header())
		return err
	}
	show(c.standing, w.Header())
	c.status = c.endpoint.Status
	key, problem := c.idempotencyKey()
	if problem != nil {
		return problem
	}
	if key != "" {
		err := c.once(ctx, w, key, input)
		if err == nil {
			ticket.Answered()
		}
		return err
	}
	output, err := c.endpoint.handle(ctx, c, input)
	if err != nil {
		return err
	}
	ticket.Answered()
	if c.endpoint.Signals {
		release()
	}
	return c.answer(w, output)
}
