package ldap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"
	"github.com/google/uuid"

	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/directory"
)

var (
	errNoValue = errors.New("has no value")
	errSeveral = errors.New("has several values, of which none is part of the entry's name")
	errNotText = errors.New("has a value that is no text")
	errTooLong = fmt.Errorf("has a value of more than %d bytes", directory.MaxID)
)

// plain returns the values of an attribute as they are.
func plain(entry *ldap.Entry, attribute string) [][]byte {
	if attribute == "" {
		return nil
	}
	for _, a := range entry.Attributes {
		if strings.EqualFold(a.Name, attribute) {
			return a.ByteValues
		}
	}
	return nil
}

func texts(values [][]byte) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// identifier renders the one value of an attribute that identifies. Of several
// values, whose order a directory does not keep, it is the one in the entry's name.
func identifier(entry *ldap.Entry, attribute string) (string, error) {
	values := plain(entry, attribute)
	switch {
	case len(values) == 0:
		return "", errNoValue
	case len(values) == 1:
		return render(attribute, values[0])
	}
	named, ok := dn.Chosen(entry.DN, attribute, texts(values))
	if !ok {
		return "", errSeveral
	}
	return render(attribute, []byte(named))
}

// render makes text of an identifying value: objectGUID as Windows writes it, a
// security identifier as S-1-…, anything else as it stands.
func render(attribute string, value []byte) (string, error) {
	switch strings.ToLower(attribute) {
	case "objectguid", "ms-ds-consistencyguid":
		return guid(value)
	case "objectsid":
		domain, rid, err := sid(value)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s-%d", domain, rid), nil
	}
	text := string(value)
	switch {
	case text == "":
		return "", errNoValue
	case len(text) > directory.MaxID:
		return "", errTooLong
	case !utf8.ValidString(text), strings.IndexByte(text, 0) >= 0:
		return "", errNotText
	}
	return text, nil
}

// guid renders the sixteen bytes of Active Directory, whose first three fields are
// little-endian.
func guid(value []byte) (string, error) {
	if len(value) != 16 {
		return "", errors.New("is no GUID of 16 bytes")
	}
	var id uuid.UUID
	copy(id[:], value)
	slices.Reverse(id[0:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	return id.String(), nil
}

// sid renders a security identifier without its last part, which is the account's
// number in its domain.
func sid(value []byte) (domain string, rid uint32, err error) {
	if len(value) < 12 || value[0] != 1 || int(value[1])*4+8 != len(value) {
		return "", 0, errors.New("is no security identifier")
	}
	authority := append([]byte{0, 0}, value[2:8]...)
	var b strings.Builder
	fmt.Fprintf(&b, "S-1-%d", binary.BigEndian.Uint64(authority))
	parts := value[8:]
	for ; len(parts) > 4; parts = parts[4:] {
		fmt.Fprintf(&b, "-%d", binary.LittleEndian.Uint32(parts))
	}
	return b.String(), binary.LittleEndian.Uint32(parts), nil
}

// label is a name or a description: one value, the smallest of several unless one
// is part of the entry's name, made to fit the limit. changed says that it was not
// what the directory holds.
func label(entry *ldap.Entry, attribute string, limit int) (text string, changed bool) {
	values := plain(entry, attribute)
	if len(values) == 0 {
		return "", false
	}
	text = string(slices.MinFunc(values, slices.Compare[[]byte]))
	if len(values) > 1 {
		if named, ok := dn.Chosen(entry.DN, attribute, texts(values)); ok {
			text = named
		}
	}
	fit := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(fit) > limit {
		fit = cutText(fit, limit)
	}
	return fit, fit != text
}

// cutText keeps at most limit bytes of valid text.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
