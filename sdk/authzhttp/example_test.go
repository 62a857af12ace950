package authzhttp_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/access"
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
	mux.Handle("GET /folders", guard.SignedIn()(list(c, guard)))
	mux.Handle("GET /folders/{id}", guard.Require("docs.files.read", folder)(http.HandlerFunc(show)))
	mux.Handle("DELETE /folders/{id}", guard.RequireGate(authzhttp.Gate{
		Keys: []string{"docs.files.edit"}, Scope: folder, Fresh: true,
	})(http.HandlerFunc(remove)))
	return mux
}

// folders are those of the application, each with what lies above it.
var folders = map[string][]string{"1": nil, "2": {"docs.folder:1"}, "3": nil}

func list(c *client.Client, guard *authzhttp.Guard) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held, err := c.GrantedScopes(r.Context(), authzhttp.PrincipalOf(r.Context()), "docs.files.read")
		if err != nil {
			guard.Answer(w, r, err)
			return
		}
		plan := access.PlanListing(held.Granted, held.Revoked)
		for _, id := range slices.Sorted(maps.Keys(folders)) {
			if plan.Shows(authz.ScopeID("docs.folder", id), folders[id]...) {
				fmt.Fprintln(w, "folder", id)
			}
		}
	})
}

// found looks for a book in the database of the application before anybody asks about it.
func found(library func(ctx context.Context, title string) (id string, err error)) authzhttp.Scope {
	return authzhttp.ScopeFunc(func(r *http.Request) (string, error) {
		id, err := library(r.Context(), r.PathValue("title"))
		if errors.Is(err, sql.ErrNoRows) {
			return "", authzhttp.ErrNoResource
		}
		return authz.ScopeID("docs.folder", id), err
	})
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

func ExampleGuard_SignedIn() {
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "example", F: func(t *testing.T) {
		w := authztest.New(t, authztest.ParseCatalog(t, catalog), "grant user:ann docs.files.read docs.folder:1")
		for _, user := range []string{"ann", "ben", ""} {
			r := httptest.NewRequest("GET", "/folders", nil)
			if user != "" {
				r.SetBasicAuth(user, "")
			}
			answer := httptest.NewRecorder()
			routes(w.Client()).ServeHTTP(answer, r)
			fmt.Printf("%d %q\n", answer.Code, answer.Body)
		}
	}}})
	// Output:
	// 200 "folder 1\nfolder 2\n"
	// 200 ""
	// 401 "{\"title\":\"Unauthorized\",\"status\":401}\n"
}

func ExampleScopeFunc() {
	of := found(func(_ context.Context, title string) (string, error) {
		if title != "dune" {
			return "", sql.ErrNoRows
		}
		return "1", nil
	})
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "example", F: func(t *testing.T) {
		w := authztest.New(t, authztest.ParseCatalog(t, catalog), "grant user:ann docs.files.read docs.folder:1")
		guard := authzhttp.New(authzhttp.Options{Client: w.Client(), Principal: func(*http.Request) (authz.Principal, error) { return authz.UserPrincipal("ann"), nil }})
		mux := http.NewServeMux()
		mux.Handle("GET /books/{title}", guard.Require("docs.files.read", of)(http.HandlerFunc(remove)))
		for _, title := range []string{"dune", "emma"} {
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequest("GET", "/books/"+title, nil))
			fmt.Println(answer.Code)
		}
	}}})
	// Output:
	// 204
	// 404
}
