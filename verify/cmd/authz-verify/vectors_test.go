package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/verify/sources"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestVectorsVerify replays what package verify cannot: which files the command scans,
// and that it writes the findings as they were recorded, in lines.
func TestVectorsVerify(t *testing.T) {
	type vector struct {
		Document       json.RawMessage            `json:"document"`
		ImportManifest *json.RawMessage           `json:"importManifest"`
		Config         map[string]json.RawMessage `json:"config"`
		Files          map[string]string          `json:"files"`
		Expect         struct {
			Scanned  []string `json:"scanned"`
			Stderr   []string `json:"stderr"`
			ExitCode int      `json:"exitCode"`

			Issues, ReferencedKeys, ReferencedPatterns, SkippedFiles, ErrorCount, WarningCount json.RawMessage // compared there
		} `json:"expect"`
	}
	vectors.Replay(t, "verify.jsonl", nil, func(t *testing.T, c vector) {
		t.Chdir(t.TempDir())
		for file, text := range c.Files {
			write(t, file, text)
		}
		roots := struct{ Include, Exclude []string }{Include: []string{"src"}}
		config, err := json.Marshal(c.Config)
		if err == nil {
			err = json.Unmarshal(config, &roots)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := sources.Find(roots.Include, roots.Exclude)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Expect.Scanned, found.Files, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("scanned (-want +got):\n%s", diff)
		}
		if c.Expect.Stderr == nil {
			return
		}
		settings := map[string]any{"catalog": "catalog.json"}
		write(t, "catalog.json", string(c.Document))
		if c.ImportManifest != nil {
			settings["importManifest"] = "imports.json"
			write(t, "imports.json", string(*c.ImportManifest))
		}
		for name, setting := range c.Config {
			settings[name] = setting
		}
		if config, err = json.Marshal(settings); err != nil {
			t.Fatal(err)
		}
		write(t, "authz-verify.config.json", string(config))
		status, _, stderr := call(t)
		if status != c.Expect.ExitCode {
			t.Errorf("exit %d, want %d: %s", status, c.Expect.ExitCode, stderr)
		}
		if diff := cmp.Diff(places(c.Expect.Stderr), places(strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"))); diff != "" {
			t.Errorf("stderr (-want +got):\n%s", diff)
		}
	})
}

// places are the lines of a report without the messages, whose shapes package verify
// compares.
func places(lines []string) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i], _, _ = strings.Cut(line, " — ")
	}
	slices.Sort(list)
	return list
}

func TestVectorsVerifyCLI(t *testing.T) {
	type vector struct {
		Files  map[string]string `json:"files"`
		Argv   []string          `json:"argv"`
		Expect struct {
			ExitCode       int               `json:"exitCode"`
			Stdout         string            `json:"stdout"`
			Stderr         []string          `json:"stderr"`
			StderrNonEmpty bool              `json:"stderrNonEmpty"`
			Written        map[string]string `json:"written"`
		} `json:"expect"`
	}
	vectors.Replay(t, "verify-cli.jsonl", nil, func(t *testing.T, c vector) {
		t.Chdir(t.TempDir())
		for file, text := range c.Files {
			write(t, file, text)
		}
		status, stdout, stderr := call(t, c.Argv...)
		if status != c.Expect.ExitCode {
			t.Errorf("exit %d, want %d: %s", status, c.Expect.ExitCode, stderr)
		}
		if diff := cmp.Diff(c.Expect.Stdout, stdout); diff != "" {
			t.Errorf("stdout: %s", diff)
		}
		if c.Expect.StderrNonEmpty {
			if stderr == "" {
				t.Error("nothing on stderr")
			}
		} else if diff := cmp.Diff(strings.Join(c.Expect.Stderr, "\n"), strings.TrimSuffix(stderr, "\n")); diff != "" {
			t.Errorf("stderr: %s", diff)
		}
		for file, text := range c.Expect.Written {
			written, err := os.ReadFile(file)
			if diff := cmp.Diff(text, string(written)); err != nil || diff != "" {
				t.Errorf("%s: %v %s", file, err, diff)
			}
		}
	})
}
