package main

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/examples/internal/demotest"
	"github.com/authzhost/authz/sdk/provider"
)

func open(t *testing.T) (*demo.App, demotest.Site) {
	t.Helper()
	app := demotest.Open(t, permissions, rows)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /view-as", viewAs)
	mux.Handle("GET /", home(app.Client()))
	return app, demotest.Serve(t, mux)
}

// choose sends the form of the page.
func choose(t *testing.T, v demotest.Visitor, as string) {
	t.Helper()
	if status, body := v.Do("POST", "/view-as", url.Values{"as": {as}}); status != http.StatusSeeOther {
		t.Fatalf("choosing %q answered %d %q", as, status, body)
	}
}

func reads(t *testing.T, v demotest.Visitor, want string) {
	t.Helper()
	if status, body := v.Do("GET", "/", nil); status != http.StatusOK || body != want+"\n" {
		t.Errorf("the page answered %d %q, want %q", status, body, want)
	}
}

func TestAnAdministratorLooksThroughAnothersEyesAndComesBack(t *testing.T) {
	_, site := open(t)
	ada := site.As("ada")
	reads(t, ada, "ada looks at the mail of ada; may send: true")
	choose(t, ada, "role:reader")
	reads(t, ada, "ada looks at the mail of ada; may send: false")
	choose(t, ada, "user:bob")
	reads(t, ada, "ada looks at the mail of bob; may send: true")
	choose(t, ada, "user:b;ö, \"b")
	reads(t, ada, "ada looks at the mail of b;ö, \"b; may send: false")
	choose(t, ada, "")
	reads(t, ada, "ada looks at the mail of ada; may send: true")
}

func TestAMalformedCookieIsNoPreview(t *testing.T) {
	_, site := open(t)
	for _, value := range []string{"nobody", "user:", "%zz", "org:acme"} {
		ada := site.As("ada")
		ada.Cookie("view_as", value)
		reads(t, ada, "ada looks at the mail of ada; may send: true")
	}
}

func TestWhoMayNotPreviewIsLedBackToTheirOwn(t *testing.T) {
	_, site := open(t)
	bob := site.As("bob")
	bob.Cookie("view_as", url.QueryEscape("user:ada"))
	if status, body := bob.Do("GET", "/", nil); status != http.StatusSeeOther {
		t.Errorf("bob's forged cookie answered %d %q", status, body)
	}
	reads(t, bob, "bob looks at the mail of bob; may send: true")
}

func TestAPreviewEndsWithThePermission(t *testing.T) {
	app, site := open(t)
	ada := site.As("ada")
	choose(t, ada, "user:bob")
	reads(t, ada, "ada looks at the mail of bob; may send: true")
	if _, err := app.CreateRevoke(t.Context(), provider.RevokeInput{UserID: "ada", Pattern: "authz_internal.*"}, demo.Setup); err != nil {
		t.Fatal(err)
	}
	if status, body := ada.Do("GET", "/", nil); status != http.StatusSeeOther {
		t.Errorf("a preview without the permission answered %d %q", status, body)
	}
	reads(t, ada, "ada looks at the mail of ada; may send: true")
}

func TestAPreviewNeverWidens(t *testing.T) {
	app, site := open(t)
	if _, err := app.CreateRevoke(t.Context(), provider.RevokeInput{UserID: "ada", Pattern: "mail.inbox.send_mail"}, demo.Setup); err != nil {
		t.Fatal(err)
	}
	ada := site.As("ada")
	choose(t, ada, "user:bob")
	reads(t, ada, "ada looks at the mail of bob; may send: false")
}
