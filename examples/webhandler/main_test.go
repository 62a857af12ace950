package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/examples/internal/demotest"
)

func TestRoutesAskForTheirPermission(t *testing.T) {
	site := demotest.Serve(t, routes(demotest.Open(t, permissions, rows).Client()))
	for _, c := range []struct {
		sentence, method, path, user string
		want                         int
	}{
		{"everyone reads", "GET", "/pages/home", "bob", http.StatusOK},
		{"who may update this page does", "PUT", "/pages/home", "ada", http.StatusNoContent},
		{"a permission at one page says nothing of another", "PUT", "/pages/other", "ada", http.StatusForbidden},
		{"who may only read is denied an update", "PUT", "/pages/home", "bob", http.StatusForbidden},
		{"who is not signed in is not even asked about", "GET", "/pages/home", "", http.StatusUnauthorized},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			if got, body := site.As(c.user).Do(c.method, c.path, nil); got != c.want {
				t.Errorf("%s %s as %q answered %d %q, want %d", c.method, c.path, c.user, got, body, c.want)
			}
		})
	}
}

func TestTheVisitorIsToldNoPermission(t *testing.T) {
	site := demotest.Serve(t, routes(demotest.Open(t, permissions, rows).Client()))
	if _, body := site.As("bob").Do("PUT", "/pages/home", nil); strings.Contains(body, "wiki.pages") {
		t.Errorf("the visitor is told what is for the log: %q", body)
	}
}

func TestAnOutageIsNoAnswer(t *testing.T) {
	app := demotest.Open(t, permissions, rows)
	site := demotest.Serve(t, routes(app.Client()))
	if err := app.CutOff(); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"ada", "bob"} {
		if got, body := site.As(user).Do("PUT", "/pages/home", nil); got != http.StatusServiceUnavailable {
			t.Errorf("%s was answered %d %q, want 503", user, got, body)
		}
	}
}
