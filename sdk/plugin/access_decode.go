package plugin

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

var errMalformed = errors.New("the message is malformed")

// fields goes through the fields of a serialized message.
type fields struct {
	raw      []byte
	from, to int // the field at hand: where it begins, where the next one does

	field protowire.Number
	kind  protowire.Type
	value []byte // of a field of bytes, which end where the field does
	bad   bool
}

func (f *fields) next() bool {
	if f.from = f.to; f.from == len(f.raw) {
		return false
	}
	rest := f.raw[f.from:]
	var tag int
	if f.field, f.kind, tag = protowire.ConsumeTag(rest); tag < 0 || f.field > protowire.MaxValidNumber {
		f.bad = true
		return false
	}
	var size int
	if f.kind == protowire.BytesType {
		f.value, size = protowire.ConsumeBytes(rest[tag:])
	} else {
		f.value, size = nil, protowire.ConsumeFieldValue(f.field, f.kind, rest[tag:])
	}
	if size < 0 {
		f.bad = true
		return false
	}
	f.to += tag + size
	return true
}

func (f *fields) isBytes() bool { return f.kind == protowire.BytesType }

// varint is the value of a field of that kind.
func (f *fields) varint() int64 {
	_, _, tag := protowire.ConsumeTag(f.raw[f.from:])
	v, _ := protowire.ConsumeVarint(f.raw[f.from+tag:])
	return int64(v)
}

// text is the value as a part of whole, which is the message.
func (f *fields) text(whole string) (string, error) {
	text := whole[f.to-len(f.value) : f.to]
	if !utf8.ValidString(text) {
		return "", errMalformed
	}
	return text, nil
}

func (f *fields) end() error {
	if f.bad {
		return errMalformed
	}
	return nil
}

// decodeAccess reads an answer of ReadAccess.
func decodeAccess(b []byte) (storage.Access, error) {
	var out storage.Access
	grants, roles := 0, 0
	var rest []byte
	all := fields{raw: b}
	for all.next() {
		switch {
		case all.isBytes() && all.field == accessGrants:
			grants++
		case all.isBytes() && all.field == accessRoles:
			roles++
		default:
			rest = append(rest, b[all.from:all.to]...)
		}
	}
	if err := all.end(); err != nil {
		return out, err
	}
	var a pluginv1.Access
	if err := proto.Unmarshal(rest, &a); err != nil {
		return out, err
	}
	out.Revokes = mapRows(a.GetRevokes(), decodeRevoke)
	out.Head = authz.Position{Seq: a.GetHead(), Identity: a.GetHeadIdentity()}
	out.Closure, out.ManagerChain = a.GetClosure(), a.GetManagerChain()
	if a.GetUser() != nil {
		user := decodeUser(a.GetUser())
		out.User = &user
	}
	if grants > 0 {
		out.Grants = make([]authz.Grant, grants)
	}
	if roles > 0 {
		out.Roles = make([]authz.Role, roles)
	}
	var r grantReader
	grants, roles = 0, 0
	for all = (fields{raw: b}); all.next(); {
		var err error
		switch {
		case all.isBytes() && all.field == accessGrants:
			err = r.read(all.value, &out.Grants[grants])
			grants++
		case all.isBytes() && all.field == accessRoles:
			err = readRole(all.value, &out.Roles[roles])
			roles++
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func readRole(row []byte, r *authz.Role) error {
	text, patterns := string(row), 0
	f := fields{raw: row}
	for f.next() {
		if f.isBytes() && f.field == rolePatterns {
			patterns++
		}
	}
	if patterns > 0 {
		r.Patterns = make([]string, 0, patterns)
	}
	var requestable []byte
	for f = (fields{raw: row}); f.next(); {
		if !f.isBytes() {
			continue
		}
		var err error
		switch f.field {
		case roleID:
			r.ID, err = f.text(text)
		case roleName:
			r.Name, err = f.text(text)
		case roleDescription:
			r.Description, err = f.text(text)
		case rolePatterns:
			var pattern string
			pattern, err = f.text(text)
			r.Patterns = append(r.Patterns, pattern)
		case roleRequestable:
			requestable = f.value
		}
		if err != nil {
			return err
		}
	}
	if err := f.end(); err != nil {
		return err
	}
	return decodeJSON(requestable, &r.Requestable)
}

// grantReader reads grants that were written one after the other.
type grantReader struct {
	raw  []byte           // the serialized form of last
	last authz.Provenance // the same one comes again and again
}

func (r *grantReader) read(row []byte, g *authz.Grant) error {
	text := string(row)
	f := fields{raw: row}
	for f.next() {
		switch f.kind {
		case protowire.BytesType:
			if err := r.bytes(&f, g, text); err != nil {
				return err
			}
		case protowire.VarintType:
			switch f.field {
			case grantExpiresAt:
				g.ExpiresAt = authz.ExpiresAt(f.varint())
			case grantCreatedAt:
				g.CreatedAt = f.varint()
			}
		}
	}
	return f.end()
}

// bytes places a field of text.
func (r *grantReader) bytes(f *fields, g *authz.Grant, row string) (err error) {
	switch f.field {
	case grantID:
		g.ID, err = f.text(row)
	case grantSubject:
		g.Subject, err = f.text(row)
	case grantRoleID:
		g.RoleID, err = f.text(row)
	case grantPattern:
		g.Pattern, err = f.text(row)
	case grantScope:
		g.Scope, err = f.text(row)
	case grantProvenance:
		err = r.provenance(g, row[f.to-len(f.value):f.to], f.value)
	}
	return err
}

// provenance reads what is the same as text.
func (r *grantReader) provenance(g *authz.Grant, text string, raw []byte) error {
	only := g.Provenance == authz.Provenance{} // else this one is merged into it
	if only && r.raw != nil && bytes.Equal(raw, r.raw) {
		g.Provenance = r.last
		return nil
	}
	into := provenanceTexts(&g.Provenance)
	f := fields{raw: raw}
	for f.next() {
		if f.isBytes() && int(f.field) <= len(into) {
			value, err := f.text(text)
			if err != nil {
				return err
			}
			*into[f.field-1] = value
		}
	}
	if only {
		r.raw, r.last = raw, g.Provenance
	}
	return f.end()
}
