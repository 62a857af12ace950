package vectors

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestACaseWithAMemberThatNobodyReadsIsRefused(t *testing.T) {
	type world struct {
		Now   int64
		Steps []struct{ Op string }
	}
	for line, want := range map[string]string{
		`{"id":"a","tag":"t","exotic":true,"now":1,"steps":[{"op":"x","note":"n","exotic":true}]}`: "",
		`{"id":"a","now":1,"later":null}`:           `json: unknown field "later"`,
		`{"id":"a","steps":[{"op":"x","twice":2}]}`: `json: unknown field "twice"`,
		`[]`: "json: cannot unmarshal array into Go value of type map[string]interface {}",
	} {
		got := ""
		if err := Known[world]([]byte(line)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestReplayed is what the next test runs: cases that do what they say.
func TestReplayed(t *testing.T) {
	if os.Getenv(DirEnv) == "" {
		t.Skip("run by TestOneCaseThatFailsLeavesTheOthers")
	}
	Replay(t, "cases.jsonl", nil, func(t *testing.T, c struct{ Panic, Fatal bool }) {
		if c.Panic {
			panic("as wanted")
		}
		if c.Fatal {
			t.Fatal("as wanted")
		}
	})
}

func TestOneCaseThatFailsLeavesTheOthers(t *testing.T) {
	dir := t.TempDir()
	cases := `{"id":"a","panic":true}
{"id":"b"}
{"id":"c","unknown":1}
{"id":"d","fatal":true}
{"id":"e"}
`
	if err := os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(cases), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReplayed$", "-test.v")
	run.Env = append(os.Environ(), DirEnv+"="+dir, ReportEnv+"=")
	out, err := run.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cases.jsonl: 3 passed, 2 failed") || !strings.Contains(string(out), "it asks something that is not asked here") {
		t.Errorf("%v\n%s", err, out)
	}
}
