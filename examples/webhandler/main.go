// Webhandler guards the routes of an HTTP service. Each route names the permission that
// it needs and where its scope is; authzhttp does the rest: a denial is the visitor's
// affair (403), a mistake in this program is 500, and an outage is neither (503): it must
// never look like an answer. A key that the catalog does not declare ends the program as
// it starts.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
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

func routes(c *client.Client) http.Handler {
	guard := authzhttp.New(authzhttp.Options{Client: c,
		Principal: func(r *http.Request) (authz.Principal, error) { return demo.User(r), nil }})
	page := authzhttp.ScopeFromPath("wiki.page", "id")

	mux := http.NewServeMux()
	mux.Handle("GET /pages/{id}", guard.Require("wiki.pages.read", page)(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "the page %s\n", r.PathValue("id"))
		})))
	mux.Handle("PUT /pages/{id}", guard.Require("wiki.pages.update", page)(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})))
	return mux
}
