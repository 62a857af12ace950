package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/examples/internal/demo/database"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

// told is what the program prints, over whatever database.
const told = `1. The rows of an owner decide what others import of it.
docs: may jane billing.invoices.read? false
docs: may jane billing.invoices.read? true, by grant mesh:billing:billing-3
docs: may ada docs.files.read? false
2. Writing at a neighbour takes an edge, and is the neighbour's own operation.
refused: no_mesh_edge: the edge from "docs" to "billing" permits reading, not writing
billing's audit log: mesh:hq/m.reyes grant.create hq-visit-2
refused: validation: pattern "docs.files.read" references nothing in the catalog — did you mean "billing.invoices.read"? (the first segment "docs" is not a namespace of this catalog — declared namespaces: billing, authz_internal. If this permission belongs to another application, declare it in the catalog's ` + "`imports`" + `)
3. hq takes over the organization, and each member reads it there.
billing/widens:incoming:grant:billing-5: narrow
widens:current:grant:hq-2: accept
moved to hq: 1 role, 4 global grants
docs: may ada docs.files.read? false
refused: not_org_root: user provisioning is organizational-domain data: this Application is not the org root and holds it as a read model
docs: may jane billing.invoices.read? true, by grant billing-3
docs: may jane billing.invoices.read? false, by grant billing-3, because the user is inactive
billing: may jane billing.invoices.read? false, by grant billing-3, because the user is inactive
`

func tells(t *testing.T, driver string, at database.At) {
	t.Helper()
	var out bytes.Buffer
	if err := tour(t.Context(), at, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("The company is in "+driver+".\n"+told, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestOverAFile(t *testing.T) {
	at := database.At{File: filepath.Join(t.TempDir(), "company.db")}
	tells(t, "sqlite", at)

	// Whoever runs it again over the same database does not lose its mesh.
	err := tour(t.Context(), at, &bytes.Buffer{})
	var e *authz.MeshError
	if !errors.As(err, &e) || e.Code != authz.MeshRegistryConflict {
		t.Errorf("a second run over one database: %v", err)
	}
}

func TestOverAFileForTheTimeOfTheRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	tells(t, "sqlite", database.At{})
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestOverPostgreSQL(t *testing.T) {
	tells(t, "postgres", database.At{DSN: postgrestest.Database(t)})
}

func TestTheVocabulariesAreFreeOfLint(t *testing.T) {
	for name, c := range vocabularies {
		for _, issue := range catalog.Lint(c) {
			t.Errorf("%s: %s: %s", name, issue.Path, issue.Message)
		}
	}
}
