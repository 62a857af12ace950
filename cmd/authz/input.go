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
)

// maxInput bounds a file that is sent to a host.
const maxInput = 256 << 20

// readFile reads a file, - being standard input.
func readFile(in io.Reader, file string) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInput {
		return nil, usageError{fmt.Errorf("%s is larger than 256 MiB", file)}
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
	check, kind := &fileCheck{file: file}, reflect.TypeOf(like)
	if json.Valid(text) {
		if err := check.json(text, kind); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
		return text, check.err()
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && strings.HasSuffix(file, ".json") {
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
		return usageError{fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "json: "))}
	}
	return nil
}

// readIDs reads a list of ids: a JSON array, or one id a line.
func readIDs(in io.Reader, file string) ([]string, error) {
	text, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &ids); err != nil {
			return nil, usageError{fmt.Errorf("%s is no JSON array of ids: %w", file, err)}
		}
		return ids, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id := strings.TrimSpace(lines.Text()); id != "" {
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
