package authzhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
)

func routes(c *client.Client) http.Handler {
	guard := authzhttp.New(authzhttp.Options{
		Client: c,
		Principal: func(r *http.Request) (authz.Principal, error) {
			name, _, _ := r.BasicAuth() // your session or token instead
			return authz.UserPrincipal(name), nil
		},
	})
	folder := authzhttp.ScopeFromPath("docs.folder", "id")

	mux := http.NewServeMux()
	mux.Handle("GET /folders/{id}", guard.Require("docs.files.read", folder)(http.HandlerFunc(show)))
	mux.Handle("DELETE /folders/{id}", guard.RequireGate(authzhttp.Gate{
		Keys: []string{"docs.files.edit"}, Scope: folder, Fresh: true,
	})(http.HandlerFunc(remove)))
	return mux
}

func show(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "the folder %s for %s", r.PathValue("id"), authzhttp.PrincipalOf(r.Context()))
}

func remove(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func ExampleGuard_Require() {
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "example", F: func(t *testing.T) {
		w := authztest.New(t, authztest.ParseCatalog(t, catalog), "grant user:ann docs.files.read docs.folder:1")
		for _, user := range []string{"ann", "ben", ""} {
			r := httptest.NewRequest("GET", "/folders/1", nil)
			if user != "" {
				r.SetBasicAuth(user, "")
			}
			answer := httptest.NewRecorder()
			routes(w.Client()).ServeHTTP(answer, r)
			fmt.Println(answer.Code, answer.Body)
		}
	}}})
	// Output:
	// 200 the folder 1 for user:ann
	// 403 {"title":"Forbidden","status":403}
	//
	// 401 {"title":"Unauthorized","status":401}
}
