// Package testplugin builds the plugins of this repository and runs their binaries as a
// host does, for their own tests. Tests alone import it.
package testplugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/sdk/plugin"
)

// Build compiles plugins/<name>. The binary has the name that a host looks for.
func Build(t testing.TB, name string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), plugin.BinaryPrefix+name)
	if err := testprocess.BuildAs(binary, "plugins/"+name); err != nil {
		t.Fatal(err)
	}
	return binary
}

// Host is a plugin host that ends with its test.
type Host struct {
	*pluginhost.Host
	Log *testlog.Log // of the host and of its plugins, whatever their level
}

// NewHost is a host that finds the binary by the plugin's name.
func NewHost(t testing.TB, binary string) Host {
	t.Helper()
	run, err := os.MkdirTemp("", "authz") // a test's own folder is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	log := &testlog.Log{}
	h, err := pluginhost.New(pluginhost.Options{Dirs: []string{filepath.Dir(binary)}, RunDir: run,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = h.Close(ctx)
	})
	return Host{h, log}
}

// Start runs the binary in a host of its own.
func Start(t testing.TB, binary string, config map[string]any) *pluginhost.Plugin {
	t.Helper()
	p, err := NewHost(t, binary).Start(t.Context(), pluginhost.Spec{Name: "tested", Plugin: binary, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Sample are the settings of a plugin in a sample configuration, whose secrets lie in
// files of the test's.
func Sample(t testing.TB, path, instance string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
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
	return cfg.Plugins.Instances[instance].Config.Reveal()
}
