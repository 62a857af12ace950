package main

import (
	"html/template"
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/examples/internal/demotest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestThePageShowsWhatTheVisitorMayDo(t *testing.T) {
	site := demotest.Serve(t, orders(demotest.Open(t, permissions, rows).Client()))
	for _, c := range []struct {
		sentence, user string
		shown, hidden  []string
	}{
		{"ada refunds in her own store, and has its reports in the menu", "ada",
			[]string{`value="shop.order:17">Refund`, `href="/reports"`,
				`const held = ["shop.orders.read","shop.orders.refund_order","shop.reports.export","shop.reports.read"]`},
			[]string{`value="shop.order:18">Refund`}},
		{"bob reads orders and is shown no button", "bob",
			[]string{"shop.order:17", "shop.order:18", `const held = ["shop.orders.read"]`},
			[]string{"Refund", "/reports"}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			status, body := site.As(c.user).Do("GET", "/", nil)
			if status != http.StatusOK {
				t.Fatalf("answered %d: %s", status, body)
			}
			for _, text := range c.shown {
				if !strings.Contains(body, text) {
					t.Errorf("the page lacks %q:\n%s", text, body)
				}
			}
			for _, text := range c.hidden {
				if strings.Contains(body, text) {
					t.Errorf("the page shows %q:\n%s", text, body)
				}
			}
		})
	}
}

var refundInRome = provider.GrantInput{Subject: "user:bob", Pattern: "shop.orders.refund_order", Scope: "shop.store:rome"}

func TestTheNextRequestSeesANewGrant(t *testing.T) {
	app := demotest.Open(t, permissions, rows)
	bob := demotest.Serve(t, orders(app.Client())).As("bob")
	if _, body := bob.Do("GET", "/", nil); strings.Contains(body, "Refund") {
		t.Fatalf("bob may refund before he was granted it:\n%s", body)
	}
	if _, err := app.CreateGrant(t.Context(), refundInRome, authz.AdminProvenance("ada")); err != nil {
		t.Fatal(err)
	}
	if _, body := bob.Do("GET", "/", nil); !strings.Contains(body, `value="shop.order:18">Refund`) {
		t.Errorf("the next page does not have the button:\n%s", body)
	}
}

func TestAMistypedKeyInTheTemplateIsNoHalfPage(t *testing.T) {
	site := demotest.Serve(t, orders(demotest.Open(t, permissions, rows).Client()))
	good := page
	t.Cleanup(func() { page = good })
	page = template.Must(template.New("orders").Parse(`<h1>Orders</h1>{{if .May.Can "shop.orders.refnd_order" ""}}{{end}}`))
	status, body := site.As("ada").Do("GET", "/", nil)
	if status != http.StatusInternalServerError || strings.Contains(body, "<h1>") {
		t.Errorf("answered %d: %s", status, body)
	}
}

func TestAnOutageShowsNoPage(t *testing.T) {
	app := demotest.Open(t, permissions, rows)
	site := demotest.Serve(t, orders(app.Client()))
	if err := app.CutOff(); err != nil {
		t.Fatal(err)
	}
	if status, body := site.As("ada").Do("GET", "/", nil); status != http.StatusServiceUnavailable || strings.Contains(body, "<nav>") {
		t.Errorf("answered %d: %s", status, body)
	}
}
