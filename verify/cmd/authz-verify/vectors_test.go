package main

import (
	"os"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/google/go-cmp/cmp"
)

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
