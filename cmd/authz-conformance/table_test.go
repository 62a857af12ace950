package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
)

// reportFile writes the report of a run in which every case passed but those named.
func reportFile(t *testing.T, name string, others map[string]runner.Outcome) string {
	t.Helper()
	doc := document{Passed: true}
	for _, c := range allCases() {
		outcome := runner.Passed
		if o, ok := others[c.ID]; ok {
			outcome = o
			doc.Passed = doc.Passed && o != runner.Failed
		}
		doc.Cases = append(doc.Cases, documentCase{Suite: c.Suite, ID: c.ID, Outcome: outcome, Reason: "of " + string(outcome)})
	}
	return writeReport(t, name, doc)
}

func writeReport(t *testing.T, name string, doc document) string {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReportsAreLaidSideBySide(t *testing.T) {
	good := reportFile(t, "good", map[string]runner.Outcome{"M09": runner.Skipped})
	bad := reportFile(t, "bad", map[string]runner.Outcome{"B61": runner.Failed})
	newer := writeReport(t, "newer", document{Cases: []documentCase{{Suite: "driver", ID: "B999", Outcome: runner.Failed, Failure: &documentFailure{Done: []string{"wrote"}, Expected: "one row", Got: "two rows", Again: "run it"}}}})
	ended := writeReport(t, "ended", document{Ended: true, Cases: []documentCase{{Suite: "driver", ID: "B61", Outcome: runner.Passed}}})
	for _, c := range []struct {
		files []string
		code  int
		want  []string
	}{
		{[]string{good}, 0, []string{"driver/B61", "good skipped M09: of skipped"}},
		{[]string{good, bad}, exitFailed, []string{"good", "bad", "FAILED"}},
		{[]string{good, newer}, exitFailed, []string{"newer did not pass: B999", "wrote", "expected:  one row", "got:       two rows", "run again: run it"}},
		{[]string{good, ended}, exitFailed, []string{"ended did not pass: the run was ended"}},
		{[]string{filepath.Join(t.TempDir(), "missing.json")}, exitUsage, nil},
		{[]string{"table_test.go"}, exitUsage, nil},
		{nil, exitUsage, nil},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"table"}, c.files...), &out, &errs); code != c.code {
			t.Errorf("table %v: exit %d, want %d\n%s%s", c.files, code, c.code, &out, &errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("table %v: no %q in\n%s", c.files, want, &out)
			}
		}
	}
}
