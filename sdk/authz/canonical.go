package authz

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/authzhost/authz/internal/spell"
)

// Canonical is the one text of a JSON value that is hashed: members sorted by the
// UTF-16 code units of their names, no white space, numbers as ECMAScript prints
// them, nothing escaped that need not be.
func Canonical(raw json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON value: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return appendCanonical(nil, v)
}

func appendCanonical(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendText(b, v), nil
	case json.Number:
		return appendNumber(b, v)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, element); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), byUTF16) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			if b, err = appendCanonical(b, v[name]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("%T is no JSON value", v)
}

func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if c < 0x20 {
				b = append(b, `\u00`...)
				c, b = hex[c&15], append(b, hex[c>>4])
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func appendNumber(b []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is no number that everybody can read", spell.Quote(n.String()))
	}
	if f == 0 {
		return append(b, '0'), nil // also -0
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	text := strconv.AppendFloat(nil, f, 'e', -1, 64)
	if end := len(text); text[end-2] == '0' && (text[end-3] == '-' || text[end-3] == '+') {
		text = append(text[:end-2], text[end-1]) // e-07 is e-7
	}
	return append(b, text...), nil
}

// byUTF16 orders as UTF-16 code units do: what lies beyond the basic plane is
// spelled with surrogates and comes before U+E000.
func byUTF16(a, b string) int {
	x, y := []rune(a), []rune(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return cmp.Or(cmp.Compare(firstUnit(x[i]), firstUnit(y[i])), cmp.Compare(x[i], y[i]))
		}
	}
	return cmp.Compare(len(x), len(y))
}

func firstUnit(r rune) rune {
	if r >= 0x10000 {
		return 0xd800 + (r-0x10000)>>10
	}
	return r
}

// Marshal is json.Marshal without HTML escaping: the form of everything on the
// wire.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
