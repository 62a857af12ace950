package input

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/internal/spell"
)

// maxInput bounds a file that is sent to a host.
const maxInput = 256 << 20

// Error says what is wrong with a file that was given.
type Error struct{ error }

func fault(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Stdin is how commands are told to read standard input in the place of a file.
const Stdin = "-"

// Name is how messages name a file.
func Name(file string) string {
	if file == Stdin {
		return "standard input"
	}
	return file
}

// Open opens a file, - being standard input.
func Open(in io.Reader, file string) (io.ReadCloser, error) {
	if file == Stdin {
		return io.NopCloser(in), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &Error{err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // it was only looked at
		return nil, fault("%s is a directory, and a file is wanted", file)
	}
	return f, nil
}

// ReadFile reads a file, - being standard input.
func ReadFile(in io.Reader, file string) ([]byte, error) {
	f, err := Open(in, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInput {
		return nil, fault("%s is larger than 256 MiB", Name(file))
	}
	return text, nil
}

// JSON reads JSON or YAML, of which JSON is a part, into JSON. What the file says
// must fit into a value like the one that is given.
func JSON(in io.Reader, file string, like any) (json.RawMessage, error) {
	text, err := ReadFile(in, file)
	if err != nil {
		return nil, err
	}
	isJSON := strings.HasSuffix(file, ".json")
	file = Name(file)
	check, kind := &fileCheck{file: file}, reflect.TypeOf(like)
	if json.Valid(text) {
		if err := check.json(text, kind); err != nil {
			return nil, fault("%s: %w", file, err)
		}
		return text, check.err()
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && isJSON {
		return nil, brokenJSON(file, text)
	}
	var document, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	switch err = documents.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, fault("%s is empty", file)
	case err != nil:
		return nil, fault("%s is neither JSON nor YAML: %w", file, err)
	}
	switch err = documents.Decode(&second); {
	case err == nil:
		return nil, fault("%s:%d:%d: holds more than one YAML document", file, second.Line, second.Column)
	case !errors.Is(err, io.EOF):
		return nil, fault("%s is neither JSON nor YAML: %w", file, err)
	}
	check.yaml(&document, kind, "", map[*yaml.Node]bool{})
	if err := check.err(); err != nil {
		return nil, err
	}
	var tree any
	if err := document.Decode(&tree); err != nil {
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) {
			return nil, fault("%s: %s", file, strings.Join(wrong.Errors, "; "))
		}
		return nil, fault("%s: %w", file, err)
	}
	body, err := json.Marshal(tree)
	if err != nil {
		return nil, fault("%s: %w", file, err)
	}
	return body, nil
}

// brokenJSON says where a text stops being JSON.
func brokenJSON(file string, text []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fault("%s is not JSON: %w", file, err)
	}
	before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
	return fault("%s:%d:%d: is not JSON: %w", file, line, column, err)
}

// Into reads JSON or YAML whose every member is known: a misspelt one would
// be left out in silence.
func Into(in io.Reader, file string, value any) error {
	body, err := JSON(in, file, value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, value); err != nil {
		return fault("%s: %s", Name(file), strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// IDs reads a list of ids: a JSON array, or one id a line. What looks like a table
// or prose is none: every row of those who are missing from it would count as orphaned.
func IDs(in io.Reader, file string) ([]string, error) {
	text, err := ReadFile(in, file)
	if err != nil {
		return nil, err
	}
	file = Name(file)
	ids := []string{}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		check := &fileCheck{file: file}
		if err := check.json(text, reflect.TypeFor[[]string]()); err != nil {
			return nil, brokenJSON(file, text)
		}
		if err := check.err(); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &ids); err != nil {
			return nil, brokenJSON(file, text)
		}
		return ids, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		id := strings.TrimSpace(lines.Text())
		if strings.ContainsAny(id, ", \t;") {
			return nil, fault("%s:%d: %s is more than an id: write one id a line, or a JSON array where ids hold such characters", file, n, spell.Quote(id))
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fault("%s: %w", file, err)
	}
	return ids, nil
}
