// Destructive guards an action that nobody can take back. Can answers from a cache
// that may lag behind another machine's writes for some seconds: right for showing a
// page, too long for deleting a customer's project when the one who asks lost the
// permission a moment ago. Fresh asks past every cache, for the price of one read,
// and answers by the rows as they are now, or with an error. Ask it last, just before
// the deed.
package main

import (
	"context"
	"log"
	"net/http"
	"sync"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"host"},
	ScopeTypes: []catalog.ScopeType{{Type: "host.project"}},
	Permissions: []catalog.PermissionSet{
		catalog.Group("host.projects", catalog.GroupInput{Label: "Projects", Scopes: []string{"host.project"}},
			catalog.Key("host.projects.read"), catalog.Key("host.projects.delete")),
	},
})

var rows = demo.Rows{Grants: []provider.GrantInput{
	{Subject: "everyone", Pattern: "host.projects.read"},
	{Subject: "user:ada", Pattern: "host.projects.*", Scope: "host.project:apollo"},
}}

// projects stands in for your database: names by id.
type projects struct{ sync.Map }

func main() {
	app, err := demo.Open(context.Background(), permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	var all projects
	all.Store("apollo", "Apollo")
	log.Println("try: curl -i -u ada: -X DELETE http://127.0.0.1:8084/projects/apollo")
	log.Fatal(http.ListenAndServe("127.0.0.1:8084", demo.SignIn(routes(app.Client(), &all))))
}

func routes(guard *client.Client, all *projects) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		may, err := guard.Can(r.Context(), demo.User(r), "host.projects.delete", "host.project:"+r.PathValue("id"))
		if err == nil && may {
			_, _ = w.Write([]byte("<button>Delete</button>\n"))
		}
	})
	mux.HandleFunc("DELETE /projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		may, err := guard.CanFresh(r.Context(), demo.User(r), "host.projects.delete", "host.project:"+r.PathValue("id"))
		switch {
		case err != nil:
			log.Print(err)
			http.Error(w, "nothing was deleted: try again later", http.StatusServiceUnavailable)
		case !may:
			http.Error(w, "not yours to delete", http.StatusForbidden)
		default:
			all.Delete(r.PathValue("id"))
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return mux
}
