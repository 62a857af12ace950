package storage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// CheckValue refuses what no driver keeps, wherever it stands in v: strings that
// are not UTF-8 or hold U+0000, integers beyond ±authz.MaxInstant, and payloads
// that are not JSON. It walks types by reflection so that a member added to a
// row can never be forgotten.
func CheckValue(v any) error {
	if where, what := walk(reflect.ValueOf(v)); what != "" {
		return Errorf(CodeValidation, "%s %s", strings.TrimPrefix(where+":", "."), what)
	}
	return nil
}

var (
	expiryType  = reflect.TypeFor[authz.Expiry]()
	payloadType = reflect.TypeFor[json.RawMessage]()
)

// walk returns the path to the first offence and what it is, "" for none.
func walk(v reflect.Value) (where, what string) {
	switch v.Kind() {
	case reflect.String:
		return "", badText(v.String())
	case reflect.Int64:
		if !authz.ValidInstant(v.Int()) {
			return "", "the integer is outside ±(2^53−1)"
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return walk(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == expiryType {
			if at, ok := v.Interface().(authz.Expiry).At(); ok && !authz.ValidInstant(at) {
				return "", "the instant is outside ±(2^53−1)"
			}
			return "", ""
		}
		for i := range v.NumField() {
			if where, what := walk(v.Field(i)); what != "" {
				return "." + v.Type().Field(i).Name + where, what
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type() == payloadType {
			return "", badPayload(v.Bytes())
		}
		for i := range v.Len() {
			if where, what := walk(v.Index(i)); what != "" {
				return "[" + strconv.Itoa(i) + "]" + where, what
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			for _, part := range []reflect.Value{entries.Key(), entries.Value()} {
				if where, what := walk(part); what != "" {
					return "{}" + where, what
				}
			}
		}
	}
	return "", ""
}

func badText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "the text is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "the text holds U+0000"
	}
	return ""
}

// badPayload accepts an absent payload. Escapes are text too: \u0000 and half a
// surrogate pair spell no string that every driver can keep.
func badPayload(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return ""
	case !utf8.Valid(raw):
		return "the payload is not valid UTF-8"
	case !json.Valid(raw):
		return "the payload is not JSON"
	}
	for rest := []byte(raw); ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return ""
		}
		rest = rest[i:]
		unit, ok := escapedUnit(rest)
		switch {
		case !ok:
			rest = rest[2:]
			continue
		case unit == 0:
			return "the payload holds U+0000"
		case utf16.IsSurrogate(unit):
			low, ok := escapedUnit(rest[6:])
			if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
				return "the payload holds half a surrogate pair"
			}
			rest = rest[6:]
		}
		rest = rest[6:]
	}
}

// escapedUnit reads \uXXXX at the start of valid JSON text.
func escapedUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// maxPartitionName bounds the name of a partition.
const maxPartitionName = 63

// CheckPartition refuses what is no name of a partition; "" is the unpartitioned
// dataset.
func CheckPartition(name string) error {
	bad := len(name) > maxPartitionName
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			bad = true
		}
	}
	if bad {
		return Errorf(CodeValidation, "%s is no partition name: 1 to %d of A-Z, a-z, 0-9, _ and -", spell.Quote(name), maxPartitionName)
	}
	return nil
}
