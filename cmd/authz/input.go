package main

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

	"github.com/authzhost/authz/sdk/authz"
)

// maxInput bounds a file that is sent to a host.
const maxInput = 256 << 20

// stdin is how commands are told to read standard input in the place of a file.
const stdin = "-"

// shown is how messages name a file.
func shown(file string) string {
	if file == stdin {
		return "standard input"
	}
	return file
}

// openFile opens a file, - being standard input.
func openFile(in io.Reader, file string) (io.ReadCloser, error) {
	if file == stdin {
		return io.NopCloser(in), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usageError{err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // it was only looked at
		return nil, usageError{fmt.Errorf("%s is a directory, and a file is wanted", file)}
	}
	return f, nil
}

// readFile reads a file, - being standard input.
func readFile(in io.Reader, file string) ([]byte, error) {
	f, err := openFile(in, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInput {
		return nil, usageError{fmt.Errorf("%s is larger than 256 MiB", shown(file))}
	}
	return text, nil
}

// readJSON reads JSON or YAML, of which JSON is a part, into JSON. What the file says
// must fit into a value like the one that is given.
func readJSON(in io.Reader, file string, like any) (json.RawMessage, error) {
	text, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	isJSON := strings.HasSuffix(file, ".json")
	file = shown(file)
	check, kind := &fileCheck{file: file}, reflect.TypeOf(like)
	if json.Valid(text) {
		if err := check.json(text, kind); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
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
		return nil, usageError{fmt.Errorf("%s is empty", file)}
	case err != nil:
		return nil, usageError{fmt.Errorf("%s is neither JSON nor YAML: %w", file, err)}
	}
	switch err = documents.Decode(&second); {
	case err == nil:
		return nil, usageError{fmt.Errorf("%s:%d:%d: holds more than one YAML document", file, second.Line, second.Column)}
	case !errors.Is(err, io.EOF):
		return nil, usageError{fmt.Errorf("%s is neither JSON nor YAML: %w", file, err)}
	}
	check.yaml(&document, kind, "", map[*yaml.Node]bool{})
	if err := check.err(); err != nil {
		return nil, err
	}
	var tree any
	if err := document.Decode(&tree); err != nil {
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) {
			return nil, usageError{fmt.Errorf("%s: %s", file, strings.Join(wrong.Errors, "; "))}
		}
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	body, err := json.Marshal(tree)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return body, nil
}

// brokenJSON says where a text stops being JSON.
func brokenJSON(file string, text []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return usageError{fmt.Errorf("%s is not JSON: %w", file, err)}
	}
	before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
	return usageError{fmt.Errorf("%s:%d:%d: is not JSON: %w", file, line, column, err)}
}

// readInto reads JSON or YAML whose every member is known: a misspelt one would
// be left out in silence.
func readInto(in io.Reader, file string, value any) error {
	body, err := readJSON(in, file, value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, value); err != nil {
		return usageError{fmt.Errorf("%s: %s", shown(file), strings.TrimPrefix(err.Error(), "json: "))}
	}
	return nil
}

// readIDs reads a list of ids: a JSON array, or one id a line. What looks like a table
// or prose is none: every row of those who are missing from it would count as orphaned.
func readIDs(in io.Reader, file string) ([]string, error) {
	text, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	file = shown(file)
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
			return nil, usageError{fmt.Errorf("%s:%d: %s is more than an id: write one id a line, or a JSON array where ids hold such characters", file, n, authz.Quote(id))}
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return ids, nil
}

// exactlyOne refuses a choice of which none or several were taken.
func exactlyOne(what string, given ...bool) error {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	if n != 1 {
		return usageError{errors.New("give exactly one of " + what)}
	}
	return nil
}
