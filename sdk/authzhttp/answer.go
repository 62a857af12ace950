package authzhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// SignedIn lets everybody pass who is somebody, and asks for no key: for lists, whose
// handler asks what of them its visitor may see, and for pages of one's own. Rows are not
// looked at, so a user who is deactivated passes too, and is denied where the handler asks.
func (g *Guard) SignedIn() Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := gate.Asked{Principal: func() (authz.Principal, error) { return g.Principal(r) }}.Who()
			if err != nil {
				g.refuse(w, r, p, client.Gate{}, err)
				return
			}
			next.ServeHTTP(w, passed(r, p))
		})
	}
}

// Answer answers a request whose handler asked itself and got an error, as a gate would:
// 401, 403, 404, 500 or 503. It writes the header and the body, so the handler returns.
// ErrNoResource is 404; what is not known to be anything else is an outage.
func (g *Guard) Answer(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil { // a request must not pass for answered
		err = &gate.ProgramError{Problem: "Answer was given no error"}
	}
	p, asked := gate.Denied(err)
	g.refuse(w, r, p, asked, err)
}

type principalKey struct{}

func passed(r *http.Request, p authz.Principal) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
}

// PrincipalOf is who passed the gate before this handler, the zero principal where there
// was none.
func PrincipalOf(ctx context.Context) authz.Principal {
	p, _ := ctx.Value(principalKey{}).(authz.Principal)
	return p
}

var statuses = map[gate.Verdict]int{
	gate.Nobody: http.StatusUnauthorized, gate.Forbidden: http.StatusForbidden, gate.NoResource: http.StatusNotFound,
	gate.Mistake: http.StatusInternalServerError, gate.Outage: http.StatusServiceUnavailable,
}

// problem is a body of problem details (RFC 9457).
type problem struct {
	Title       string `json:"title"`
	Status      int    `json:"status"`
	Explanation string `json:"explanation,omitempty"`
}

func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, p authz.Principal, asked client.Gate, err error) {
	status := statuses[gate.VerdictOf(err)]
	if status >= 500 && !errors.Is(r.Context().Err(), context.Canceled) { // of a request that its client gave up, nothing is to mend
		g.Logger.ErrorContext(r.Context(), "a request could not be judged", "method", r.Method, "pattern", r.Pattern, "status", status, "error", err.Error())
	}
	if unknown := gate.Unknown(err); unknown != "" {
		g.Logger.InfoContext(r.Context(), gate.UnknownTold, "method", r.Method, "pattern", r.Pattern, "status", status, "scope", unknown)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", g.Challenge)
	}
	if g.Respond != nil {
		g.Respond(w, r, status, err)
		return
	}
	body := problem{Title: http.StatusText(status), Status: status}
	if status == http.StatusForbidden && g.ExplainInDevelopment {
		body.Explanation = gate.Explain(r.Context(), g.Client, p, asked)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store") // another grant changes it at once
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a client that may be gone
}
