package catalog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// MaxInputBytes bounds a declaration that is parsed.
const MaxInputBytes = 16 << 20

// SyntaxError says why a declaration could not be read as its format. Line and
// Column count from 1; Line is 0 when the problem names its own line.
type SyntaxError struct {
	Format  string
	Line    int
	Column  int
	Problem string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "not a " + e.Format + " catalog: " + e.Problem
	}
	return fmt.Sprintf("not a %s catalog: line %d, column %d: %s", e.Format, e.Line, e.Column, e.Problem)
}

func syntaxAt(format string, b []byte, offset int, problem string) error {
	before := b[:min(max(offset, 0), len(b))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return &SyntaxError{Format: format, Line: line, Column: column, Problem: problem}
}

// ParseJSON reads a declaration. The error is a *SyntaxError for what is not one
// JSON object within MaxInputBytes; everything else that is wrong, unknown fields
// and wrong types included, stays with the Input, and Build reports it together
// with its own findings.
func ParseJSON(b []byte) (Input, error) { return parse("JSON", b, jsonTree) }

// ParseYAML reads a declaration as ParseJSON does. Aliases may unfold into
// 100,000 values; merge keys are a *SyntaxError.
func ParseYAML(b []byte) (Input, error) { return parse("YAML", b, yamlTree) }

func parse(format string, b []byte, tree func([]byte) (*node, error)) (Input, error) {
	if len(b) > MaxInputBytes {
		return Input{}, &SyntaxError{Format: format, Problem: fmt.Sprintf("longer than %d bytes", MaxInputBytes)}
	}
	root, err := tree(b)
	if err != nil {
		return Input{}, err
	}
	if root.kind != objectNode {
		return Input{}, &SyntaxError{Format: format, Line: 1, Column: 1, Problem: "a catalog is an object, not " + spell.Echo(root.json())}
	}
	return decodeInput(root), nil
}

// Load reads the declaration in a file ending .json, .yaml or .yml.
func Load(path string) (Input, error) {
	read := ParseJSON
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".json":
	case ".yaml", ".yml":
		read = ParseYAML
	default:
		return Input{}, fmt.Errorf("catalog %s: a declaration ends .json, .yaml or .yml", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Input{}, fmt.Errorf("catalog: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxInputBytes+1))
	if err != nil {
		return Input{}, fmt.Errorf("catalog: %w", err)
	}
	in, err := read(b)
	if err != nil {
		return Input{}, fmt.Errorf("catalog %s: %w", path, err)
	}
	return in, nil
}
