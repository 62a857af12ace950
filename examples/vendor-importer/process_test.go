package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// start runs the plugin's binary as a host does.
func start(t *testing.T, config map[string]any) (*pluginhost.Plugin, error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "authz-plugin-unix")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run, err := os.MkdirTemp("", "vi") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	h, err := pluginhost.New(pluginhost.Options{RunDir: run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(context.Background()), os.RemoveAll(run)); err != nil {
			t.Error(err)
		}
	})
	return h.Start(t.Context(), pluginhost.Spec{Name: "people", Plugin: binary, Config: config})
}

func TestAHostReadsTheDirectoryThroughTheBinary(t *testing.T) {
	dir := t.TempDir()
	config := map[string]any{"passwd": filepath.Join(dir, "passwd"), "group": filepath.Join(dir, "group")}
	p, err := start(t, config)
	if err != nil {
		t.Fatal(err)
	}
	importer, err := p.Importer()
	if err != nil {
		t.Fatal(err)
	}
	_, err = directory.Collect(importer.Import(t.Context(), directory.Request{}), nil)
	var outage *authz.UnavailableError
	if !errors.As(err, &outage) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("files that are not there gave %v", err)
	}
	if err := errors.Join(os.WriteFile(config["passwd"].(string), []byte("ada:x:1000:100::/home/ada:/bin/sh\n"), 0o600),
		os.WriteFile(config["group"].(string), []byte("users:x:100:\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := directory.Collect(importer.Import(t.Context(), directory.Request{}), nil)
	if err != nil || len(got.Snapshot.Users) != 1 || len(got.Snapshot.Memberships["ada"]) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(config["passwd"].(string), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := directory.Collect(importer.Import(t.Context(), directory.Request{}), nil); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("an emptied file gave %v", err)
	}
}

func TestSettingsAreRefusedByName(t *testing.T) {
	for field, config := range map[string]map[string]any{
		"min_uid": {"min_uid": 10, "max_uid": 9},
		"passwdd": {"passwdd": "/etc/passwd"},
	} {
		_, err := start(t, config)
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
