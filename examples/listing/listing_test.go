package main

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/examples/internal/demotest"
)

// exact makes LIKE tell "a" from "A" on every connection.
const exact = "file::memory:?_pragma=case_sensitive_like(1)"

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := openDocuments(t.Context(), dsn, rows.Parents)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

var filters = map[string]filter{"closure": byAncestry, "path": byPath}

func TestTheListIsWhatTheVisitorMayRead(t *testing.T) {
	app := demotest.Open(t, permissions, rows)
	for name, below := range filters {
		site := demotest.Serve(t, documents(app.Client(), open(t, exact), below))
		for _, c := range []struct{ sentence, user, want string }{
			{"ada reads everything", "ada", "docs.doc:handbook docs.doc:note docs.doc:salaries docs.doc:stick docs.folder:Staff docs.folder:pay docs.folder:staff"},
			{"bob reads a folder but for what he was revoked below it, and one document", "bob", "docs.doc:handbook docs.doc:note docs.folder:staff"},
			{"eve reads nothing", "eve", ""},
		} {
			t.Run(c.sentence+", by "+name, func(t *testing.T) {
				status, body := site.As(c.user).Do("GET", "/documents", nil)
				if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(body)); status != http.StatusOK || diff != "" {
					t.Errorf("answered %d (-want +got)\n%s", status, diff)
				}
			})
		}
	}
}

func TestAPathFilterNeedsACaseSensitiveLike(t *testing.T) {
	careless := open(t, "file::memory:")
	bob := func(below filter) string {
		_, body := demotest.Serve(t, documents(demotest.Open(t, permissions, rows).Client(), careless, below)).As("bob").Do("GET", "/documents", nil)
		return body
	}
	if list := bob(byPath); !strings.Contains(list, "docs.folder:Staff") {
		t.Errorf("SQLite's LIKE has become case-sensitive: the advice of this example is out of date\n%s", list)
	}
	if list := bob(byAncestry); strings.Contains(list, "docs.folder:Staff") {
		t.Errorf("the closure table lists another folder's documents\n%s", list)
	}
}

func TestAnOutageListsNothing(t *testing.T) {
	app := demotest.Open(t, permissions, rows)
	site := demotest.Serve(t, documents(app.Client(), open(t, exact), byAncestry))
	if err := app.CutOff(); err != nil {
		t.Fatal(err)
	}
	if status, body := site.As("ada").Do("GET", "/documents", nil); status != http.StatusServiceUnavailable || strings.Contains(body, "docs.") {
		t.Errorf("answered %d %q", status, body)
	}
}
