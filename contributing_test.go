package authz_test

import (
	"os"
	"regexp"
	"testing"
)

// The walks name files and functions that are there.
func TestTheWalksOfContributingLeadThroughTheCode(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile(`(?m)^\d\. (.*)$`)
	file := regexp.MustCompile("`([\\w/]+\\.go)`(?:: `(\\w+)`)?")
	steps := step.FindAllStringSubmatch(string(page), -1)
	if len(steps) < 12 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, s := range steps {
		for _, f := range file.FindAllStringSubmatch(s[1], -1) {
			source, err := os.ReadFile(f[1])
			if err != nil {
				t.Error(err)
			} else if f[2] != "" && !regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?`+f[2]+`[(\[]`).Match(source) {
				t.Errorf("%s has no function %s", f[1], f[2])
			}
		}
	}
	for _, room := range regexp.MustCompile("`((?:host|sdk|web|cmd|internal|conformance|plugins)(?:/[\\w]+)*)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(room[1]); err != nil {
			t.Error(err)
		}
	}
}
