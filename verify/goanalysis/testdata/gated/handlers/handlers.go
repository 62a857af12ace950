// Package handlers is registered by another one.
package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

func may(r *http.Request, key string) bool { return false }

func Asks(w http.ResponseWriter, r *http.Request) {
	if !may(r, "docs.files.read") {
		return
	}
}

func read(w http.ResponseWriter, r *http.Request) {}

func Routes(r chi.Router) { r.Get("/read", read) }
