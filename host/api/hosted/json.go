package hosted

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/authzhost/authz/host/internal/request"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
)

// maxDepth bounds how deep objects and lists of a body may nest.
const maxDepth = 32

// scan holds a body to what encoding/json lets pass: one value, valid UTF-8, no
// member twice in an object, no deeper than maxDepth, no escape that spells half
// a character (it would be read as another string than the one that was sent).
func scan(body []byte) *fault.Error {
	if !utf8.Valid(body) {
		return fault.Invalid(fault.Issue{Path: "", Message: "the body is not UTF-8"})
	}
	if request.LoneSurrogate(body) {
		return fault.Invalid(fault.Issue{Path: "", Message: "a string holds half a surrogate pair"})
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	s := scanner{dec: dec}
	if problem := s.value("", 1); problem != nil {
		return fault.Invalid(*problem)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fault.Invalid(fault.Issue{Path: "", Message: "the body must be one JSON object and nothing after it"})
	}
	return nil
}

type scanner struct{ dec *json.Decoder }

func malformed(path string) *fault.Issue {
	return &fault.Issue{Path: path, Message: "malformed JSON"}
}

func (s scanner) value(path string, depth int) *fault.Issue {
	token, err := s.dec.Token()
	if err != nil {
		return malformed(path)
	}
	opening, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	if depth > maxDepth {
		return &fault.Issue{Path: "", Message: "nested deeper than " + strconv.Itoa(maxDepth)}
	}
	if opening == '{' {
		return s.object(path, depth)
	}
	for i := 0; s.dec.More(); i++ {
		if problem := s.value(index(path, i), depth+1); problem != nil {
			return problem
		}
	}
	return s.end(path)
}

func (s scanner) object(path string, depth int) *fault.Issue {
	seen := map[string]bool{}
	for s.dec.More() {
		token, err := s.dec.Token()
		if err != nil {
			return malformed(path)
		}
		name, _ := token.(string)
		if seen[name] {
			return &fault.Issue{Path: member(path, name), Message: "given twice"}
		}
		seen[name] = true
		if problem := s.value(member(path, name), depth+1); problem != nil {
			return problem
		}
	}
	return s.end(path)
}

func (s scanner) end(path string) *fault.Issue {
	if _, err := s.dec.Token(); err != nil {
		return malformed(path)
	}
	return nil
}

func member(path, name string) string {
	name = spell.Echo(name)
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
