package plugin

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// An answer of ReadAccess stands between a person and a cold check, and nearly
// all of it is grants and the patterns of roles. Grants are written here field by field,
// and both are read so; the message is that of the schema, which a property holds them
// to; the fields stand in another order. A row read costs one string, which its fields
// share.

// The numbers of the fields in the schema.
const (
	accessGrants = 2
	accessRoles  = 4

	grantID         = 1
	grantSubject    = 2
	grantRoleID     = 3
	grantPattern    = 4
	grantScope      = 5
	grantExpiresAt  = 6
	grantProvenance = 7
	grantCreatedAt  = 8

	roleID          = 1
	roleName        = 2
	roleDescription = 3
	rolePatterns    = 4
	roleRequestable = 5
)

// encodeAccess serializes an answer of ReadAccess.
func encodeAccess(a storage.Access) ([]byte, error) {
	roles, err := tryRows(a.Roles, encodeRole)
	if err != nil {
		return nil, err
	}
	rest := &pluginv1.Access{Revokes: mapRows(a.Revokes, encodeRevoke), Roles: roles,
		Head: a.Head.Seq, HeadIdentity: a.Head.Identity, Closure: a.Closure, ManagerChain: a.ManagerChain}
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
