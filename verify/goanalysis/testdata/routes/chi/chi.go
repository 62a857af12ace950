// Package chi is a service over chi.
package chi

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

func RequirePermission(key string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return next }
}

func logged(next http.Handler) http.Handler { return next }

type server struct {
	router chi.Router
	auth   func(http.Handler) http.Handler
}

func (s *server) get(w http.ResponseWriter, r *http.Request)    {}
func (s *server) put(w http.ResponseWriter, r *http.Request)    {}
func (s *server) health(w http.ResponseWriter, r *http.Request) {}

func New() *server {
	s := &server{router: chi.NewRouter()}
	s.router.Use(logged)
	s.routes()
	return s
}

func (s *server) routes() {
	r := s.router
	r.Get("/health", s.health)
	r.Get("/open", s.get) // want `server function "get" \(GET /open\)`
	r.With(RequirePermission("docs.files.read")).Get("/with", s.get)
	r.Group(func(r chi.Router) {
		r.Use(RequirePermission("docs.files.read"))
		r.Get("/grouped", s.get)
		r.Route("/deep", func(r chi.Router) { r.Put("/er", s.put) })
	})
	r.Group(func(r chi.Router) {
		r.Get("/ungrouped", s.get) // want `server function "get" \(GET /ungrouped\)`
	})
	r.Route("/docs", func(r chi.Router) {
		r.Use(logged, s.auth)
		r.Method("PUT", "/{id}", http.HandlerFunc(s.put))
	})
	r.Route("/admin", s.admin)
	r.Route("/guarded", func(r chi.Router) {
		r.Use(s.auth)
		s.admin2(r)
	})
	r.Mount("/mounted", s.mounted())
	r.Mount("/mounted-below", s.auth(s.mounted2()))
	r.Handle("/chain", chi.Chain(logged, RequirePermission("docs.files.read")).HandlerFunc(s.get))
}

func (s *server) admin(r chi.Router) {
	r.Put("/{id}", s.put) // want `server function "put" \(PUT /{id}\)`
}

func (s *server) admin2(r chi.Router) { r.Put("/{id}", s.put) }

func (s *server) mounted() http.Handler {
	r := chi.NewRouter()
	r.Get("/", s.get) // want `server function "get" \(GET /\)`
	return r
}

func (s *server) mounted2() http.Handler {
	r := chi.NewRouter()
	r.Get("/", s.get)
	return r
}
