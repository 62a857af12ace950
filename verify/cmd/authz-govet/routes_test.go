package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shop is a project with handlers in one package and their routes in another.
func shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testdata, err := filepath.Abs("../../goanalysis/testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "gated"))); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "go.mod"), "../routes/stubs", filepath.Join(testdata, "routes/stubs"))
	catalog, err := os.ReadFile(filepath.Join(testdata, "docs.catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"docs.catalog.json": string(catalog),
		"authz-verify.config.json": `{"catalog": "docs.catalog.json", "gateNames": ["may", "can"], "go": {"routes": {"gates": [
			"RequirePermission", "requireUser", "RequireUser", "RequireRole", "userOnly", "keyOnly", "requireUnary", "requireStream"]}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var handlerRE = regexp.MustCompile(`server function "(\w+)" \(([^)]*)\)`)

// served are the handlers that a run reports, with their routes.
func served(said string) []string {
	var all []string
	for _, m := range handlerRE.FindAllStringSubmatch(said, -1) {
		all = append(all, m[1]+" "+m[2])
	}
	slices.Sort(all)
	return all
}

func TestFactsCrossPackagesUnderVetAndAlone(t *testing.T) {
	dir := shop(t)
	for name, ask := range map[string]func() (string, int){
		"go vet":      func() (string, int) { return vet(t, dir, nil, "./...") },
		"stand-alone": func() (string, int) { return in(t, dir, nil, tool, "./...") },
		"with -fix":   func() (string, int) { return in(t, dir, nil, tool, "-fix", "./...") },
	} {
		if said, code := ask(); code != 0 {
			t.Errorf("%s: exit %d\n%s", name, code, said)
		}
	}
	replace(t, filepath.Join(dir, "web/chi.go"), "r.Use(requireUser) // before handlers.Routes", "")
	replace(t, filepath.Join(dir, "handlers/handlers.go"), `if !may(r, "docs.files.read") {`, "if r.Body == nil {")
	want := []string{"Asks GET /apart", "read GET /read"}
	for name, ask := range map[string]func() (string, int){
		"go vet":      func() (string, int) { return vet(t, dir, nil, "./...") },
		"stand-alone": func() (string, int) { return in(t, dir, nil, tool, "./...") },
	} {
		said, code := ask()
		if diff := cmp.Diff(want, served(said)); diff != "" || code == 0 {
			t.Errorf("%s: exit %d\n%s\n%s", name, code, diff, said)
		}
	}
}

func TestTheStandAloneReportEndsWithWhatWasJudged(t *testing.T) {
	dir := shop(t)
	said, _ := in(t, dir, nil, tool, "./...")
	if lines := strings.Split(strings.TrimSpace(said), "\n"); lines[len(lines)-1] != "26 server functions: 26 gated, 0 exempt, 0 findings, 0 not followed" {
		t.Errorf("it ends with %q", lines[len(lines)-1])
	}
	replace(t, filepath.Join(dir, "web/gin.go"), `g.Group("/docs", auth.RequireUser)`, `g.Group("/docs")`)
	said, code := in(t, dir, nil, tool, "-json", "./...")
	var report struct {
		Findings []struct {
			Rule, File, Message string
			Line                int
		}
		ServerFunctions map[string]int
	}
	if err := json.Unmarshal([]byte(said), &report); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s", code, err, said)
	}
	want := map[string]int{"total": 26, "gated": 24, "exempt": 0, "findings": 2, "notFollowed": 0}
	if diff := cmp.Diff(want, report.ServerFunctions); diff != "" || len(report.Findings) != 2 || report.Findings[0].File != "web/gin.go" {
		t.Errorf("%s\n%s", diff, said)
	}
}

func TestAnUnknownMemberIsRefusedWithASuggestion(t *testing.T) {
	dir := shop(t)
	replace(t, filepath.Join(dir, "authz-verify.config.json"), `"gates"`, `"gate"`)
	for name, ask := range map[string]func() (string, int){
		"go vet":      func() (string, int) { return vet(t, dir, nil, "./...") },
		"stand-alone": func() (string, int) { return in(t, dir, nil, tool, "./...") },
	} {
		if said, code := ask(); code == 0 || !strings.Contains(said, `did you mean "gates"?`) {
			t.Errorf("%s: exit %d\n%s", name, code, said)
		}
	}
}

func TestInitProposesWhatRefusesAsGates(t *testing.T) {
	dir := shop(t)
	config := filepath.Join(dir, "authz-verify.config.json")
	if said, code := in(t, dir, nil, tool, "init"); code == 0 || !strings.Contains(said, "--force") {
		t.Errorf("a configuration is replaced: exit %d\n%s", code, said)
	}
	replace(t, filepath.Join(dir, "web/gates.go"), "func requireUser(next http.Handler) http.Handler { return next }",
		"func requireUser(next http.Handler) http.Handler {\n\treturn http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {\n"+
			"\t\tif r.Header.Get(\"X-User\") == \"\" {\n\t\t\tw.WriteHeader(http.StatusUnauthorized)\n\t\t\treturn\n\t\t}\n\t\tnext.ServeHTTP(w, r)\n\t})\n}")
	said, code := in(t, dir, nil, tool, "init", "--force")
	for _, want := range []string{"gin: 4 registrations\n", "* example.com/gated/web.requireUser, 7 times: it answers 401 or 403\n",
		"  example.com/gated/web.logged, 3 times: it refuses nobody that can be seen\n"} {
		if code != 0 || !strings.Contains(said, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, said)
		}
	}
	var proposed struct {
		Catalog string
		Go      struct {
			Routes struct{ Gates, Public []string }
		}
	}
	text, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(text, &proposed)
	}
	if err != nil || proposed.Catalog != "docs.catalog.json" || !slices.Equal(proposed.Go.Routes.Gates, []string{"example.com/gated/web.requireUser"}) {
		t.Errorf("%v\n%s", err, text)
	}
	// The proposal is a configuration: what only requireUser guards is gated by it.
	if said, _ := in(t, dir, nil, tool, "./..."); strings.Contains(said, "bad config") || strings.Contains(said, "mux.go:29") {
		t.Errorf("by the proposal:\n%s", said)
	}
}
