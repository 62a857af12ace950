package ldif

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Record is one entry.
type Record struct {
	Line       int // of its dn, from 1
	DN         string
	Attributes []Attribute
}

// Attribute is one value. Name is as it is written, options (";binary") included.
type Attribute struct {
	Name  string
	Value []byte
	Line  int
}

// SyntaxError is text that is no LDIF. Line and Column count from 1, columns in bytes.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Records reads the records one by one; an error ends the sequence. Values may share
// memory with text.
func Records(text []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s := &scanner{rest: text}
		if err := records(s, yield); err != nil {
			yield(Record{}, err)
		}
	}
}

func records(s *scanner, yield func(Record, error) bool) error {
	first, any := true, false
	for {
		line, err := s.next()
		switch {
		case err != nil:
			return err
		case line == nil && any:
			return nil
		case line == nil:
			return &SyntaxError{max(s.number, 1), 1, "there is no entry"}
		case line.text == nil:
			continue
		}
		if first {
			first = false
			if found, err := version(line); err != nil {
				return err
			} else if found {
				continue
			}
		}
		record, err := body(s, line)
		if err != nil {
			return err
		}
		any = true
		if !yield(record, nil) {
			return nil
		}
	}
}

// version takes the line "version: 1".
func version(line *logical) (bool, error) {
	value, ok := cutFold(string(line.text), "version:")
	if !ok {
		return false, nil
	}
	if strings.TrimSpace(value) != "1" {
		return false, line.fault(len("version:"), "only version 1 of LDIF is known")
	}
	return true, nil
}

// body reads a record whose first line is given.
func body(s *scanner, line *logical) (Record, error) {
	name, value, err := attribute(line)
	if err != nil {
		return Record{}, err
	}
	if !strings.EqualFold(name, "dn") {
		return Record{}, line.fault(0, "an entry begins with its dn")
	}
	if !utf8.Valid(value) {
		return Record{}, line.fault(0, "the dn is not UTF-8")
	}
	r := Record{Line: line.number, DN: string(value)}
	for {
		line, err := s.next()
		switch {
		case err != nil:
			return r, err
		case line == nil || line.text == nil:
			if len(r.Attributes) == 0 {
				return r, &SyntaxError{r.Line, 1, "the entry has no attribute"}
			}
			return r, nil
		}
		name, value, err := attribute(line)
		if err != nil {
			return r, err
		}
		switch strings.ToLower(name) {
		case "changetype", "control":
			return r, line.fault(0, "this is a list of changes, not of entries")
		case "dn":
			return r, line.fault(0, "a second dn: entries are apart by an empty line")
		}
		r.Attributes = append(r.Attributes, Attribute{Name: name, Value: value, Line: line.number})
	}
}

// attribute takes a line apart at its colon.
func attribute(line *logical) (name string, value []byte, err error) {
	if string(line.text) == "-" {
		return "", nil, line.fault(0, "this is a list of changes, not of entries")
	}
	colon := bytes.IndexByte(line.text, ':')
	if colon < 0 {
		return "", nil, line.fault(0, "no colon follows the name of an attribute")
	}
	name = string(line.text[:colon])
	if at, ok := goodName(name); !ok {
		return "", nil, line.fault(at, "this is no name of an attribute")
	}
	value = line.text[colon+1:]
	kind := byte(0)
	if len(value) > 0 && (value[0] == ':' || value[0] == '<') {
		kind, value = value[0], value[1:]
	}
	value = bytes.TrimLeft(value, " ")
	at := len(line.text) - len(value)
	switch kind {
	case '<':
		return "", nil, line.fault(colon+1, "values are not fetched from URLs")
	case ':':
		plain, err := base64.StdEncoding.Strict().DecodeString(string(value))
		var corrupt base64.CorruptInputError
		if errors.As(err, &corrupt) {
			return "", nil, line.fault(at+min(int(corrupt), len(value)), "this is not base64")
		}
		return name, plain, err
	}
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRune(value[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return "", nil, line.fault(at+i, "the value is neither UTF-8 nor base64")
		case r == 0 || r == '\r':
			return "", nil, line.fault(at+i, "the value holds a control character and is not base64")
		}
		i += size
	}
	return name, value, nil
}

// goodName wants a name or a numeric oid, and options.
func goodName(name string) (at int, ok bool) {
	if name == "" || name[0] == '-' || name[0] == ';' || name[0] == '.' {
		return 0, false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ';' || c == '_') {
			return i, false
		}
	}
	return 0, true
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}
