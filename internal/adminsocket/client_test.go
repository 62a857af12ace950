package adminsocket_test

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/adminsocket"
)

func TestRequestsNameTheApplicationAndTheOperation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if secret := r.Header.Get("Authorization"); secret != "" {
				t.Errorf("a request carries %s", secret)
			}
			_, _ = io.WriteString(w, `{"version":"`+r.Method+" "+r.URL.Path+" "+strings.ReplaceAll(string(body), `"`, "'")+`"}`)
		}))
	}()
	t.Cleanup(func() { _ = listener.Close() })
	local := adminsocket.New(path)
	type answer struct{ Version string }
	for want, call := range map[string]func(*answer) error{
		"POST /local/v1/docs/ping {}": func(a *answer) error { return local.Call(t.Context(), "docs", "ping", nil, a) },
		"POST /local/v1/docs/listRoles {'n':1}": func(a *answer) error {
			return local.Application("docs").Call(t.Context(), "listRoles", map[string]int{"n": 1}, a)
		},
		"POST /local/v1/_host/plugins {}": func(a *answer) error { return local.Host(t.Context(), "plugins", nil, a) },
		"POST /local/v1/_host/status {}": func(a *answer) error {
			status, err := local.Status(t.Context())
			a.Version = status.Version
			return err
		},
		"POST /local/v1/any/thing {}": func(a *answer) error { return local.Caller().Call(t.Context(), "any/thing", nil, a) },
	} {
		var got answer
		if err := call(&got); err != nil || got.Version != want {
			t.Errorf("%s was asked as %q, %v", want, got.Version, err)
		}
	}
	if local.Path() != path {
		t.Errorf("the path is %s", local.Path())
	}
}

func TestOnlyAbsenceOrRefusalMeansThatNoHostIsRunning(t *testing.T) {
	dir := t.TempDir()
	listen := func(name string, serve http.HandlerFunc) string {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		listener.SetUnlinkOnClose(false)
		if serve == nil {
			_ = listener.Close() // its file stays, as that of a killed host does
		} else {
			go func() { _ = http.Serve(listener, serve) }()
			t.Cleanup(func() { _ = listener.Close() })
		}
		return listener.Addr().String()
	}
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
	}
	for name, c := range map[string]struct {
		socket       string
		found, fails bool
	}{
		"absent":         {filepath.Join(dir, "absent"), false, false},
		"left behind":    {listen("stale", nil), false, false},
		"a host":         {listen("host", answer(http.StatusOK, "{}")), true, false},
		"a host in need": {listen("need", answer(http.StatusServiceUnavailable, "busy")), false, true},
	} {
		found, err := adminsocket.New(c.socket).Answers(t.Context())
		if found != c.found || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
