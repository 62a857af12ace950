package catalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/authzhost/authz/sdk/catalog/internal/text"
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
	at := text.Error{At: text.Place{Line: e.Line, Column: e.Column}, Problem: e.Problem}
	return "not a " + e.Format + " catalog: " + at.Error()
}

// format is what a declaration may be written in.
type format struct {
	name string
	read func([]byte) (*text.Value, error)
}

var (
	formatJSON = format{"JSON", text.JSON}
	formatYAML = format{"YAML", text.YAML}
)

// ParseJSON reads a declaration. The error is a *SyntaxError for what is not one
// JSON object within MaxInputBytes; everything else that is wrong, unknown fields
// and wrong types included, stays with the Input, and Build reports it together
// with its own findings.
func ParseJSON(b []byte) (Input, error) { return formatJSON.parse(b) }

// ParseYAML reads a declaration as ParseJSON does. Aliases may unfold into
// 100,000 values; merge keys are a *SyntaxError.
func ParseYAML(b []byte) (Input, error) { return formatYAML.parse(b) }

func (f format) parse(b []byte) (Input, error) {
	if len(b) > MaxInputBytes {
		return Input{}, &SyntaxError{Format: f.name, Problem: fmt.Sprintf("longer than %d bytes", MaxInputBytes)}
	}
	root, err := f.tree(b)
	if err != nil {
		return Input{}, err
	}
	if root.Kind != text.Object {
		return Input{}, &SyntaxError{Format: f.name, Line: 1, Column: 1, Problem: "a catalog is an object, not " + root.Echo()}
	}
	return decodeInput(root), nil
}

// tree reads a text; the error is a *SyntaxError.
func (f format) tree(b []byte) (*text.Value, error) {
	root, err := f.read(b)
	var at *text.Error
	if errors.As(err, &at) {
		return nil, &SyntaxError{Format: f.name, Line: at.At.Line, Column: at.At.Column, Problem: at.Problem}
	}
	return root, err
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
