// Package authzhttp puts gates before the routes of net/http:
//
//	guard := authzhttp.New(authzhttp.Options{Client: c, Principal: whoIs})
//	mux.Handle("GET /folders/{id}", guard.Require("docs.files.read", authzhttp.ScopeFromPath("docs.folder", "id"))(handler))
//
// A request of nobody is answered 401, a denial 403, and an outage 503: it is never an
// answer. What a gate names is held to the catalog where it is declared, so that a mistyped
// key ends the program as it starts.
package authzhttp
