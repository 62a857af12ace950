package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// readJSON reads JSON or YAML, of which JSON is a part, into JSON.
func readJSON(in io.Reader, file string) (json.RawMessage, error) {
	text, err := readFile(in, file)
	if err != nil || json.Valid(text) {
		return text, err
	}
	var tree, second any
	documents := yaml.NewDecoder(bytes.NewReader(text))
	err = documents.Decode(&tree)
	if err == nil {
		if err = documents.Decode(&second); err == nil {
			return nil, usageError{fmt.Errorf("%s holds more than one YAML document", file)}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, usageError{fmt.Errorf("%s is neither JSON nor YAML: %w", file, err)}
	}
	body, err := json.Marshal(tree)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return body, nil
}

// readInto reads JSON or YAML whose every member is known: a misspelt one would
// be left out in silence.
func readInto(in io.Reader, file string, value any) error {
	body, err := readJSON(in, file)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
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
