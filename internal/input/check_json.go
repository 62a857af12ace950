package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// json checks a text that is valid JSON.
func (c *fileCheck) json(text []byte, t reflect.Type) error {
	r := jsonCheck{fileCheck: c, dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	r.dec.UseNumber()
	return r.value(bare(t), "")
}

// jsonCheck reads tokens and counts the lines that they lie on.
type jsonCheck struct {
	*fileCheck
	dec                  *json.Decoder
	text                 []byte
	counted, line, begin int
}

func (r *jsonCheck) next() (token json.Token, line, column int, err error) {
	start := int(r.dec.InputOffset())
	for start < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[start]) >= 0 {
		start++
	}
	for ; r.counted < start; r.counted++ {
		if r.text[r.counted] == '\n' {
			r.line, r.begin = r.line+1, r.counted+1
		}
	}
	token, err = r.dec.Token()
	return token, r.line, start - r.begin + 1, err
}

func (r *jsonCheck) value(t reflect.Type, path string) error {
	token, line, column, err := r.next()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case nil:
		r.kind(t, nothing, "null", path, line, column)
	case bool:
		r.kind(t, aFlag, strconv.FormatBool(token), path, line, column)
	case json.Number:
		r.kind(t, aNumber, token.String(), path, line, column)
	case string:
		r.kind(t, aText, token, path, line, column)
	case json.Delim:
		if token == '[' {
			r.kind(t, aList, "", path, line, column)
			for i := 0; r.dec.More(); i++ {
				if err := r.value(element(t), fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
		} else {
			r.kind(t, anObject, "", path, line, column)
			if err := r.members(t, path); err != nil {
				return err
			}
		}
		_, err = r.dec.Token() // the closing one
	}
	return err
}

func (r *jsonCheck) members(t reflect.Type, path string) error {
	seen := map[string]bool{}
	for r.dec.More() {
		token, line, column, err := r.next()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a member name always is one
		if seen[name] {
			r.bad(line, column, joinPath(path, name), "is given twice")
		}
		seen[name] = true
		member, _ := r.member(t, name, path, line, column)
		if err := r.value(bare(member), joinPath(path, name)); err != nil {
			return err
		}
	}
	return nil
}
