package goanalysis

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
)

// withoutGate are the handlers of this project that ask for no permission where
// they stand, by the file of each.
var withoutGate = []string{
	"examples/snapshotpage/main.go",   // the template asks the snapshot
	"examples/viewas/main.go",         // keeps a choice in a cookie, which the session judges
	"host/api/dashboard/dashboard.go", // its files are public
	"host/api/dashboard/dashboard.go", // serve sends one of them
	"host/api/hosted/api.go",          // its table names the gate of every endpoint
	"host/api/health.go",              // healthz
	"host/api/health.go",              // readyz
	"host/api/local.go",               // the administration socket: who may open it decides
	"host/api/provider.go",            // authenticates by the application's secret
}

// TestThisProjectHasNoFalseReport judges the main module by the sample's catalog.
// Its examples and the hosted service (cloud) have catalogs of their own, whose namespaces are exempt, and its
// servers have handlers that are no application's: each is listed.
func TestThisProjectHasNoFalseReport(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	declaration, err := catalog.Load(filepath.Join(root, "examples/acme/catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(declaration)
	if err != nil {
		t.Fatal(err)
	}
	checker, err := New(Settings{
		Catalog: cat, Dir: root,
		GateNames:           []string{"require"}, // examples/webhandler's own
		ImplicitImportAllow: []string{"wiki", "host", "money", "mail", "cloud", authz.InternalNamespace},
	})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := checker.Scan(context.Background(), root, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) < 300 {
		t.Fatalf("only %d files were read", len(reports))
	}
	expected := slices.Clone(withoutGate)
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Severity != authz.SeverityError {
				continue
			}
			if i := slices.Index(expected, f.File); i >= 0 && f.Rule == verify.RuleUngatedAction {
				expected = slices.Delete(expected, i, i+1)
				continue
			}
			t.Errorf("%s:%d [%s] %s", f.File, f.Line, f.Rule, f.Message)
		}
	}
	if len(expected) > 0 {
		t.Errorf("these serve without a gate and were not found: %q", expected)
	}
}
