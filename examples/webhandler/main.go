// Webhandler guards the routes of an HTTP service. Each route names the permission
// that it needs; Require returns nil or a typed error, and one function turns that
// into a status: a denial is the visitor's affair (403), a key that the catalog does
// not declare is a mistake in this program (500), and an outage is neither (503): it
// must never look like an answer.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"wiki"},
	ScopeTypes: []catalog.ScopeType{{Type: "wiki.page"}},
	Permissions: []catalog.PermissionSet{
		catalog.Group("wiki.pages", catalog.GroupInput{Label: "Pages", Scopes: []string{"wiki.page"}},
			catalog.Key("wiki.pages.read"), catalog.Key("wiki.pages.update")),
	},
})

var rows = demo.Rows{Grants: []provider.GrantInput{
	{Subject: "everyone", Pattern: "wiki.pages.read"},
	{Subject: "user:ada", Pattern: "wiki.pages.*", Scope: "wiki.page:home"},
}}

func main() {
	app, err := demo.Open(context.Background(), permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("try: curl -i -u ada: -X PUT http://127.0.0.1:8081/pages/home")
	log.Fatal(http.ListenAndServe("127.0.0.1:8081", demo.SignIn(routes(app.Client()))))
}

func routes(guard *client.Client) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /pages/{id}", require(guard, "wiki.pages.read", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "the page %s\n", r.PathValue("id"))
	}))
	mux.Handle("PUT /pages/{id}", require(guard, "wiki.pages.update", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	return mux
}

func require(guard *client.Client, key string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := guard.Require(r.Context(), demo.User(r), key, "wiki.page:"+r.PathValue("id")); err != nil {
			log.Print(err)
			http.Error(w, http.StatusText(status(err)), status(err))
			return
		}
		next(w, r)
	})
}

func status(err error) int {
	var denied *authz.AccessDeniedError
	var outage *authz.UnavailableError
	var network *provider.TransportError // when the application is attached to a host elsewhere
	switch {
	case errors.As(err, &denied):
		return http.StatusForbidden
	case errors.As(err, &outage), errors.As(err, &network):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError // *authz.UnknownPermissionError and its like
}
