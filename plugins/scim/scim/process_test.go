package scim_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// logged is what a host and its plugin logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs the plugin's binary in a host.
func start(t *testing.T, config map[string]any) (*pluginhost.Host, *pluginhost.Plugin, directory.Importer, *logged) {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "authz-plugin-scim"), "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := &logged{}
	h, err := pluginhost.New(pluginhost.Options{Dirs: []string{bin}, RunDir: t.TempDir(),
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "people", Plugin: "scim", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Importer()
	if err != nil {
		t.Fatal(err)
	}
	return h, p, i, log
}

func TestThePluginsProcess(t *testing.T) {
	t.Parallel() // a build and a restart
	server := scimtest.Start(t, small())
	h, p, i, log := start(t, map[string]any{"base_url": server.BaseURL, "ca_file": server.CAFile, "page_size": 2, "max_retries": 0,
		"token_url": server.TokenURL, "client_id": scimtest.ClientID, "client_secret": scimtest.ClientSecret})
	want, err := read(t.Context(), open(t, options(server)))
	if err != nil {
		t.Fatal(err)
	}
	whole := func() {
		t.Helper()
		got, err := read(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(told{}), sliceAsSet()); diff != "" {
			t.Errorf("in process − by the process +\n%s", diff)
		}
	}
	whole()

	server.Set(t, scimtest.Faults{"status": 403, "echo": true})
	_, err = read(t.Context(), i)
	var outage *authz.UnavailableError
	if !errors.As(err, &outage) || !strings.Contains(err.Error(), "refuses the credentials (403)") {
		t.Errorf("%T: %v", err, err)
	}
	server.Set(t, scimtest.Faults{"body": "<html>", "contentType": "text/html"})
	if _, err = read(t.Context(), i); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("%T: %v", err, err)
	}

	// The process is killed while it waits for its last page.
	server.Set(t, scimtest.Faults{"hangAfter": 10, "only": "Groups"})
	time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(p.Status().PID, syscall.SIGKILL) })
	if got, err := read(t.Context(), i); !errors.As(err, &outage) || got.ended {
		t.Errorf("the reading of a killed process: %+v, %T %v", got, err, err)
	}
	server.Set(t, scimtest.Faults{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.AwaitRunning(ctx); err != nil {
		t.Fatal(err)
	}
	whole()
	for _, secret := range []string{scimtest.ClientSecret, scimtest.IssuedToken} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells a secret:\n%s", log)
		}
	}

	for words, config := range map[string]map[string]any{
		`did you mean "base_url"`: {"base_uri": "https://directory.example"},
		"must be https":           {"base_url": "http://directory.example"},
		"is required":             {"token": "x"},
	} {
		if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "refused", Plugin: "scim", Config: config}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: %v", config, err)
		}
	}

	sample := sampleConfig(t)
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "sample", Plugin: "scim", Config: sample}); err != nil {
		t.Errorf("the settings of configs/importers.yaml: %v", err)
	}
}

// sampleConfig are the settings of configs/importers.yaml.
func sampleConfig(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../configs/importers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, content := range map[string]string{"authz.yaml": strings.ReplaceAll(string(text), "file:/etc/authz/", "file:"), "scim.token": "sample-token-0123456789"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Source{Path: filepath.Join(root, "authz.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Plugins.Instances["staff"].Config.Reveal()
}
