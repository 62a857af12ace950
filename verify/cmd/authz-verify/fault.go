package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// invalidError is a catalog document that can be read and is none.
type invalidError struct {
	path  string
	cause error // *authz.CatalogError
}

func (e *invalidError) Error() string { return "invalid catalog " + e.path }
func (e *invalidError) Unwrap() error { return e.cause }

// reason is an error as it is told: one line, and below it those of a catalog's
// issues. Paths and texts from elsewhere cannot steer the terminal.
func reason(err error) string {
	said := escape(err.Error())
	var invalid *authz.CatalogError
	if errors.As(err, &invalid) {
		said = escape(strings.TrimSuffix(strings.TrimSuffix(err.Error(), invalid.Error()), ": "))
		for _, issue := range invalid.Issues {
			said += "\n  - " + escape(issue.Path) + ": " + escape(issue.Message)
		}
	}
	return said
}

// escape renders control characters visibly.
func escape(s string) string { return spell.EchoN(s, math.MaxInt) }

// short drops the operation and the path that the message already names.
func short(err error) error {
	var long *fs.PathError
	if errors.As(err, &long) {
		return long.Err
	}
	return err
}

// readJSON reads a file that must hold JSON.
func readJSON(path string) (json.RawMessage, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, short(err)
	}
	// A pipe might never end, and no document is longer.
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > catalog.MaxInputBytes {
		return nil, fmt.Errorf("longer than %d MiB", catalog.MaxInputBytes>>20)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, short(err)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return raw, nil
}
