package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/sources"
	"github.com/google/go-cmp/cmp"
)

const examples = "../../../examples/verify-web/"

func TestTheCleanExampleIsClean(t *testing.T) {
	t.Chdir(examples + "clean")
	expectText(t, exitClean, "○ [ignored] src/generated/routes.ts — generated from the routes, calls nothing\n"+
		"authz-verify: 7 file(s), 1 ignored, 0 error(s), 0 warning(s)\n")
}

// TestEachPlantedFaultOfTheExampleIsFound compares the issues with the remarks in
// the sources: no more and no fewer.
func TestEachPlantedFaultOfTheExampleIsFound(t *testing.T) {
	t.Chdir(examples + "faulty")
	found, err := sources.Find([]string{"src"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	planted := regexp.MustCompile(`planted: ([a-z-]+)`)
	var want, got []string
	for _, file := range found.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if m := planted.FindStringSubmatch(line); m != nil {
				want = append(want, fmt.Sprintf("%s:%d %s", file, n+1, m[1]))
			}
		}
	}
	status, stdout, stderr := call(t, "--format", "json")
	var report struct{ Issues []verify.Finding }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != exitIssues {
		t.Fatalf("exit %d, %v: %s", status, err, stderr)
	}
	for _, issue := range report.Issues {
		got = append(got, fmt.Sprintf("%s:%d %s", issue.File, issue.Line, issue.Rule))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 10 {
		t.Errorf("%d planted: %s\n%s", len(want), diff, stdout)
	}
}
