package dn

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"
)

// attributeNames are the other names of what distinguished names are made of.
var attributeNames = map[string]string{
	"commonname": "cn", "2.5.4.3": "cn",
	"surname": "sn", "2.5.4.4": "sn",
	"countryname": "c", "2.5.4.6": "c",
	"localityname": "l", "2.5.4.7": "l",
	"stateorprovincename": "st", "2.5.4.8": "st",
	"streetaddress": "street", "2.5.4.9": "street",
	"organizationname": "o", "2.5.4.10": "o",
	"organizationalunitname": "ou", "2.5.4.11": "ou",
	"domaincomponent": "dc", "0.9.2342.19200300.100.1.25": "dc",
	"userid": "uid", "0.9.2342.19200300.100.1.1": "uid",
}

// Key is equal for spellings of the same distinguished name: escapes, space, case
// and the order within a multi-valued part aside. A value of the syntax "name and
// optional uid" counts as its name. "" is the empty name.
func Key(text string) (key string, ok bool) {
	name, err := ldap.ParseDN(withoutUID(text))
	if err != nil {
		return "", false
	}
	var b []byte
	for _, rdn := range name.RDNs {
		parts := make([]string, len(rdn.Attributes))
		for i, a := range rdn.Attributes {
			parts[i] = string(measured(measured(nil, Attribute(a.Type)), fold(a.Value)))
		}
		slices.Sort(parts)
		b = measured(b, strings.Join(parts, ""))
	}
	return string(b), true
}

// measured appends a text with its length before it, so that no value can pass for
// the seam between two.
func measured(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Attribute is equal for the names of one attribute of distinguished names.
func Attribute(name string) string {
	name = strings.TrimPrefix(strings.ToLower(name), "oid.")
	if other, ok := attributeNames[name]; ok {
		return other
	}
	return name
}

// withoutUID drops the bit string that uniqueMember may carry: #'0101'B.
func withoutUID(text string) string {
	if rest, ok := strings.CutSuffix(text, "'B"); ok {
		if i := strings.LastIndex(rest, "#'"); i >= 0 && strings.Trim(rest[i+2:], "01") == "" {
			return rest[:i]
		}
	}
	return text
}

// fold takes case away, each letter to the smallest of its kind, and the spaces at
// which directories do not look. What is no text stays as it is.
func fold(value string) string {
	if !utf8.ValidString(value) {
		return value
	}
	var b strings.Builder
	b.Grow(len(value))
	space := false
	for _, r := range strings.Trim(value, " ") {
		if r == ' ' {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(foldRune(r))
	}
	return b.String()
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	// Folding goes round from each letter to the next larger one: after the largest
	// comes the smallest.
	next := unicode.SimpleFold(r)
	for next > r {
		r, next = next, unicode.SimpleFold(next)
	}
	if next < utf8.RuneSelf {
		return unicode.ToLower(next)
	}
	return next
}

// Chosen is the one of an attribute's values that the entry's own name has, as the
// entry spells it: directories keep several values in no order. Of values that differ
// in case it is the one that is spelt as in the name; ok is false where the name does
// not choose exactly one.
func Chosen(name, attribute string, values []string) (value string, ok bool) {
	parsed, err := ldap.ParseDN(name)
	if err != nil || len(parsed.RDNs) == 0 {
		return "", false
	}
	same, alike := map[string]bool{}, map[string]bool{}
	for _, a := range parsed.RDNs[0].Attributes {
		if Attribute(a.Type) != Attribute(attribute) {
			continue
		}
		for _, v := range values {
			if fold(v) == fold(a.Value) {
				alike[v] = true
				same[v] = same[v] || v == a.Value
			}
		}
	}
	maps.DeleteFunc(same, func(_ string, exact bool) bool { return !exact })
	if len(same) == 0 {
		same = alike
	}
	if len(same) != 1 {
		return "", false
	}
	for v := range same {
		value = v
	}
	return value, true
}
