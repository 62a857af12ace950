package goanalysis

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
)

// TestAuthzsOwnMiddlewareGatesWithoutConfiguration judges the project in
// testdata/middleware, then with each gate taken out and with each gate made wrong.
func TestAuthzsOwnMiddlewareGatesWithoutConfiguration(t *testing.T) {
	const (
		removal = "guard.RequireGate(authzhttp.Gate{\n\t\tKeys: []string{\"docs.files.update\"}, Scope: folder, Fresh: true,\n\t})"
		opened  = "gates[docspb.Docs_About_FullMethodName] = authzgrpc.Public()"
		audit   = `guard.Require("docs.audit.read", authzhttp.Global)(http.StripPrefix("/audit", audit))`
		literal = `{Keys: []string{"docs.files.update"}, Scope: folder, Fresh: true}`
		debug   = "package rpc\n\nimport (\n\t\"net/http\"\n\n\t\"github.com/authzhost/authz/sdk/authzgrpc\"\n)\n\n" +
			"func Debug() authzgrpc.Gates {\n\thttp.HandleFunc(\"/debug\", func(http.ResponseWriter, *http.Request) {})\n" +
			"\treturn authzgrpc.Gates{\"/docs.v1.Docs/Read\": authzgrpc.Require(\"docs.files.read\", authzgrpc.Global)}\n}\n"
	)
	whole := Tally{Gated: 7, Exempt: 1}
	for _, m := range []struct {
		name, file, old, new string
		want                 Tally
		rule                 verify.Rule // of the one finding that the tally does not count
	}{
		{"whole", "", "", "", whole, ""},
		{"without Require", "web/web.go", `guard.Require("docs.files.read", folder)(http.HandlerFunc(show))`, "http.HandlerFunc(show)", Tally{Gated: 6, Exempt: 1, Findings: 1}, ""},
		{"without RequireGate", "web/web.go", removal, "logged", Tally{Gated: 6, Exempt: 1, Findings: 1}, ""},
		{"without a gate that a method makes", "web/web.go", "s.reading()(http.HandlerFunc(s.put))", "http.HandlerFunc(s.put)", Tally{Gated: 6, Exempt: 1, Findings: 1}, ""},
		{"without Require around a mux", "web/web.go", audit, `http.StripPrefix("/audit", audit)`, Tally{Gated: 6, Exempt: 1, Findings: 1}, ""},
		{"without Unary", "rpc/rpc.go", "logged, guard.Unary", "logged", Tally{Gated: 5, Findings: 3}, ""},
		{"without Stream", "rpc/rpc.go", ", grpc.StreamInterceptor(guard.Stream)", "", Tally{Gated: 6, Exempt: 1, Findings: 1}, ""},
		{"Unary inside an interceptor", "rpc/rpc.go", "logged, guard.Unary", "func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {" +
			" return guard.Unary(ctx, req, info, handler) }", whole, ""},
		{"not public", "rpc/rpc.go", opened, "", Tally{Gated: 8}, ""},
		{"public in a literal", "rpc/rpc.go", "docspb.Docs_Read_FullMethodName:  authzgrpc.Require(\"docs.files.read\", folder)",
			`"/docs.v1.Docs/Read": authzgrpc.Public()`, Tally{Gated: 6, Exempt: 2}, ""},
		{"public in another service of that name", "rpc/rpc.go", "docspb.Docs_About_FullMethodName", `"/docs.v2.Docs/About"`, Tally{Gated: 8}, ""},
		{"public where the generated package tells no names", "rpc/rpc.go", opened, `gates["/docs.v1.Docs/About"] = authzgrpc.Public()`, whole, ""},
		{"public under a name that is computed", "rpc/rpc.go", opened, "gates[l.Addr().String()] = authzgrpc.Public()", Tally{Gated: 8}, ""},
		{"a gate that is only declared", "rpc/debug.go", "", debug, Tally{Gated: 7, Exempt: 1, NotFollowed: 1}, ""},
		{"a mistyped key of HTTP", "web/web.go", `"docs.files.read", folder`, `"docs.files.raed", folder`, whole, verify.RuleUnknownPattern},
		{"a mistyped key of gRPC", "rpc/rpc.go", `"docs.files.read"`, `"docs.files.raed"`, whole, verify.RuleUnknownPattern},
		{"a mistyped key in a literal", "rpc/rpc.go", `"docs.files.update"`, `"docs.files.updtae"`, whole, verify.RuleUnknownPattern},
		{"no condition", "rpc/rpc.go", literal, `{Keys: []string{"docs.files.purge"}, Scope: folder}`, whole, verify.RuleMissingCondition},
		{"a condition", "rpc/rpc.go", literal, `{Keys: []string{"docs.files.purge"}, Scope: folder, Condition: func(context.Context, any) (bool, error) { return true, nil }}`, whole, ""},
		{"a decision of Unary that is dropped", "rpc/rpc.go", "	return handler(ctx, req)", "	var guard authzgrpc.Guard\n\tguard.Unary(ctx, req, info, handler)\n\treturn handler(ctx, req)", whole, verify.RuleUncheckedGate},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			dir := middlewareProject(t)
			if m.old != "" {
				edit(t, filepath.Join(dir, m.file), m.old, m.new)
			} else if m.file != "" {
				if err := os.WriteFile(filepath.Join(dir, m.file), []byte(m.new), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if m.name == "public where the generated package tells no names" {
				edit(t, filepath.Join(dir, "rpc/docspb/docs.pb.go"), "Docs_About_FullMethodName ", "aboutName ")
			}
			// Its own client is another one; the middleware counts all the same.
			judged := judgedBy(t, Settings{Catalog: vocabulary(t), Dir: dir, ClientPackages: []string{"example.com/files/client"}, Routes: &config.Routes{}})
			if judged.Tally != m.want {
				t.Errorf("%v, want %v: %q", judged.Tally, m.want, errorsOf(judged))
			}
			var beside []verify.Rule
			for _, r := range judged.Reports {
				for _, f := range r.Findings {
					if f.Rule != verify.RuleUngatedAction {
						beside = append(beside, f.Rule)
					}
				}
			}
			if want := slices.DeleteFunc([]verify.Rule{m.rule}, func(r verify.Rule) bool { return r == "" }); !slices.Equal(beside, want) {
				t.Errorf("beside what is not gated: %q, want %q", beside, want)
			}
		})
	}
}

func TestKeysOfAuthzsOwnMiddlewareAreReferenced(t *testing.T) {
	judged := judgedBy(t, Settings{Catalog: vocabulary(t), Dir: middlewareProject(t)})
	var keys []string
	for _, r := range judged.Reports {
		if r.File == "rpc/rpc.go" {
			keys = r.Keys
		}
	}
	if want := []string{"docs.files.read", "docs.files.update", "docs.audit.read"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

func TestASurveySaysThatAuthzsOwnMiddlewareNeedsNoName(t *testing.T) {
	found, err := Look(t.Context(), middlewareProject(t), []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, m := range found.Middleware {
		if m.Gate {
			t.Errorf("%s is proposed: %s", m.Name, m.Why)
		}
		if m.Why == "authz's own: it counts without being named" {
			known++
		}
	}
	if known != 4 {
		t.Errorf("%d of Require, RequireGate, Unary and Stream are known: %+v", known, found.Middleware)
	}
}

// middlewareProject is a copy of testdata/middleware that finds authz.
func middlewareProject(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/middleware")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "go.mod"), "../../../..", root)
	return dir
}
