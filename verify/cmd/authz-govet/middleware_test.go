package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVetAndInitKnowAuthzsOwnMiddleware: gates of a gRPC server that one package
// declares, and another one builds it with.
func TestVetAndInitKnowAuthzsOwnMiddleware(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testdata := filepath.Join(root, "verify/goanalysis/testdata")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "middleware"))); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "go.mod"), "../../../..", root)
	config := filepath.Join(dir, "authz-verify.config.json")
	text := `{"catalog": "` + filepath.Join(testdata, "docs.catalog.json") + `", "importManifest": "` + filepath.Join(testdata, "docs.imports.json") + `", "go": {"routes": {}}}`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const opened = "gates[docspb.Docs_About_FullMethodName] = authzgrpc.Public()"
	rpc := filepath.Join(dir, "rpc/rpc.go")
	replace(t, rpc, opened, "open.Methods(gates)")
	replace(t, rpc, `"example.com/files/rpc/docspb"`, "\"example.com/files/open\"\n\t\"example.com/files/rpc/docspb\"")
	if err := os.Mkdir(filepath.Join(dir, "open"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "open/open.go"), []byte("package open\n\nimport (\n\t\"github.com/authzhost/authz/sdk/authzgrpc\"\n\n\t\"example.com/files/rpc/docspb\"\n)\n\n"+
		"func Methods(gates authzgrpc.Gates) { "+opened+" }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, code := vet(t, dir, nil, "./..."); code != 0 {
		t.Errorf("go vet: exit %d\n%s", code, said)
	}
	if said, code := in(t, dir, nil, tool, "./..."); code != 0 || said != "8 server functions: 7 gated, 1 exempt, 0 findings, 0 not followed\n" {
		t.Errorf("exit %d\n%s", code, said)
	}
	replace(t, rpc, "logged, guard.Unary", "logged")
	said, code := vet(t, dir, nil, "./...")
	if diff := cmp.Diff([]string{"About /Docs/About", "Read /Docs/Read", "Write /Docs/Write"}, served(said)); code == 0 || diff != "" {
		t.Errorf("go vet without Unary: exit %d\n%s", code, diff)
	}
	if said, code := in(t, dir, nil, tool, "init", "--force"); code != 0 {
		t.Fatalf("exit %d\n%s", code, said)
	}
	proposed, err := os.ReadFile(config)
	if err != nil || !strings.Contains(string(proposed), "Gates without being named: (github.com/authzhost/authz/sdk/authzhttp.Guard).Require, ") ||
		!strings.Contains(string(proposed), "Not taken for gates: example.com/files/web.logged, example.com/files/rpc.logged.") {
		t.Errorf("%v\n%s", err, proposed)
	}
}
