package authz_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The threat model names a test for each defence. One that is renamed or deleted takes
// its promise along.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "TEST?") {
		t.Error("a defence waits for its test")
	}
	named := regexp.MustCompile("`([a-z][a-z0-9/]*)\\.(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 50 {
		t.Fatalf("only %d tests are named", len(named))
	}
	sources := map[string]string{}
	for _, n := range named {
		dir, name := n[1], n[2]
		if _, read := sources[dir]; !read {
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				source, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources[dir] += string(source)
			}
		}
		if !strings.Contains(sources[dir], "func "+name+"(t ") {
			t.Errorf("%s.%s is no test", dir, name)
		}
	}
}
