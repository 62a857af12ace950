package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// visitors note what was asked of a server, and with which token.
type visitors struct {
	mu   sync.Mutex
	last string
}

func (v *visitors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.last = r.URL.Path + " " + r.Header.Get("Authorization")
	v.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"roles": []any{}, "data": []any{}})
}

func (v *visitors) taken() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.last
	v.last = ""
	return last
}

func TestCommandsGoWhereTheirContextSays(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("AUTHZ_SOCKET", "")
	t.Setenv("AUTHZ_CONFIG", "")
	t.Setenv("AUTHZ_CONTEXT", "")
	asked := &visitors{}
	server := httptest.NewServer(asked)
	t.Cleanup(server.Close)
	const secret = "a-secret-of-the-test"
	if err := os.WriteFile("token", []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := func(args ...string) string {
		t.Helper()
		out, errs, code := command(t, "", args...)
		if code != 0 {
			t.Fatalf("authz %v: exit %d, %s%s", args, code, out, errs)
		}
		return out
	}
	refused := func(says string, args ...string) {
		t.Helper()
		out, errs, code := command(t, "", args...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("authz %v: exit %d, %s%s", args, code, out, errs)
		}
		if went := asked.taken(); went != "" {
			t.Errorf("authz %v went to %s all the same", args, went)
		}
	}
	goes := func(to string, args ...string) {
		t.Helper()
		out, errs, code := command(t, "", args...)
		if went := asked.taken(); went != to+" Bearer "+secret {
			t.Errorf("authz %v went to %q: exit %d, %s%s", args, went, code, out, errs)
		}
	}

	ok("context", "add", "docs", "--url", server.URL, "--app", "docs", "--token-file", "token")
	ok("context", "add", "acme", "--url", server.URL, "--org", "acme", "--token-file", "token")
	refused("there is a context docs already", "context", "add", "docs", "--url", server.URL, "--token-file", "token")
	file := filepath.Join(dir, "config", "authz", "contexts")
	kept, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(kept), secret) || !strings.Contains(string(kept), filepath.Join(dir, "token")) {
		t.Errorf("kept %s, %v", kept, err)
	}

	goes("/apps/docs/v1/listRoles", "role", "list", "--with-context", "docs")
	goes("/api/v1/orgs/acme/org/roles", "role", "list", "--with-context", "acme")
	t.Setenv("AUTHZ_CONTEXT", "docs")
	goes("/apps/docs/v1/listRoles", "role", "list")
	refused("it is empty", "role", "list", "--with-context", "")
	t.Setenv("AUTHZ_CONTEXT", "dcs")
	refused(`AUTHZ_CONTEXT: there is no context "dcs"; did you mean docs?`, "role", "list")
	t.Setenv("AUTHZ_CONTEXT", "")

	ok("context", "use", "docs")
	if out := ok("context", "list"); !strings.Contains(out, "docs  yes") || !strings.Contains(out, "acme") {
		t.Errorf("listed:\n%s", out)
	}
	goes("/apps/docs/v1/listRoles", "role", "list")
	refused("is served by the administration socket alone", "catalog", "versions")
	refused("is of no org", "whoami")
	refused("give one of them", "role", "list", "--with-context", "docs", "--url", server.URL)
	ok("context", "use", "acme")
	refused("is of the org acme, which 'authz check' does not ask", "check", "--user", "ann", "docs.files.read")
	// what says where goes before the context in use
	if _, errs, code := command(t, "", "role", "list", "--socket", filepath.Join(dir, "none.sock")); code == 0 || !strings.Contains(errs, "no host is serving") {
		t.Errorf("with --socket: exit %d, %s", code, errs)
	}
	t.Setenv("AUTHZ_SOCKET", filepath.Join(dir, "none.sock"))
	if _, errs, code := command(t, "", "role", "list"); code == 0 || !strings.Contains(errs, "no host is serving") {
		t.Errorf("with AUTHZ_SOCKET: exit %d, %s", code, errs)
	}
	goes("/apps/docs/v1/listRoles", "role", "list", "--with-context", "docs")
	t.Setenv("AUTHZ_SOCKET", "")

	if out := ok("context", "remove", "acme"); !strings.Contains(out, "its token is in "+filepath.Join(dir, "token")) {
		t.Errorf("removed: %s", out)
	}
	if out := ok("context", "list", "-o", "json"); strings.Contains(out, "acme") || strings.Contains(out, "current") {
		t.Errorf("listed %s", out)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	refused("is writable for others", "role", "list", "--with-context", "docs")
}
