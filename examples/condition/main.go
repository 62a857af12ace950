// Condition adds the application's own judgement to a check. Some things are not a
// matter of grants: here, that nobody approves an expense of their own, or one that
// the auditors hold. The catalog declares the key requiresCondition, so that no gate
// can forget: one without a condition is an *authz.MissingConditionError. It runs
// last, once the rows allow; it can take away, never give. Its error is no answer.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"money"},
	ScopeTypes: []catalog.ScopeType{{Type: "money.team"}},
	Permissions: []catalog.PermissionSet{catalog.Leaves(catalog.Key("money.expenses.read"),
		catalog.Permission{Key: "money.expenses.approve", Scopes: []string{"money.team"}, RequiresCondition: true},
	)},
})

var rows = demo.Rows{Grants: []provider.GrantInput{
	{Subject: "user:ada", Pattern: "money.expenses.approve", Scope: "money.team:sales"},
	{Subject: "user:bob", Pattern: "money.expenses.approve", Scope: "money.team:sales"},
}}

type expense struct{ By, Team string }

// What stands in for your database, and for the auditors' own system.
var expenses = map[string]expense{"1": {By: "ada", Team: "money.team:sales"}, "2": {By: "bob", Team: "money.team:sales"}}

func audited(context.Context, expense) (bool, error) { return true, nil }

func main() {
	app, err := demo.Open(context.Background(), permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("try: curl -i -u bob: -X POST http://127.0.0.1:8085/expenses/1/approval, and /2/")
	http.Handle("POST /expenses/{id}/approval", approve(app.Client(), audited))
	log.Fatal(http.ListenAndServe("127.0.0.1:8085", demo.SignIn(http.DefaultServeMux)))
}

func approve(guard *client.Client, audited func(context.Context, expense) (bool, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, found := expenses[r.PathValue("id")]
		if !found {
			http.NotFound(w, r)
			return
		}
		user := demo.User(r)
		err := guard.RequireGate(r.Context(), user, client.Gate{
			Keys: []string{"money.expenses.approve"}, Scope: e.Team,
			Condition: func(ctx context.Context) (bool, error) {
				if e.By == user.UserID {
					return false, nil
				}
				return audited(ctx, e)
			},
		})
		var denied *authz.AccessDeniedError
		switch {
		case errors.As(err, &denied):
			http.Error(w, "not yours to approve", http.StatusForbidden)
		case err != nil:
			log.Print(err)
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
}
