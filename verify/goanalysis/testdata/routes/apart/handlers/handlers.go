// Package handlers has functions that others register.
package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

func may(r *http.Request, key string) bool { return false }

func Read(w http.ResponseWriter, r *http.Request) {}

func Asks(w http.ResponseWriter, r *http.Request) { _ = may(r, "docs.files.read") || true }

// Nowhere is registered by nobody.
func Nowhere(w http.ResponseWriter, r *http.Request) {} // want `server function "Nowhere" contains no gate and is registered nowhere`

// authz-verify-ignore-next-line ungated-action anyone may know the version
func Version(w http.ResponseWriter, r *http.Request) {}

// Routes registers on the caller's router.
func Routes(r chi.Router) {
	r.Get("/read", Read) // want `server function "Read" \(GET /read\)`
	r.Get("/asks", Asks)
	r.Get("/public", Read)
}

// API is a router of its own.
func API() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/read", Read)
	return mux
}
