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

// An answer of ReadAccess stands between a person and a cold check, and nearly
// all of it is grants. They are written and read here field by field; the message
// is that of the schema, which a property holds them to; the fields stand in
// another order. A row read costs one string, which its fields share.

// The numbers of the fields in the schema.
const (
	accessGrants = 2

	grantID         = 1
	grantSubject    = 2
	grantRoleID     = 3
	grantPattern    = 4
	grantScope      = 5
	grantExpiresAt  = 6
	grantProvenance = 7
	grantCreatedAt  = 8
)

// encodeAccess serializes an answer of ReadAccess.
func encodeAccess(a storage.Access) ([]byte, error) {
	roles, err := tryRows(a.Roles, encodeRole)
	if err != nil {
		return nil, err
	}
	rest := &pluginv1.Access{Revokes: mapRows(a.Revokes, encodeRevoke), Roles: roles,
		Head: a.Head, Closure: a.Closure, ManagerChain: a.ManagerChain}
	if a.User != nil {
		rest.User = encodeUser(*a.User)
	}
	b, err := marshal(rest, maxAnswer)
	if err != nil {
		return nil, err
	}
	const usualGrant = 128
	grown := make([]byte, len(b), len(b)+len(a.Grants)*usualGrant)
	copy(grown, b)
	w := grantWriter{out: grown}
	for i := range a.Grants {
		w.write(&a.Grants[i])
	}
	switch {
	case w.invalid:
		return nil, storage.Errorf(storage.CodeValidation, "text must be valid UTF-8")
	case len(w.out) > maxAnswer:
		return nil, storage.Errorf(storage.CodeTooLarge, "the message has %d bytes, at most %d are allowed", len(w.out), maxAnswer)
	}
	return w.out, nil
}

// grantWriter appends grants to a serialized Access.
type grantWriter struct {
	out     []byte
	row     []byte
	prov    []byte           // the serialized form of last
	last    authz.Provenance // the same one is written again and again
	invalid bool
}

func (w *grantWriter) text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	if !utf8.ValidString(s) {
		w.invalid = true
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func (w *grantWriter) write(g *authz.Grant) {
	b := w.text(w.row[:0], grantID, g.ID)
	b = w.text(b, grantSubject, g.Subject)
	b = w.text(b, grantRoleID, g.RoleID)
	b = w.text(b, grantPattern, g.Pattern)
	b = w.text(b, grantScope, g.Scope)
	if at, ok := g.ExpiresAt.At(); ok {
		b = protowire.AppendVarint(protowire.AppendTag(b, grantExpiresAt, protowire.VarintType), uint64(at))
	}
	b = protowire.AppendBytes(protowire.AppendTag(b, grantProvenance, protowire.BytesType), w.provenance(g.Provenance))
	if g.CreatedAt != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, grantCreatedAt, protowire.VarintType), uint64(g.CreatedAt))
	}
	w.row = b
	w.out = protowire.AppendBytes(protowire.AppendTag(w.out, accessGrants, protowire.BytesType), b)
}

func (w *grantWriter) provenance(p authz.Provenance) []byte {
	if p == w.last {
		return w.prov
	}
	b := w.prov[:0]
	for i, s := range provenanceTexts(&p) {
		b = w.text(b, protowire.Number(i+1), *s)
	}
	w.prov, w.last = b, p
	return b
}

// provenanceTexts are the fields of a provenance in the order of their numbers,
// which begin at 1.
func provenanceTexts(p *authz.Provenance) [10]*string {
	return [...]*string{(*string)(&p.Kind), &p.ActorUserID, &p.RequestID, &p.ApprovedBy, &p.VirtualParentID,
		&p.OriginalGrantID, &p.Source, &p.IntegrationID, &p.Note, &p.Via}
}

var errMalformed = errors.New("the message is malformed")

// decodeAccess reads an answer of ReadAccess.
func decodeAccess(b []byte) (storage.Access, error) {
	var out storage.Access
	var grants [][]byte
	var rest []byte
	for len(b) > 0 {
		field, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return out, errMalformed
		}
		size := protowire.ConsumeFieldValue(field, kind, b[tag:])
		if size < 0 {
			return out, errMalformed
		}
		if field == accessGrants && kind == protowire.BytesType {
			row, _ := protowire.ConsumeBytes(b[tag:])
			grants = append(grants, row)
		} else {
			rest = append(rest, b[:tag+size]...)
		}
		b = b[tag+size:]
	}
	var a pluginv1.Access
	if err := proto.Unmarshal(rest, &a); err != nil {
		return out, err
	}
	var err error
	if out.Roles, err = tryRows(a.GetRoles(), decodeRole); err != nil {
		return out, err
	}
	out.Revokes = mapRows(a.GetRevokes(), decodeRevoke)
	out.Head, out.Closure, out.ManagerChain = a.GetHead(), a.GetClosure(), a.GetManagerChain()
	if a.GetUser() != nil {
		user := decodeUser(a.GetUser())
		out.User = &user
	}
	if len(grants) > 0 {
		out.Grants = make([]authz.Grant, len(grants))
	}
	var r grantReader
	for i, row := range grants {
		if err := r.read(row, &out.Grants[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// grantReader reads grants that were written one after the other.
type grantReader struct {
	raw  []byte           // the serialized form of last
	last authz.Provenance // the same one comes again and again
}

func (r *grantReader) read(row []byte, g *authz.Grant) error {
	text := string(row)
	for at := 0; at < len(row); {
		field, kind, tag := protowire.ConsumeTag(row[at:])
		if tag < 0 {
			return errMalformed
		}
		at += tag
		size := protowire.ConsumeFieldValue(field, kind, row[at:])
		if size < 0 {
			return errMalformed
		}
		var err error
		switch kind {
		case protowire.BytesType:
			value, _ := protowire.ConsumeBytes(row[at:])
			end := at + size
			err = r.bytes(field, g, text[end-len(value):end], value)
		case protowire.VarintType:
			value, _ := protowire.ConsumeVarint(row[at:])
			switch field {
			case grantExpiresAt:
				g.ExpiresAt = authz.ExpiresAt(int64(value))
			case grantCreatedAt:
				g.CreatedAt = int64(value)
			}
		}
		if err != nil {
			return err
		}
		at += size
	}
	return nil
}

// bytes places a field of text; raw is the same as text.
func (r *grantReader) bytes(field protowire.Number, g *authz.Grant, text string, raw []byte) error {
	var to *string
	switch field {
	case grantID:
		to = &g.ID
	case grantSubject:
		to = &g.Subject
	case grantRoleID:
		to = &g.RoleID
	case grantPattern:
		to = &g.Pattern
	case grantScope:
		to = &g.Scope
	case grantProvenance:
		return r.provenance(g, text, raw)
	default:
		return nil
	}
	if !utf8.ValidString(text) {
		return errMalformed
	}
	*to = text
	return nil
}

func (r *grantReader) provenance(g *authz.Grant, text string, raw []byte) error {
	if r.raw != nil && bytes.Equal(raw, r.raw) {
		g.Provenance = r.last
		return nil
	}
	fields := provenanceTexts(&g.Provenance)
	for at := 0; at < len(raw); {
		field, kind, tag := protowire.ConsumeTag(raw[at:])
		if tag < 0 {
			return errMalformed
		}
		at += tag
		size := protowire.ConsumeFieldValue(field, kind, raw[at:])
		if size < 0 {
			return errMalformed
		}
		if kind == protowire.BytesType && int(field) <= len(fields) {
			value, _ := protowire.ConsumeBytes(raw[at:])
			end := at + size
			if !utf8.Valid(value) {
				return errMalformed
			}
			*fields[field-1] = text[end-len(value) : end]
		}
		at += size
	}
	r.raw, r.last = raw, g.Provenance
	return nil
}
