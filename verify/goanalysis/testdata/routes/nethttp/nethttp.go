// Package nethttp is a service over http.ServeMux.
package nethttp

import "net/http"

type shop struct{ ready http.Handler }

// RequirePermission makes middleware that asks.
func RequirePermission(key string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return next }
}

func requireUser(next http.Handler) http.Handler { return next }

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

func loggedFunc(next http.HandlerFunc) http.HandlerFunc { return next }

func may(r *http.Request, key string) bool { return false }

func (s *shop) list(w http.ResponseWriter, r *http.Request)   {}
func (s *shop) order(w http.ResponseWriter, r *http.Request)  {}
func (s *shop) cancel(w http.ResponseWriter, r *http.Request) {}
func (s *shop) refund(w http.ResponseWriter, r *http.Request) {
	if !may(r, "docs.files.update") {
		w.WriteHeader(http.StatusForbidden)
	}
}
func health(w http.ResponseWriter, r *http.Request) {}

// authz-verify-ignore-next-line ungated-action tells the time of day alone
func clock(w http.ResponseWriter, r *http.Request) {}

type pages struct{}

func (pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

type checked struct{}

func (checked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = may(r, "docs.files.read") || true
}

func maker() http.HandlerFunc { return func(w http.ResponseWriter, r *http.Request) {} }

func checkedMaker() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if may(r, "docs.files.read") {
			w.WriteHeader(http.StatusOK)
		}
	}
}

func routes(s *shop) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /orders", RequirePermission("docs.files.read")(http.HandlerFunc(s.list)))
	mux.Handle("POST /orders", logged(requireUser(loggedFunc(s.order))))
	mux.HandleFunc("DELETE /orders/{id}", s.cancel) // want `server function "cancel" \(DELETE /orders/{id}\)`
	mux.HandleFunc("POST /refunds", s.refund)
	mux.HandleFunc("GET /health", health)
	mux.HandleFunc("GET /clock", clock)
	mux.Handle("/pages", pages{}) // want `server function "ServeHTTP" \(/pages\)`
	mux.Handle("/checked", checked{})
	mux.Handle("/made", maker()) // want `server function "maker"`
	mux.Handle("/checked-maker", checkedMaker())
	mux.HandleFunc("/literal", func(w http.ResponseWriter, r *http.Request) {}) // want `server function "<anonymous>" \(/literal\)`
	mux.HandleFunc("/inline", func(w http.ResponseWriter, r *http.Request) { _ = may(r, "docs.files.read") || true })
	mux.HandleFunc("GET /ignored", s.cancel) //authz-verify-ignore-line ungated-action it is an example
	h := http.HandlerFunc(s.order)
	mux.Handle("/variable", h) // want `server function "order" \(/variable\)`
	asked := requireUser(h)
	mux.Handle("/asked", asked)
	mux.Handle("GET /static/css/", http.FileServer(http.Dir("css")))
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir("files")))) // want `server function "FileServer" \(/files/\)`
	return logged(mux)
}

// wrapped is asked for as a whole.
func wrapped(s *shop) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/w/list", s.list)
	mux.HandleFunc("/w/order", s.order)
	var h http.Handler = mux
	h = requireUser(h)
	return logged(h)
}

// perhaps is wrapped under a condition alone.
func perhaps(s *shop, on bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/p/list", s.list) // want `server function "list"`
	var h http.Handler = mux
	if on {
		h = requireUser(h)
	}
	return h
}

// twice is served with a gate and without one.
func twice(s *shop) {
	mux := http.NewServeMux()
	mux.HandleFunc("/t/list", s.list) // want `server function "list"`
	go http.ListenAndServe(":1", requireUser(mux))
	http.ListenAndServe(":2", mux)
}

// below is mounted below a mux that is asked for.
func below(s *shop) *http.Server {
	api := http.NewServeMux()
	api.HandleFunc("/list", s.list)
	open := http.NewServeMux()
	open.HandleFunc("/order", s.order) // want `server function "order"`
	root := http.NewServeMux()
	root.Handle("/api/", requireUser(http.StripPrefix("/api", api)))
	root.Handle("/open/", http.StripPrefix("/open", open))
	return &http.Server{Handler: root}
}

// get registers for others.
func get(mux *http.ServeMux, path string, h http.HandlerFunc) {
	mux.Handle("GET "+path, requireUser(h))
}

func post(mux *http.ServeMux, path string, h http.HandlerFunc) { mux.Handle("POST "+path, h) }

func helpers(s *shop) {
	mux := http.NewServeMux()
	get(mux, "/h/list", s.list)
	post(mux, "/h/order", s.order) // want `server function "order"`
	withUser := func(h http.HandlerFunc) http.Handler { return requireUser(h) }
	mux.Handle("/h/cancel", withUser(s.cancel))
	http.ListenAndServe(":3", mux)
}

func main() {
	s := &shop{}
	http.HandleFunc("/default", s.list) // want `server function "list"`
	http.ListenAndServe(":4", nil)
	http.ListenAndServe(":5", routes(s))
	http.ListenAndServe(":6", wrapped(s))
	http.ListenAndServe(":7", perhaps(s, true))
	twice(s)
	helpers(s)
	below(s).ListenAndServe()
}
