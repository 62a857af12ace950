package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// zoom is a catalog of two keys.
const zoom = `{"formatVersion":1,"namespace":"zoom","namespaces":["zoom"],"leaves":[{"key":"zoom.rooms.delete"},{"key":"zoom.rooms.read"}],` +
	`"groups":[{"path":"zoom"},{"path":"zoom.rooms"}],"scopeTypes":[{"type":"zoom.room"}],"navigation":[],"conventions":{"depth":3}}`

const bothKeys = "client.can(u, \"zoom.rooms.read\"); client.can(u, \"zoom.rooms.delete\");\n"

// project makes files in a new working directory. Without a catalog or a
// configuration of its own it gets sound ones.
func project(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "catalog.json", zoom)
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json"}`)
	for file, text := range files {
		write(t, file, text)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// call runs the command.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, told bytes.Buffer
	status = run(context.Background(), args, &out, &told)
	return status, out.String(), told.String()
}

// expectFailed wants exit 2 with these words and nothing on stdout.
func expectFailed(t *testing.T, want string, args ...string) {
	t.Helper()
	status, stdout, stderr := call(t, args...)
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, want) || !strings.HasSuffix(stderr, "\n") {
		t.Errorf("%v: exit %d, stdout %q, stderr %q, want exit 2 with %q", args, status, stdout, stderr, want)
	}
}

// expectText wants an exit status and the whole of stderr.
func expectText(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	got, stdout, stderr := call(t, args...)
	if got != status || stdout != "" || stderr != want {
		t.Errorf("%v: exit %d, stdout %q, stderr:\n%s\nwant exit %d and:\n%s", args, got, stdout, stderr, status, want)
	}
}

const clean1 = "authz-verify: 1 file(s), 0 ignored, 0 error(s), 0 warning(s)\n"
