package authztest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

func Example() {
	test := func(t *testing.T) {
		w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), `
			role  editor docs.files.*
			grant user:ann role editor docs.folder:1`)
		w.Can("user:ann", "docs.files.edit", "docs.folder:1")
		w.Cannot("user:ben", "docs.files.edit", "docs.folder:1")
	}
	passes(test)
	// Output: ok
}

func ExampleWorld_WhoCan() {
	test := func(t *testing.T) {
		w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), `
			role   editor docs.files.*
			group  staff
			user   ann groups staff
			user   ben groups staff
			scope  docs.doc:plan parents docs.folder:team
			grant  group:staff role editor docs.folder:team
			revoke ben docs.files.edit docs.doc:plan`)
		w.WhoCan("docs.files.edit", "docs.doc:plan", "user:ann")
		w.WhereCan("user:ben", "docs.files.edit", "docs.folder:team")
		w.WhatCan("user:ben", "docs.doc:plan", "docs.files.read")
		w.Reason("user:ben", "docs.files.edit", "docs.doc:plan", provider.ReasonRevoked)
	}
	passes(test)
	// Output: ok
}

func ExampleWorld_Advance() {
	test := func(t *testing.T) {
		w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), `
			grant user:ann docs.files.edit docs.folder:1 until 8h`)
		w.Can("user:ann", "docs.files.edit", "docs.folder:1")
		w.Advance(9 * time.Hour)
		w.Reason("user:ann", "docs.files.edit", "docs.folder:1", provider.ReasonExpired)
	}
	passes(test)
	// Output: ok
}

func ExampleWorld_Apply() {
	test := func(t *testing.T) {
		w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), "")
		w.Apply("testdata/access.yaml")
		w.Write("user ann groups writers")
		w.Can("user:ann", "docs.files.edit", "docs.folder:team")
	}
	passes(test)
	// Output: ok
}

func ExampleWorld_Client() {
	test := func(t *testing.T) {
		w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), "grant user:ann docs.files.* docs.folder:1")
		handler := folders(w.Client()) // of your program
		for user, want := range map[string]int{"ann": http.StatusOK, "ben": http.StatusForbidden} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("GET", "/folders/1?as="+user, nil))
			if answer.Code != want {
				t.Errorf("%s is answered %d, want %d", user, answer.Code, want)
			}
		}
		w.CutOff() // an outage is no answer
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", "/folders/1?as=ann", nil))
		if answer.Code != http.StatusServiceUnavailable {
			t.Errorf("in an outage ann is answered %d", answer.Code)
		}
	}
	passes(test)
	// Output: ok
}

func folders(c *client.Client) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /folders/{id}", func(rw http.ResponseWriter, r *http.Request) {
		who := authz.UserPrincipal(r.FormValue("as")) // of your login
		switch ok, err := c.Can(r.Context(), who, "docs.files.read", "docs.folder:"+r.PathValue("id")); {
		case err != nil:
			rw.WriteHeader(http.StatusServiceUnavailable)
		case !ok:
			rw.WriteHeader(http.StatusForbidden)
		}
	})
	return mux
}
