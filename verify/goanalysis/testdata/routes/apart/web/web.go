// Package web registers handlers of another package.
package web

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/shop/apart/handlers"
)

func requireUser(next http.Handler) http.Handler { return next }

func Serve() {
	r := chi.NewRouter()
	r.Get("/direct", handlers.Read) // want `server function "Read" \(GET /direct\)`
	r.Get("/asks", handlers.Asks)
	r.Get("/version", handlers.Version)
	r.Route("/in", func(r chi.Router) {
		r.Use(requireUser)
		handlers.Routes(r)
	})
	r.Route("/out", func(r chi.Router) {
		handlers.Routes(r)
	})
	r.Mount("/gated", requireUser(handlers.API()))
	http.ListenAndServe(":1", r)
}
