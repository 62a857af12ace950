package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/authz"
)

// jsonTree reads one JSON value, keeping the order of members. encoding/json
// bounds nesting at 10,000 levels.
func jsonTree(b []byte) (*node, error) {
	if !utf8.Valid(b) {
		return nil, syntaxAt("JSON", b, invalidUTF8(b), "invalid UTF-8")
	}
	// The token reader is laxer than the grammar; the scanner behind Unmarshal
	// is not, and says where it stopped.
	var whole json.RawMessage
	if err := json.Unmarshal(b, &whole); err != nil {
		offset := 0
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = int(syntax.Offset) - 1
		}
		return nil, syntaxAt("JSON", b, offset, err.Error())
	}
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(b)), text: b, line: 1}
	r.dec.UseNumber()
	return r.value()
}

// jsonReader reads tokens and counts the lines that they lie on.
type jsonReader struct {
	dec  *json.Decoder
	text []byte

	counted int // bytes of text that were looked through for line ends
	line    int // the line that the last of them is on
	begin   int // where that line begins
}

// next returns a token and the place where it begins.
func (r *jsonReader) next() (json.Token, place, error) {
	start := int(r.dec.InputOffset())
	for start < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[start]) >= 0 {
		start++
	}
	for ; r.counted < start; r.counted++ {
		if r.text[r.counted] == '\n' {
			r.line++
			r.begin = r.counted + 1
		}
	}
	token, err := r.dec.Token()
	return token, place{line: r.line, column: start - r.begin + 1}, err
}

func (r *jsonReader) value() (*node, error) {
	token, at, err := r.next()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case bool:
		return &node{kind: boolNode, text: strconv.FormatBool(token), at: at}, nil
	case json.Number:
		return &node{kind: numberNode, text: token.String(), at: at}, nil
	case string:
		return &node{kind: stringNode, text: token, at: at}, nil
	case json.Delim:
		if token == '[' {
			return r.array(at)
		}
		return r.object(at)
	}
	return &node{kind: nullNode, at: at}, nil
}

func (r *jsonReader) array(at place) (*node, error) {
	n := &node{kind: arrayNode, at: at}
	for r.dec.More() {
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token() // the closing bracket
	return n, err
}

func (r *jsonReader) object(at place) (*node, error) {
	n := &node{kind: objectNode, at: at}
	for r.dec.More() {
		name, at, err := r.next()
		if err != nil {
			return nil, err
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // a member name always is one
		n.members = append(n.members, member{name: text, value: value, at: at})
	}
	_, err := r.dec.Token() // the closing brace
	return n, err
}

// invalidUTF8 is the offset of the first byte that belongs to no character.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// wholeNumber reads "3", "3.0" and "3e0" alike.
func wholeNumber(text string) (int64, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, authz.ValidInstant(i)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > float64(authz.MaxInstant) {
		return 0, false
	}
	return int64(f), true
}
