// Package web serves over net/http behind authz's own middleware.
package web

import (
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
	"github.com/authzhost/authz/sdk/client"
)

type service struct{ guard *authzhttp.Guard }

func show(w http.ResponseWriter, r *http.Request)         {}
func remove(w http.ResponseWriter, r *http.Request)       {}
func entries(w http.ResponseWriter, r *http.Request)      {}
func (s *service) put(http.ResponseWriter, *http.Request) {}

func (s *service) reading() authzhttp.Middleware {
	return s.guard.Require("docs.files.read", authzhttp.Global)
}

func logged(next http.Handler) http.Handler { return next }

func Serve(c *client.Client, who func(*http.Request) (authz.Principal, error)) error {
	guard := authzhttp.New(authzhttp.Options{Client: c, Principal: who})
	s := &service{guard}
	folder := authzhttp.ScopeFromPath("docs.folder", "id")
	mux := http.NewServeMux()
	mux.Handle("GET /folders/{id}", guard.Require("docs.files.read", folder)(http.HandlerFunc(show)))
	mux.Handle("DELETE /folders/{id}", logged(guard.RequireGate(authzhttp.Gate{
		Keys: []string{"docs.files.update"}, Scope: folder, Fresh: true,
	})(http.HandlerFunc(remove))))
	mux.Handle("PUT /folders/{id}", s.reading()(http.HandlerFunc(s.put)))
	audit := http.NewServeMux()
	audit.HandleFunc("GET /entries", entries)
	mux.Handle("/audit/", logged(guard.Require("docs.audit.read", authzhttp.Global)(http.StripPrefix("/audit", audit))))
	return http.ListenAndServe(":8080", mux)
}
