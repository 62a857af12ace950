package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/authzhost/authz/sdk/authz"
)

// OpsOptions configures the operations listener.
type OpsOptions struct {
	// Checks answers every condition of readiness by name. Required.
	Checks func(ctx context.Context) []Check

	// Details are shown beside the checks to who asks for more; nothing in them
	// makes the host unready. nil, and an empty answer, are none.
	Details func() map[string]any

	// Metrics is served at /metrics; nil: there are none.
	Metrics http.Handler

	// Profiles serves net/http/pprof below /debug/pprof/.
	Profiles bool
}

// readiness is the body of /readyz?verbose=1.
type readiness struct {
	Ready   bool           `json:"ready"`
	Checks  []Check        `json:"checks"`
	Details map[string]any `json:"details,omitempty"`
}

// NewOpsHandler serves /healthz, /readyz, metrics and, when asked to, profiles. It tells
// more than the public listener and belongs on a loopback address.
func NewOpsHandler(o OpsOptions) (http.Handler, error) {
	if o.Checks == nil {
		return nil, errors.New("the operations handler needs the checks of readiness")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { answerHealth(w, r, true) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		checks := orEmpty(o.Checks(r.Context()))
		state := readiness{Ready: Ready(checks), Checks: checks}
		if r.URL.Query().Get("verbose") != "1" {
			answerHealth(w, r, state.Ready)
			return
		}
		if o.Details != nil {
			state.Details = o.Details()
		}
		body, err := authz.Marshal(state)
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		answerStatus(w, r, state.Ready, "application/json", string(body))
	})
	if o.Metrics != nil {
		mux.Handle("/metrics", o.Metrics)
	}
	if o.Profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if largeHeaders(r) {
			http.Error(w, "request headers too large", http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// answerHealth tells up or not, nothing more.
func answerHealth(w http.ResponseWriter, r *http.Request, up bool) {
	text := "ok\n"
	if !up {
		text = "not ready\n"
	}
	answerStatus(w, r, up, "text/plain; charset=utf-8", text)
}

func answerStatus(w http.ResponseWriter, r *http.Request, up bool, contentType, body string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "GET or HEAD only", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	status := http.StatusOK
	if !up {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, body) // a prober that hangs up needs no answer
	}
}
