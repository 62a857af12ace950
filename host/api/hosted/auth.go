package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/oidc"
)

type signInInput struct {
	Org    string `json:"org,omitempty"`
	UserID string `json:"userId,omitempty" max:"256"`
	Proof  proof  `json:"proof"`
}

// proof is one of two shapes, told apart by kind.
type proof struct {
	Kind   string  `json:"kind" enum:"bootstrap,oidc"`
	Secret string  `json:"secret,omitempty"`
	Code   string  `json:"code,omitempty"`
	State  string  `json:"state,omitempty" max:"512"`
	Issuer *string `json:"iss,omitempty" max:"2048"`
}

// Check holds a proof to the members of its kind.
func (in signInInput) Check() error {
	p := in.Proof
	switch {
	case p.Kind == "bootstrap" && (p.Secret == "" || p.Code != "" || p.State != "" || p.Issuer != nil):
		return fault.Invalid(fault.Issue{Path: "proof", Message: "a bootstrap proof has a secret, and nothing else"})
	case p.Kind == "bootstrap" && in.UserID == "":
		return fault.Invalid(fault.Issue{Path: "userId", Message: "is required with a bootstrap proof"})
	case p.Kind == "oidc" && (p.Secret != "" || p.Code == "" || p.State == ""):
		return fault.Invalid(fault.Issue{Path: "proof", Message: "an oidc proof has code and state, iss when the provider sent it, and nothing else"})
	}
	return nil
}

type sessions struct {
	Sessions   []service.SessionView `json:"sessions"`
	NextCursor *string               `json:"nextCursor"`
}

type sessionID struct {
	ID string `path:"id"`
}

// signInMethod is a way to sign in.
type signInMethod struct {
	Kind  string `json:"kind"`            // "oidc" or "bootstrap"
	Start string `json:"start,omitempty"` // where a browser begins
}

type signInMethods struct {
	Methods []signInMethod `json:"methods"`
}

func authRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/auth/methods", Summary: "The ways to sign in", Gate: service.Public},
		func(_ context.Context, c *Call, _ struct{}) (signInMethods, error) {
			out := signInMethods{Methods: []signInMethod{}}
			if c.api.o.Services.OIDC != nil {
				out.Methods = append(out.Methods, signInMethod{Kind: service.MethodOIDC, Start: base + "/auth/oidc/start"})
			}
			if c.core().TakesBootstrap() {
				out.Methods = append(out.Methods, signInMethod{Kind: service.MethodBootstrap})
			}
			return out, nil
		})
	add(t, endpoint{Method: "POST", Path: "/auth/sign-in", Summary: "Sign in with a proof", Gate: service.Public, Rate: rateSignIn, OriginRule: true,
		Own: []string{"sign_in_failed", "seat_required", "cap_reached"}, Audit: []string{"A: session.create", "A: session.refuse", "A: seat.activate"},
		Meter: []string{"admin_seats"}}, signIn)
	add(t, endpoint{Method: "GET", Path: "/auth/session", Summary: "The caller's session", Gate: service.AnySession},
		func(ctx context.Context, c *Call, _ struct{}) (service.CurrentSession, error) {
			return c.core().CurrentSession(ctx, c.Caller)
		})
	add(t, endpoint{Method: "POST", Path: "/auth/sign-out", Summary: "End the caller's session", Gate: service.AnySession, WhilePreviewing: true,
		Audit: []string{"A: session.end"}},
		func(ctx context.Context, c *Call, _ struct{}) (None, error) {
			if err := c.core().SignOut(ctx, c.Caller); err != nil {
				return None{}, err
			}
			c.setCookie(c.api.cookieName("session"), "", -1)
			return None{}, nil
		})
	add(t, endpoint{Method: "GET", Path: "/auth/sessions", Summary: "The caller's own live sessions, newest first", Gate: service.AnySession},
		func(ctx context.Context, c *Call, _ struct{ Paging }) (out sessions, err error) {
			list, err := c.core().Sessions(ctx, c.Caller, c.Page)
			if err != nil {
				return out, err
			}
			out.Sessions = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "DELETE", Path: "/auth/sessions/{id}", Summary: "End one of the caller's own sessions", Gate: service.AnySession,
		Own: []string{"session_not_found"}, Audit: []string{"A: session.revoke"}},
		func(ctx context.Context, c *Call, in sessionID) (None, error) {
			return None{}, c.core().RevokeSession(ctx, c.Caller, in.ID)
		})
}

func signIn(ctx context.Context, c *Call, in signInInput) (service.SignedIn, error) {
	if in.Proof.Kind == "oidc" {
		_, signed, err := c.finishOIDC(ctx, oidc.Answer{Code: in.Proof.Code, State: in.Proof.State, Issuer: in.Proof.Issuer}, in.Org, in.UserID)
		if err == nil {
			c.startSession(signed)
		}
		return signed, err
	}
	proved := c.proved(in.Org, in.UserID)
	signed, err := c.core().SignInBootstrap(ctx, service.BootstrapProof{Proved: proved, Secret: in.Proof.Secret, Direct: directLoopback(c.Request)})
	if err != nil {
		return service.SignedIn{}, err
	}
	c.startSession(signed)
	return signed, nil
}

// startSession gives the browser its session, which ends with the browser or with
// the service's own record of it.
func (c *Call) startSession(signed service.SignedIn) {
	c.setCookie(c.api.cookieName("session"), signed.Token, 0)
}

// setCookie sets a cookie (spec: hosted-api §4); maxAge -1 clears it, 0 leaves its
// end to the browser.
func (c *Call) setCookie(name, value string, maxAge int) {
	cookie := http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: c.api.origin.secure, SameSite: http.SameSiteLaxMode}
	c.header.Add("Set-Cookie", cookie.String())
}

func (c *Call) core() *service.Service { return c.api.o.Services.Core }
