package host_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
)

// opsPage reads a page of the operations listener.
func opsPage(t *testing.T, h *host.Host, path string) (status int, body string) {
	t.Helper()
	answer, err := http.Get("http://" + h.OpsAddress() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// A database file that goes away under a host that nobody asks anything.
func TestADatabaseFileThatIsTakenAwayIsALostStore(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced by an older copy": func(path string) error {
			return errors.Join(os.Rename(path+".copy", path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"without its log": func(path string) error { return os.Remove(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configure(t, "")
			path := filepath.Join(cfg.Dir, "authz.db")
			edit(cfg, func(p *config.Plugin) {
				p.Plugin, p.Config = "sqlite", config.NewSettings(map[string]any{"path": path})
			})
			h, log, err := tryServe(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err := errors.Join(err, os.WriteFile(path+".copy", content, 0o600)); err != nil {
				t.Fatal(err)
			}
			socket := localCaller(h)
			grant := func() error {
				return socket.Call(t.Context(), "docs/createGrant", object{"input": object{"subject": "user:u1", "pattern": "docs.files.read", "scope": "*"}}, nil)
			}
			if err := grant(); err != nil {
				t.Fatal(err)
			}
			if answer, text := ask(t, h, "check", readCheck); !strings.Contains(text, `"allowed":true`) {
				t.Fatalf("%d %s", answer.StatusCode, text)
			}
			var before struct{ Stores []object }
			if err := socket.Call(t.Context(), "_host/storage.status", nil, &before); err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			eventually(t, "not ready", func() bool { return !h.Ready() })
			for page, want := range map[string]string{"/readyz?verbose=1": `"storage.docs","ok":false,"message":"lost: the database`, "/metrics": `authz_storage_lost{app="docs"} 1`} {
				if _, text := opsPage(t, h, page); !strings.Contains(text, want) {
					t.Errorf("%s does not say %s:\n%s", page, want, text)
				}
			}
			var status struct{ Stores []object }
			if err := socket.Call(t.Context(), "_host/storage.status", nil, &status); err != nil {
				t.Fatal(err)
			}
			if s := status.Stores[0]; s["lost"] != true || !strings.Contains(s["error"].(string), "was removed or replaced") {
				t.Errorf("storage.status: %v", s)
			}
			if !strings.Contains(log.String(), "STORAGE LOST") {
				t.Error("the log does not say it")
			}
			if answer, text := ask(t, h, "check", readCheck); answer.StatusCode != 503 {
				t.Errorf("a check that was warm: %d %s", answer.StatusCode, text)
			}
			if err := grant(); err == nil {
				t.Error("a grant was acknowledged")
			}
			if err := socket.Call(t.Context(), "_host/storage.accept", object{"app": "docs"}, nil); err == nil || !strings.Contains(err.Error(), "no content to accept yet") {
				t.Errorf("accepted: %v", err)
			}

			// What comes back is another life of the content, whatever it is a copy of.
			if err := socket.Call(t.Context(), "_host/plugin.restart", object{"name": "main"}, nil); err != nil {
				t.Fatal(err)
			}
			eventually(t, "open again", func() bool {
				err := socket.Call(t.Context(), "_host/storage.status", nil, &status)
				return err == nil && status.Stores[0]["incarnation"] != before.Stores[0]["incarnation"]
			})
			if _, text := opsPage(t, h, "/readyz?verbose=1"); !strings.Contains(text, "lost: ") {
				t.Errorf("ready before anybody accepted it: %s", text)
			}
			if err := socket.Call(t.Context(), "_host/storage.accept", object{"app": "docs"}, nil); err != nil {
				t.Fatal(err)
			}
			eventually(t, "ready again", h.Ready)
			_, text := ask(t, h, "check", readCheck)
			kept := name == "without its log" // a clean end saves what the log held
			if strings.Contains(text, `"allowed":true`) != kept {
				t.Errorf("the content that was accepted answers %s", text)
			}
		})
	}
}
