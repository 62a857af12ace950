package main

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"docs"},
	ScopeTypes: []catalog.ScopeType{{Type: "docs.folder", Parent: "docs.folder"}, {Type: "docs.doc", Parent: "docs.folder"}},
	Permissions: []catalog.PermissionSet{
		catalog.Group("docs.files", catalog.GroupInput{Label: "Files", Scopes: []string{"docs.folder", "docs.doc"}},
			catalog.Key("docs.files.read"), catalog.Key("docs.files.update")),
	},
})

var rows = demo.Rows{
	Parents: map[string][]string{
		"docs.folder:staff": {}, "docs.folder:pay": {"docs.folder:staff"}, "docs.folder:Staff": {},
		"docs.doc:handbook": {"docs.folder:staff"}, "docs.doc:salaries": {"docs.folder:pay"},
		"docs.doc:stick": {"docs.folder:Staff"}, "docs.doc:note": {},
	},
	Grants: []provider.GrantInput{
		{Subject: "user:ada", Pattern: "docs.files.*"},
		{Subject: "user:bob", Pattern: "docs.files.read", Scope: "docs.folder:staff"},
		{Subject: "user:bob", Pattern: "docs.files.read", Scope: "docs.doc:note"},
	},
	Revokes: []provider.RevokeInput{{UserID: "bob", Pattern: "docs.*", Scope: "docs.folder:pay"}},
}

func main() {
	ctx := context.Background()
	app, err := demo.Open(ctx, permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	db, err := openDocuments(ctx, "file::memory:?_pragma=case_sensitive_like(1)", rows.Parents)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("try: curl -u bob: http://127.0.0.1:8083/documents")
	http.Handle("GET /documents", documents(app.Client(), db, byAncestry))
	log.Fatal(http.ListenAndServe("127.0.0.1:8083", demo.SignIn(http.DefaultServeMux)))
}

// openDocuments makes the table that is listed, and beside it the two forms of
// ancestry: the path of a row with a single parent at each level, and the closure,
// every row's ancestors with the row itself.
func openDocuments(ctx context.Context, dsn string, parents map[string][]string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	_, err = db.ExecContext(ctx, `
		CREATE TABLE documents (scope TEXT PRIMARY KEY, path TEXT NOT NULL);
		CREATE TABLE ancestry (ancestor TEXT NOT NULL, scope TEXT NOT NULL, PRIMARY KEY (scope, ancestor)) WITHOUT ROWID;`)
	if err != nil {
		return nil, err
	}
	return db, fill(ctx, db, parents)
}

func fill(ctx context.Context, db *sql.DB, parents map[string][]string) error {
	for scope := range parents {
		path, level := "/", []string{scope}
		for len(level) > 0 {
			path = "/" + strings.Join(level, "/") + path
			var above []string
			for _, ancestor := range level {
				if _, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO ancestry VALUES (?, ?)", ancestor, scope); err != nil {
					return err
				}
				above = append(above, parents[ancestor]...)
			}
			level = above
		}
		if _, err := db.ExecContext(ctx, "INSERT INTO documents VALUES (?, ?)", scope, path); err != nil {
			return err
		}
	}
	return nil
}

func query(ctx context.Context, db *sql.DB, text string, params []any) ([]string, error) {
	result, err := db.QueryContext(ctx, text, params...)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	var scopes []string
	for result.Next() {
		var scope string
		if err := result.Scan(&scope); err != nil {
			return nil, err
		}
		scopes = append(scopes, scope)
	}
	return scopes, result.Err()
}
