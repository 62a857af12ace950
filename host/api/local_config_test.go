package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
)

// A caller who means the host of another configuration gets no answer from this one.
func TestACallerMayNameTheConfigurationOfTheHost(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, other, link := file("authz ü.yaml"), file("other.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.Symlink(ours, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		runs, header string
		status       int
		says         string
	}{
		{ours, "", http.StatusOK, "1.2.3"},
		{ours, url.PathEscape(ours), http.StatusOK, "1.2.3"},
		{ours, url.PathEscape(link), http.StatusOK, "1.2.3"},
		{ours, url.PathEscape(other), http.StatusConflict, "and not with "},
		{ours, url.PathEscape(filepath.Join(dir, "of a container.yaml")), http.StatusOK, "1.2.3"},
		{ours, "%zz", http.StatusUnprocessableEntity, "is not percent-encoded"},
		{"", url.PathEscape(other), http.StatusOK, "1.2.3"},
	} {
		h, err := api.NewLocalHandler(api.LocalOptions{Config: c.runs, Host: &hostControl{}, Applications: func(string) (api.LocalBackend, bool) { return nil, false }})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/local/v1/_host/status", strings.NewReader("{}"))
		if c.header != "" {
			r.Header.Set(api.ConfigHeader, c.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("a host of %q asked with %q: %d %s", c.runs, c.header, w.Code, w.Body)
		}
	}
}
