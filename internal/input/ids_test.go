package input_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/input"
)

func TestIDs(t *testing.T) {
	for text, want := range map[string][]string{
		"":                         {},
		"\nu_1\n\n  u_2 \n":        {"u_1", "u_2"},
		` ["u 1", "u,2"] `:         {"u 1", "u,2"},
		"docs.folder:f_1\r\nu_1\n": {"docs.folder:f_1", "u_1"},
	} {
		if got, err := input.IDs(strings.NewReader(text), input.Stdin); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"u_1\nid,name\n": `standard input:2: "id,name" is more than an id`,
		"[7]":            "standard input:1:2: [0]: must be a text",
		"[\"a\",\n}":     "standard input:2:1: is not JSON",
	} {
		if got, err := input.IDs(strings.NewReader(text), input.Stdin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("in a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: "in a file", input.Stdin: "typed"} {
		f, err := input.Open(strings.NewReader("typed"), name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		_ = f.Close()
	}
	for name, want := range map[string]string{dir: "is a directory, and a file is wanted", filepath.Join(dir, "none"): "no such file"} {
		if _, err := input.ReadFile(nil, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if input.Name(input.Stdin) != "standard input" || input.Name(file) != file {
		t.Errorf("they are %s and %s", input.Name(input.Stdin), input.Name(file))
	}
}
