package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/api/dashboard"
	"github.com/authzhost/authz/sdk/provider"
)

// PublicOptions configures the public listener.
type PublicOptions struct {
	// Providers serves the provider API of each application, by its name.
	Providers map[string]http.Handler

	// Default is the application that is also served at /v1/; "" means the only
	// one, or none when there are several.
	Default string

	// Hosted serves everything below /api/v1/; nil when there is no hosted service.
	Hosted http.Handler

	// Dashboard serves "/", "/dashboard" and everything below it; nil when there is none.
	Dashboard http.Handler

	// Ready is what /readyz tells. Required.
	Ready func() bool

	// Logger takes internal errors; nil drops them.
	Logger hclog.Logger
}

// hostedPrefix is where the hosted API lies.
const hostedPrefix = "/api/v1/"

type publicHandler struct {
	providers map[string]http.Handler
	fallback  http.Handler // of /v1/; nil when there is no default application
	hosted    http.Handler // of /api/v1/; nil without a hosted service
	dashboard http.Handler // nil without one
	ready     func() bool
	log       *journal
}

// NewPublicHandler routes by the raw path (spec: host §2): nothing is cleaned,
// redirected or folded.
func NewPublicHandler(o PublicOptions) (http.Handler, error) {
	if o.Ready == nil {
		return nil, fmt.Errorf("the public handler needs to know when it is ready")
	}
	h := &publicHandler{providers: o.Providers, hosted: o.Hosted, dashboard: o.Dashboard, ready: o.Ready, log: newJournal(o.Logger)}
	switch {
	case o.Default != "":
		if h.fallback = o.Providers[o.Default]; h.fallback == nil {
			return nil, fmt.Errorf("the default application %q is not served", o.Default)
		}
	case len(o.Providers) == 1:
		for _, only := range o.Providers {
			h.fallback = only
		}
	}
	return h, nil
}

func (h *publicHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := rawPath(r)
	switch {
	case strings.HasPrefix(path, hostedPrefix): // which bounds headers itself
		h.serveOr404(w, r, h.hosted)
	case largeHeaders(r):
		serve(w, r, h.log, func(*exchange) (any, error) { return nil, errLargeHeaders() })
	case path == "/healthz":
		answerHealth(w, r, true)
	case path == "/readyz":
		answerHealth(w, r, h.ready())
	case strings.HasPrefix(path, "/apps/"):
		h.serveOr404(w, r, h.provider(path[len("/apps"):]))
	case strings.HasPrefix(path, versionSegment):
		h.serveOr404(w, r, h.fallback)
	case h.dashboard != nil && (path == "/" || path == "/dashboard" || strings.HasPrefix(path, dashboard.Base)):
		h.dashboard.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// provider finds the handler for "/{app}/v1/…"; nil when there is none.
func (h *publicHandler) provider(rest string) http.Handler {
	at := strings.IndexByte(rest[1:], '/') + 1
	if at < 1 || !strings.HasPrefix(rest[at:], versionSegment) {
		return nil
	}
	name, err := url.PathUnescape(rest[1:at])
	if err != nil {
		return nil
	}
	return h.providers[name]
}

func (h *publicHandler) serveOr404(w http.ResponseWriter, r *http.Request, to http.Handler) {
	if to != nil {
		to.ServeHTTP(w, r)
		return
	}
	serve(w, r, h.log, func(*exchange) (any, error) {
		return nil, &provider.APIError{Code: provider.UnknownOp,
			Message: "no application is served here: expected a path of the form /apps/{app}/v1/{op}"}
	})
}
