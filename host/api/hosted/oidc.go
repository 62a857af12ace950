package hosted

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/sdk/authz"
)

// redirect answers 303.
type redirect struct{ to string }

func (r redirect) respond(c *Call, w http.ResponseWriter) error {
	w.Header().Set("Location", r.to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// started is 303 to the provider, or its URL where JSON is asked for.
type started struct {
	AuthorizationURL string `json:"authorizationUrl"`
}

func (s started) respond(c *Call, w http.ResponseWriter) error {
	if !wantsJSON(c.Request) {
		return redirect{s.AuthorizationURL}.respond(c, w)
	}
	body, err := authz.Marshal(s)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}

// wantsJSON tells whether the client names JSON, as a script does and a browser
// that follows a link does not.
func wantsJSON(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if kind, _, err := mime.ParseMediaType(part); err == nil && kind == "application/json" {
			return true
		}
	}
	return false
}

// backToSignIn is where a browser goes whose sign-in failed, "" for others: to the
// screen, never elsewhere, with the code, the request and what the sign-in began with.
func (c *Call) backToSignIn(e *fault.Error) string {
	if c.endpoint == nil || !c.endpoint.browser || c.api.o.SignIn == "" || wantsJSON(c.Request) {
		return ""
	}
	query := url.Values{"problem": {cmp.Or(e.Code, e.Name)}, "request": {c.requestID}}
	if c.began.Org != "" {
		query.Set("org", c.began.Org)
	}
	if c.began.ReturnTo != "" {
		query.Set("returnTo", c.began.ReturnTo)
	}
	return c.api.origin.text + c.api.o.SignIn + "?" + query.Encode()
}

type startOIDC struct {
	Org      string `query:"org,omitempty" max:"64"`
	ReturnTo string `query:"returnTo,omitempty" max:"2048"`
}

// callback is what a provider sends a browser back with. Providers add parameters
// of their own (session_state), which the specification lets them.
type callback struct {
	Code         string  `query:"code,omitempty"`
	State        string  `query:"state,omitempty" max:"512"`
	Error        string  `query:"error,omitempty"`
	Description  string  `query:"error_description,omitempty"`
	ErrorURI     string  `query:"error_uri,omitempty"`
	Issuer       *string `query:"iss,omitempty" max:"2048"`
	Scope        string  `query:"scope,omitempty"`
	SessionState string  `query:"session_state,omitempty"`
	AuthUser     string  `query:"authuser,omitempty"`
	Domain       string  `query:"hd,omitempty"`
	Prompt       string  `query:"prompt,omitempty"`
}

func oidcRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/auth/oidc/start", Summary: "Begin a sign-in at the OpenID provider", Gate: service.Public, Rate: rateOIDCStart,
		Status: http.StatusSeeOther, Also: []int{http.StatusOK}, Own: []string{"invalid_parameter", "route_not_found"}, browser: true},
		func(ctx context.Context, c *Call, in startOIDC) (started, error) {
			p := c.api.o.Services.OIDC
			if p == nil {
				return started{}, noOIDC()
			}
			s, err := p.Start(ctx, in.Org, in.ReturnTo)
			if err != nil {
				c.began.Org = in.Org
				return started{}, err
			}
			c.setCookie(c.api.cookieName("oidc"), s.Cookie, int(oidc.Lifetime/time.Second))
			return started{s.AuthorizationURL}, nil
		})
	add(t, endpoint{Method: "GET", Path: "/auth/oidc/callback", Summary: "Finish a sign-in at the OpenID provider", Gate: service.Public, Rate: rateSignIn,
		Status: http.StatusSeeOther, Own: []string{"sign_in_failed", "seat_required", "cap_reached"},
		Audit: []string{"A: session.create", "A: session.refuse", "A: seat.activate"}, Meter: []string{"admin_seats"}, browser: true},
		func(ctx context.Context, c *Call, in callback) (redirect, error) {
			who, signed, err := c.finishOIDC(ctx, oidc.Answer{Code: in.Code, State: in.State, Error: in.Error, Issuer: in.Issuer}, "", "")
			if err != nil {
				return redirect{}, err
			}
			c.startSession(signed)
			to := who.ReturnTo
			if to == "" {
				to = "/"
			}
			return redirect{c.api.origin.text + to}, nil
		})
}

func noOIDC() *fault.Error {
	return protocol("route_not_found", "sign-in by OpenID Connect is not configured")
}

// finishOIDC proves who came back from the provider and opens their session. org
// and userID, when given, must be what was proved.
func (c *Call) finishOIDC(ctx context.Context, a oidc.Answer, org, userID string) (oidc.Identity, service.SignedIn, error) {
	began := time.Now()
	p := c.api.o.Services.OIDC
	if p == nil {
		proved := c.proved(org, userID)
		proved.Method = service.MethodOIDC
		return oidc.Identity{}, service.SignedIn{}, c.core().RefuseSignIn(ctx, proved, "OpenID Connect is not configured", began)
	}
	name := c.api.cookieName("oidc")
	if cookies := c.Request.CookiesNamed(name); len(cookies) == 1 {
		a.Cookie = cookies[0].Value
	}
	c.setCookie(name, "", -1)
	proved := c.proved(org, userID)
	proved.Method = service.MethodOIDC
	who, err := p.Finish(ctx, a)
	c.began = who
	var refused *oidc.Refused
	switch {
	case errors.As(err, &refused):
		if proved.Org == "" {
			proved.Org = refused.Org
		}
		return who, service.SignedIn{}, c.core().RefuseSignIn(ctx, proved, string(refused.Reason), began)
	case err != nil:
		return who, service.SignedIn{}, err
	}
	if proved.Org == "" {
		proved.Org = who.Org
	}
	if userID != "" && userID != who.UserID {
		return who, service.SignedIn{}, c.core().RefuseSignIn(ctx, proved, "another user than was proved", began)
	}
	proved.UserID = who.UserID
	signed, err := c.core().SignIn(ctx, proved)
	return who, signed, err
}

// proved is what a sign-in knows before its proof.
func (c *Call) proved(org, userID string) service.Proved {
	p := service.Proved{Org: org, UserID: userID, Address: c.Address.String(), Agent: c.userAgent()}
	if cookies := c.Request.CookiesNamed(c.api.cookieName("session")); len(cookies) == 1 {
		p.Cookie = cookies[0].Value
	}
	return p
}
