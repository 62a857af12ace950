// Package examples_test keeps what README.md promises of the examples.
package examples_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tooLong is the length at which nobody reads an example on one screen any more.
const tooLong = 80

func TestEveryExampleIsListedAndShort(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	short := 0
	for _, folder := range folders {
		name := folder.Name()
		if !folder.IsDir() || name == "internal" {
			continue
		}
		if !strings.Contains(string(readme), "]("+name+"/") {
			t.Errorf("README.md does not list %s", name)
		}
		if name == "acme" {
			continue // a world to try things on, not something to read at once
		}
		if name == "clients" {
			continue // its Go program lies beside one in another language
		}
		if strings.HasPrefix(name, "verify-") {
			continue // what the verifier is shown: a project, not a program
		}
		short++
		lesson(t, name)
	}
	if short < 6 {
		t.Errorf("only %d short examples were found", short)
	}
}

// lesson judges the one file that begins with what the example is about.
func lesson(t *testing.T, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	lessons := 0
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc == nil {
			continue
		}
		lessons++
		if lines := bytes.Count(source, []byte("\n")); lines >= tooLong {
			t.Errorf("%s has %d lines; an example stays under %d", path, lines, tooLong)
		}
	}
	if lessons != 1 {
		t.Errorf("%s has %d files with a package comment, want 1", name, lessons)
	}
}
