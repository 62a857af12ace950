package goanalysis

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/verify"
)

// mutations take one gate each out of the project in testdata/gated, which is whole.
var mutations = []struct {
	name, file, old, new string
	want                 int // findings, at least
}{
	{"middleware of a mux", "web/mux.go", "return requireUser(mux)", "return mux", 2},
	{"middleware of a mux behind others", "web/mux.go", "logged(recovered(requireUser(all)))", "logged(recovered(all))", 1},
	{"a wrapper of one handler", "web/mux.go", `RequirePermission("docs.audit.read")(http.HandlerFunc(s.audit))`, "http.HandlerFunc(s.audit)", 1},
	{"a gate inside a handler", "web/mux.go", `if !may(r, "docs.files.read") {`, "if r.Body == nil {", 1},
	{"a gate inside a closure", "web/mux.go", `if !may(r, "docs.files.update") {`, "if r.Body == nil {", 1},
	{"a helper that registers", "web/mux.go", "mux.Handle(path, requireUser(h))", "mux.Handle(path, h)", 1},
	{"a mux mounted behind a gate", "web/mux.go", `requireUser(http.StripPrefix("/admin", admin))`, `http.StripPrefix("/admin", admin)`, 1},
	{"chi Use", "web/chi.go", "r.Use(logged, requireUser)", "r.Use(logged)", 3},
	{"chi With", "web/chi.go", `r.With(RequirePermission("docs.files.read")).Get`, "r.Get", 1},
	{"chi Use in a group", "web/chi.go", `r.Use(RequirePermission("docs.files.update"))`, "", 1},
	{"chi Route with a method of its own", "web/chi.go", `r.With(requireUser).Route("/admin", s.admin)`, `r.Route("/admin", s.admin)`, 1},
	{"gin group", "web/gin.go", `g.Group("/docs", auth.RequireUser)`, `g.Group("/docs")`, 2},
	{"gin Use", "web/gin.go", "api.Use(auth.RequireUser)", "", 1},
	{"gin Use after the route", "web/gin.go", "api.Use(auth.RequireUser)\n\tapi.GET(\"/list\", list)", "api.GET(\"/list\", list)\n\tapi.Use(auth.RequireUser)", 1},
	{"gin, one route", "web/gin.go", `g.GET("/one", auth.RequireRole("reader"), list)`, `g.GET("/one", list)`, 1},
	{"gin, a gate under a condition", "web/gin.go", "api.Use(auth.RequireUser)", "if strict {\n\t\tapi.Use(auth.RequireUser)\n\t}", 1},
	{"echo group", "web/echo.go", `e.Group("/api", userOnly)`, `e.Group("/api")`, 1},
	{"echo, one route", "web/echo.go", `e.POST("/each", create, keyOnly("docs.files.update"))`, `e.POST("/each", create)`, 1},
	{"echo Use", "web/echo.go", "all.Use(userOnly)", "", 1},
	{"unary interceptor", "rpc/rpc.go", "grpc.ChainUnaryInterceptor(requireUnary)", "grpc.MaxRecvMsgSize(1)", 1},
	{"stream interceptor", "rpc/rpc.go", "grpc.StreamInterceptor(requireStream)", "grpc.MaxRecvMsgSize(1)", 1},
	{"a gate in a gRPC method", "rpc/rpc.go", `if !can(ctx, "docs.files.read") {`, "if in == nil {", 1},
	{"a gate in a handler of another package", "handlers/handlers.go", `if !may(r, "docs.files.read") {`, "if r.Body == nil {", 1},
	{"a gate before routes of another package", "web/chi.go", "r.Use(requireUser) // before handlers.Routes", "", 1},
}

func TestEachGateThatIsTakenOutIsFound(t *testing.T) {
	base, err := filepath.Abs("testdata/gated")
	if err != nil {
		t.Fatal(err)
	}
	stubs, err := filepath.Abs("testdata/routes/stubs")
	if err != nil {
		t.Fatal(err)
	}
	judge := func(t *testing.T, file, old, with string) *Judged {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(dir, "go.mod"), "../routes/stubs", stubs)
		if file != "" {
			edit(t, filepath.Join(dir, file), old, with)
		}
		return judgedBy(t, shopSettings(t, dir))
	}
	whole := judge(t, "", "", "")
	if said := errorsOf(whole); len(said) > 0 || whole.Tally.Gated < 25 {
		t.Fatalf("%v; the whole project has %q", whole.Tally, said)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			judged := judge(t, m.file, m.old, m.new)
			if said := errorsOf(judged); len(said) < m.want || judged.Tally.Findings < m.want {
				t.Errorf("%v; want %d, found %q", judged.Tally, m.want, said)
			}
		})
	}
}

// judgedBy judges all packages below the folder of the settings.
func judgedBy(t *testing.T, s Settings) *Judged {
	t.Helper()
	checker, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	judged, err := checker.Judge(t.Context(), s.Dir, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

func errorsOf(judged *Judged) []string {
	var said []string
	for _, r := range judged.Reports {
		for _, f := range r.Findings {
			if f.Rule == verify.RuleUngatedAction {
				said = append(said, fmt.Sprintf("%s:%d %s", f.File, f.Line, strings.Split(f.Message, " — ")[0]))
			}
		}
	}
	return said
}

func edit(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, with)), 0o644); err != nil {
		t.Fatal(err)
	}
}
