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
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return jsonValue(dec)
}

func jsonValue(dec *json.Decoder) (*node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case bool:
		return &node{kind: boolNode, text: strconv.FormatBool(token)}, nil
	case json.Number:
		return &node{kind: numberNode, text: token.String()}, nil
	case string:
		return &node{kind: stringNode, text: token}, nil
	case json.Delim:
		if token == '[' {
			return jsonArray(dec)
		}
		return jsonObject(dec)
	}
	return &node{kind: nullNode}, nil
}

func jsonArray(dec *json.Decoder) (*node, error) {
	n := &node{kind: arrayNode}
	for dec.More() {
		item, err := jsonValue(dec)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token() // the closing bracket
	return n, err
}

func jsonObject(dec *json.Decoder) (*node, error) {
	n := &node{kind: objectNode}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		value, err := jsonValue(dec)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // a member name always is one
		n.members = append(n.members, member{name: text, value: value})
	}
	_, err := dec.Token() // the closing brace
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
