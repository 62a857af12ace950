package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// JSON reads one JSON value. An error is an *Error. encoding/json bounds nesting at
// 10,000 levels.
func JSON(b []byte) (*Value, error) {
	if !utf8.Valid(b) {
		return nil, errorAt(b, invalidUTF8(b), "invalid UTF-8")
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
		return nil, errorAt(b, offset, err.Error())
	}
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(b)), text: b, at: Place{Line: 1, Column: 1}}
	r.dec.UseNumber()
	return r.value()
}

// jsonReader reads tokens and counts the lines and characters before them.
type jsonReader struct {
	dec  *json.Decoder
	text []byte

	counted int   // bytes of text that were looked through
	at      Place // of what comes after them
}

// next returns a token and the place where it begins.
func (r *jsonReader) next() (json.Token, Place, error) {
	start := int(r.dec.InputOffset())
	for start < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[start]) >= 0 {
		start++
	}
	for ; r.counted < start; r.counted++ {
		switch b := r.text[r.counted]; {
		case b == '\n':
			r.at = Place{Line: r.at.Line + 1, Column: 1}
		case utf8.RuneStart(b):
			r.at.Column++
		}
	}
	at := r.at
	token, err := r.dec.Token()
	return token, at, err
}

func (r *jsonReader) value() (*Value, error) {
	token, at, err := r.next()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case bool:
		return &Value{Kind: Bool, Text: strconv.FormatBool(token), At: at}, nil
	case json.Number:
		return &Value{Kind: Number, Text: token.String(), At: at}, nil
	case string:
		return &Value{Kind: String, Text: token, At: at}, nil
	case json.Delim:
		if token == '[' {
			return r.array(at)
		}
		return r.object(at)
	}
	return &Value{Kind: Null, At: at}, nil
}

func (r *jsonReader) array(at Place) (*Value, error) {
	n := &Value{Kind: Array, At: at}
	for r.dec.More() {
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.dec.Token() // the closing bracket
	return n, err
}

func (r *jsonReader) object(at Place) (*Value, error) {
	n := &Value{Kind: Object, At: at}
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
		n.Members = append(n.Members, Member{Name: text, Value: value, At: at})
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
