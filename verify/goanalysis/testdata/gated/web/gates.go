// Package web is a project whose every handler is gated.
package web

import "net/http"

func RequirePermission(key string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return next }
}

func requireUser(next http.Handler) http.Handler { return next }
func logged(next http.Handler) http.Handler      { return next }
func recovered(next http.Handler) http.Handler   { return next }
func may(r *http.Request, key string) bool       { return false }

type service struct{}

func (s *service) list(w http.ResponseWriter, r *http.Request)  {}
func (s *service) put(w http.ResponseWriter, r *http.Request)   {}
func (s *service) audit(w http.ResponseWriter, r *http.Request) {}
