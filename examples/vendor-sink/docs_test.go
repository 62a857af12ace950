package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestExcerpts holds the excerpts of docs/writing-a-sink.md to the source.
func TestExcerpts(t *testing.T) {
	text, err := os.ReadFile("../../docs/writing-a-sink.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: there is no ../../docs: in a copy of this example, delete docs_test.go")
	}
	if err != nil {
		t.Fatal(err)
	}
	excerpts := regexp.MustCompile("(?s)(?:<!-- from (\\S+) -->\n)?```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(excerpts) == 0 {
		t.Fatal("no excerpts found")
	}
	for _, e := range excerpts {
		if e[1] == "" {
			t.Errorf("an excerpt does not say which file it is from:\n%s", e[2])
			continue
		}
		source, err := os.ReadFile(e[1])
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(source), e[2]) {
			t.Errorf("%s no longer holds:\n%s", e[1], e[2])
		}
	}
}
