// Listing shows the documents that a visitor may read, filtered by the database: no
// row is fetched to be denied, and pages and counts come out right. GrantedScopes says
// where the key is granted and revoked, PlanListing makes a plan of it, and a filter
// puts each half of the plan into SQL, ids as parameters: ClosureFilter over a table of
// every row's ancestors, PathFilter over a column that holds a row's path. SQLite's LIKE
// takes docs.folder:a for docs.folder:A and would list another folder's documents, so
// that a path filter needs _pragma=case_sensitive_like(1) there, on every connection
// (see main.go); the closure table compares with = and needs nothing.
package main

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"strings"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// A filter matches the documents at or below one of the scopes. Choose one.
type filter func(scopes []string) (access.SQL, error)

func byAncestry(scopes []string) (access.SQL, error) {
	return access.ClosureFilter(scopes, access.ClosureOptions{
		ClosureTable: "ancestry", AncestorColumn: "ancestor", DescendantColumn: "scope", RowIDExpr: "documents.scope",
	})
}

func byPath(scopes []string) (access.SQL, error) {
	return access.PathFilter(scopes, access.PathOptions{PathColumn: "documents.path"})
}

func documents(guard *client.Client, db *sql.DB, below filter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scopes, err := list(r.Context(), guard, db, demo.User(r), "docs.files.read", below)
		if err != nil {
			log.Print(err)
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(strings.Join(scopes, "\n") + "\n"))
	}
}

// list answers the scopes of the documents at which the user holds the key.
func list(ctx context.Context, guard *client.Client, db *sql.DB, user authz.Principal, key string, below filter) ([]string, error) {
	where, err := guard.GrantedScopes(ctx, user, key)
	if err != nil {
		return nil, err
	}
	plan := access.PlanListing(where.Granted, where.Revoked)
	shown := access.SQL{Text: "TRUE"}
	switch plan.Mode {
	case access.ListNone:
		return nil, nil
	case access.ListScoped:
		shown, err = below(plan.Include)
	}
	if err != nil {
		return nil, err
	}
	hidden, err := below(plan.Exclude)
	if err != nil {
		return nil, err
	}
	return query(ctx, db, "SELECT scope FROM documents WHERE "+shown.Text+" AND NOT "+hidden.Text+" ORDER BY scope",
		append(shown.Params, hidden.Params...))
}
