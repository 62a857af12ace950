package hosted

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/internal/request"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
)

const (
	maxURL       = 8 << 10
	maxUserAgent = 256
)

// admit takes a request up to its shape: route, credential, CSRF, rate limit,
// body. It returns the input.
func (c *Call) admit(w http.ResponseWriter) (any, error) {
	r := c.Request
	if err := c.oversized(); err != nil {
		return nil, err
	}
	endpoint, values, badValue, err := c.api.table.routes.find(r.Method, request.Path(r))
	if err != nil {
		if _, limited := c.take(rateAnybody, counted(c.Address)); limited != nil {
			return nil, limited
		}
		return nil, err
	}
	c.endpoint, c.values = endpoint, values
	if err := c.known(r.Context()); err != nil {
		return nil, err
	}
	if err := c.checkCSRF(); err != nil {
		return nil, err
	}
	if err := c.limit(); err != nil {
		return nil, err
	}
	if err := c.acceptable(); err != nil {
		return nil, err
	}
	if c.body, err = c.readBody(w); err != nil {
		return nil, err
	}
	if badValue != nil {
		return nil, badValue
	}
	input, err := endpoint.read(c.body, values, r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if own, ok := input.(interface{ Check() error }); ok {
		if err := own.Check(); err != nil {
			return nil, err
		}
	}
	if err := c.readPage(input); err != nil {
		return nil, err
	}
	return input, nil
}

func (c *Call) oversized() *fault.Error {
	if len(c.Request.RequestURI) > maxURL {
		return protocol("payload_too_large", "the URL is longer than %d bytes", maxURL)
	}
	if listen.HeaderSize(c.Request.Header) > listen.MaxHeaders {
		return protocol("headers_too_large", "the headers are larger than %d bytes", listen.MaxHeaders)
	}
	return nil
}

// identify finds out who calls, and refuses a kind of credential that the endpoint
// is not for. Who is nobody is counted by address: bad bearer credentials, of which
// a malformed one is refused unseen, and whatever a lookup did not know, after too
// many of which nothing is looked up. Neither count is of good credentials, and
// only the second one, twenty times as high, is held against them.
func (c *Call) identify(ctx context.Context) error {
	gate := c.endpoint.Gate
	if gate.Kind == service.GatePublic {
		return nil
	}
	caller, err := c.credential(ctx)
	if err != nil {
		return err
	}
	c.standing = zeroStanding // of who asked, from here on
	c.Caller = caller
	if !gate.Admits(caller.Kind) {
		return fault.Cloud("credential_not_allowed", "a %s may not call this endpoint", strings.ReplaceAll(string(caller.Kind), "_", " "))
	}
	return nil
}

var zeroStanding standing

// credential reads the one credential that counts: the Authorization header when
// there is any, else the cookie.
func (c *Call) credential(ctx context.Context) (service.Caller, error) {
	subject := counted(c.Address)
	p, cookies := c.presented()
	bad := rateAnybody
	if len(p.Authorization) > 0 {
		bad = rateBadCredential
	}
	if p.Malformed() || bad == rateAnybody && cookies > 1 { // who set the second one?
		if _, limited := c.take(bad, subject); limited != nil {
			return service.Caller{}, limited
		}
		return service.Caller{}, fault.Unauthenticated("credential_invalid", "the credential is not valid")
	}
	standing, limited := c.api.limits.look(rateAnybody, subject)
	c.stand(standing)
	if limited != nil {
		return service.Caller{}, limited
	}
	caller, err := c.api.o.Services.Core.Authenticate(ctx, p)
	if e := new(fault.Error); errors.As(err, &e) && statusOf(e) == http.StatusUnauthorized {
		c.stand(c.api.limits.buckets.Charge(rateAnybody, subject))
		if bad == rateBadCredential {
			if _, limited := c.take(bad, subject); limited != nil {
				return service.Caller{}, limited
			}
		}
	}
	return caller, err
}

// presented is what the request carries to say who it is, and of how many cookies.
func (c *Call) presented() (p service.Presented, cookies int) {
	p = service.Presented{Authorization: c.Request.Header["Authorization"], Address: c.Address.String(), UserAgent: c.userAgent(), Quiet: c.endpoint.Signals}
	all := c.Request.CookiesNamed(c.api.cookieName("session"))
	if len(all) > 0 {
		p.Cookie = all[0].Value
	}
	return p, len(all)
}

// checkCSRF holds requests that a cookie vouches for to the token and the origin
// (spec: hosted-api §4), and the sign-in to the origin.
func (c *Call) checkCSRF() error {
	r := c.Request
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	failed := fault.Cloud("csrf_failed", "the request is not known to come from this service's own pages")
	if c.Caller.Kind == service.CallerSession {
		tokens := r.Header.Values("X-Authz-Csrf")
		if len(tokens) != 1 || !c.api.o.Services.Core.ValidCSRF(c.Caller.CredentialID, tokens[0]) {
			return failed
		}
	} else if !c.endpoint.OriginRule {
		return nil
	}
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) == 1 && origins[0] == c.api.origin.text:
		return nil
	case len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "same-origin":
		return nil
	}
	return failed
}

// limit counts the call: a Public one by address, else by credential.
func (c *Call) limit() error {
	e, subject := c.endpoint, string(c.Caller.Kind)+":"+c.Caller.CredentialID
	if e.Gate.Kind == service.GatePublic {
		subject = counted(c.Address)
	}
	if _, limited := c.take(e.rate(), subject); limited != nil {
		return limited
	}
	if c.Caller.Kind == service.CallerPublisher {
		return c.limitPublish(c.Caller.Org, c.Caller.Namespace)
	}
	return nil
}

// limitPublish counts a publish of a namespace.
func (c *Call) limitPublish(org, namespace string) error {
	if _, limited := c.take(ratePublish, org+"/"+namespace); limited != nil {
		return limited
	}
	return nil
}

// limitOrg counts a call of somebody who is known to belong to the org: a stranger
// can neither use up an org's calls nor learn from them that it exists.
func (c *Call) limitOrg() error {
	r := rateOrgReads
	if c.endpoint.write() {
		r = rateOrgWrites
	}
	if _, limited := c.take(r, c.org()); limited != nil {
		return limited
	}
	return nil
}

func (c *Call) take(r rate, subject string) (standing, *fault.Error) {
	s, limited := c.api.limits.take(r, subject)
	if limited != nil {
		c.standing = s
		return s, limited
	}
	c.stand(s)
	return s, nil
}

// stand keeps the tightest standing.
func (c *Call) stand(s standing) {
	if c.standing == zeroStanding || share(s) < share(c.standing) {
		c.standing = s
	}
}

func (c *Call) acceptable() error {
	accept := strings.Join(c.Request.Header.Values("Accept"), ",")
	if accept == "" || c.endpoint.browser {
		return nil
	}
	for part := range strings.SplitSeq(accept, ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil || parameters["q"] == "0" || parameters["q"] == "0.0" {
			continue
		}
		switch kind {
		case "*/*", "application/*", "application/json", c.endpoint.accepts():
			return nil
		}
	}
	return protocol("not_acceptable", "this endpoint answers application/json")
}

// readBody reads the body, of which there is none with GET and DELETE.
func (c *Call) readBody(w http.ResponseWriter) ([]byte, *fault.Error) {
	r, limit := c.Request, c.endpoint.bodyLimit()
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, fault.Invalid(fault.Issue{Path: "", Message: "the body was cut off, or too slow"})
	case len(body) == 0:
		return nil, nil
	}
	if !c.endpoint.takesBody() {
		return nil, fault.Invalid(fault.Issue{Path: "", Message: "this endpoint takes no body"})
	}
	types := r.Header.Values("Content-Type")
	kind := ""
	var parameters map[string]string
	if len(types) == 1 {
		kind, parameters, _ = mime.ParseMediaType(types[0])
	}
	charset, given := parameters["charset"]
	if kind != "application/json" || given && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return nil, protocol("unsupported_media_type", "a body must be application/json in UTF-8, sent once and not encoded")
	}
	return body, nil
}

func tooLarge(limit int64) *fault.Error {
	return protocol("payload_too_large", "the body is larger than %d bytes", limit)
}

// readPage reads limit and cursor of lists.
func (c *Call) readPage(input any) error {
	if !c.endpoint.paged {
		return nil
	}
	p := pagingOf(input)
	c.Page = service.Page{Limit: defaultLimit}
	if p.Limit > 0 {
		c.Page.Limit = int(p.Limit)
	}
	if p.Cursor == "" {
		return nil
	}
	after, problem := c.api.cursors.read(c.cursorScope(), p.Cursor)
	if problem != nil {
		return problem
	}
	c.Page.After = after
	return nil
}

func (c *Call) cursorScope() []byte {
	return cursorScope(c.endpoint.Path, c.values, c.endpoint.parameters, c.Request.URL.RawQuery)
}

// next is nextCursor for the position after the page, nil at the end.
func (c *Call) next(after string) (*string, error) {
	next, err := c.api.cursors.write(c.cursorScope(), after)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return next, nil
}

// enter is org membership, gate and proof.
func (c *Call) enter(ctx context.Context, input any) error {
	gate, core := c.endpoint.gate(input), c.api.o.Services.Core
	writes := c.endpoint.write() && !c.endpoint.WhilePreviewing
	if gate.Kind == service.GateSession {
		return core.AuthorizeSession(ctx, c.Caller, writes)
	}
	if gate.Kind == service.GateOperator {
		return core.AuthorizeOperator(ctx, c.Caller)
	}
	if !c.endpoint.inOrg() {
		if gate.Kind == service.GatePublisher {
			return c.limitOrg()
		}
		return nil
	}
	access, err := core.Authorize(ctx, c.Caller, c.org(), c.values["app"], gate, c.endpoint.write())
	var e *fault.Error
	if err == nil || errors.As(err, &e) && statusOf(e) == http.StatusForbidden {
		if limited := c.limitOrg(); limited != nil {
			return limited
		}
	}
	if err != nil {
		return err
	}
	c.Access = access
	if access.Previewing && writes {
		return fault.Cloud("view_as_read_only", "while this session previews somebody it may only read; leave the preview first")
	}
	if c.endpoint.Proof == proofAlways {
		return access.RequireProof()
	}
	return nil
}

// org is that of the path, or of a publisher key.
func (c *Call) org() string {
	if c.endpoint.inOrg() {
		return c.values["org"]
	}
	if c.Caller.Kind == service.CallerPublisher {
		return c.Caller.Org
	}
	return ""
}

// match judges If-Match; nil is welcome to every object.
func (c *Call) match() service.Match {
	header := c.Request.Header.Values("If-Match")
	tags, any := parseETags(header, false)
	if any || len(header) == 0 {
		return nil
	}
	return func(etag string) bool { return slices.Contains(tags, etag) }
}
