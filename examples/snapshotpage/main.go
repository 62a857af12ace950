// Snapshotpage renders a page on the server. The handler takes one snapshot a
// request; the template then asks it directly, as often as it likes: without I/O,
// and with every answer from the same instant, so that no page is half old. Can
// shows the button of one order, CanAny an entry of the menu, HeldKeys is what a
// script in the page may be told. Hiding a button guards nothing: the handler behind
// it calls Require (see webhandler).
package main

import (
	"bytes"
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"shop"},
	ScopeTypes: []catalog.ScopeType{{Type: "shop.store"}, {Type: "shop.order", Parent: "shop.store"}},
	Permissions: []catalog.PermissionSet{
		catalog.Group("shop.orders", catalog.GroupInput{Label: "Orders", Scopes: []string{"shop.store", "shop.order"}},
			catalog.Key("shop.orders.read"), catalog.Key("shop.orders.refund_order")),
		catalog.Group("shop.reports", catalog.GroupInput{Label: "Reports", Scopes: []string{"shop.store"}},
			catalog.Key("shop.reports.read"), catalog.Key("shop.reports.export")),
	},
})

var rows = demo.Rows{
	Parents: map[string][]string{"shop.order:17": {"shop.store:oslo"}, "shop.order:18": {"shop.store:rome"}},
	Grants: []provider.GrantInput{
		{Subject: "everyone", Pattern: "shop.orders.read"},
		{Subject: "user:ada", Pattern: "shop.*", Scope: "shop.store:oslo"},
	},
}

var page = template.Must(template.New("orders").Parse(`<!doctype html><title>Orders</title>
<nav><a href="/">Orders</a>{{if .May.CanAny "shop.reports.*"}} <a href="/reports">Reports</a>{{end}}</nav>
<ul>{{range .Orders}}
<li>{{.}}{{if $.May.Can "shop.orders.refund_order" .}} <button name="refund" value="{{.}}">Refund</button>{{end}}</li>{{end}}
</ul>
<script>const held = {{.May.HeldKeys}}</script>
`))

func main() {
	app, err := demo.Open(context.Background(), permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("open http://127.0.0.1:8082 as ada, who works in Oslo, or as anybody else")
	log.Fatal(http.ListenAndServe("127.0.0.1:8082", demo.SignIn(orders(app.Client()))))
}

func orders(guard *client.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		orders := []string{"shop.order:17", "shop.order:18"} // what your database has
		may, err := guard.Snapshot(r.Context(), demo.User(r), client.SnapshotOptions{Scopes: orders})
		if err != nil {
			http.Error(w, "who may do what cannot be told now", http.StatusServiceUnavailable)
			return
		}
		var html bytes.Buffer // a mistyped key fails the template: that must not leave half a page
		if err := page.Execute(&html, map[string]any{"May": may, "Orders": orders}); err != nil {
			log.Print(err)
			http.Error(w, "this page is broken", http.StatusInternalServerError)
			return
		}
		_, _ = html.WriteTo(w)
	}
}
