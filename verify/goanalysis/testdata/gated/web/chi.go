package web

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/gated/handlers"
)

func (s *service) admin(r chi.Router) { r.Put("/{id}", s.put) }

func Chi() http.Handler {
	s := &service{}
	r := chi.NewRouter()
	r.Use(logged)
	r.Route("/v1", func(r chi.Router) {
		r.Use(logged, requireUser)
		r.Get("/list", s.list)
		r.Put("/{id}", s.put)
		r.Route("/deep", func(r chi.Router) { r.Get("/audit", s.audit) })
	})
	r.With(RequirePermission("docs.files.read")).Get("/with", s.list)
	r.Group(func(r chi.Router) {
		r.Use(RequirePermission("docs.files.update"))
		r.Put("/grouped", s.put)
	})
	r.With(requireUser).Route("/admin", s.admin)
	r.Get("/apart", handlers.Asks)
	r.Route("/apart", func(r chi.Router) {
		r.Use(requireUser) // before handlers.Routes
		handlers.Routes(r)
	})
	return r
}
