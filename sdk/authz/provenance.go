package authz

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// ProvenanceKind says by which way a row came to be.
type ProvenanceKind string

// The kinds of provenance.
const (
	ProvenanceAdmin       ProvenanceKind = "admin"
	ProvenanceRequest     ProvenanceKind = "request"
	ProvenanceDissolution ProvenanceKind = "dissolution"
	ProvenanceMerge       ProvenanceKind = "merge"
	ProvenanceImport      ProvenanceKind = "import"
	ProvenanceReconciler  ProvenanceKind = "reconciler"
	ProvenanceSystem      ProvenanceKind = "system"
)

// Provenance records how a row came to be. It never takes part in a decision.
// Only the members of its kind are stored; Via is added by a mesh handle alone.
type Provenance struct {
	Kind            ProvenanceKind `json:"kind"`
	ActorUserID     string         `json:"actorUserId,omitempty"`
	RequestID       string         `json:"requestId,omitempty"`
	ApprovedBy      string         `json:"approvedBy,omitempty"`
	VirtualParentID string         `json:"virtualParentId,omitempty"`
	OriginalGrantID string         `json:"originalGrantId,omitempty"`
	Source          string         `json:"source,omitempty"`
	IntegrationID   string         `json:"integrationId,omitempty"`
	Note            string         `json:"note,omitempty"`
	Via             string         `json:"via,omitempty"`
}

// AdminProvenance is what an administrator's write carries.
func AdminProvenance(actorUserID string) Provenance {
	return Provenance{Kind: ProvenanceAdmin, ActorUserID: actorUserID}
}

// ImportProvenance is what rows from an outside directory carry.
func ImportProvenance(source string) Provenance {
	return Provenance{Kind: ProvenanceImport, Source: source}
}

// provenanceField names one member of a kind and where the struct keeps it.
type provenanceField struct {
	name     string
	required bool
	of       func(*Provenance) *string
}

type provenanceKind struct {
	kind   ProvenanceKind
	fields []provenanceField
}

var provenanceKinds = []provenanceKind{
	{ProvenanceAdmin, []provenanceField{{"actorUserId", true, func(p *Provenance) *string { return &p.ActorUserID }}}},
	{ProvenanceRequest, []provenanceField{
		{"requestId", true, func(p *Provenance) *string { return &p.RequestID }},
		{"approvedBy", false, func(p *Provenance) *string { return &p.ApprovedBy }}}},
	{ProvenanceDissolution, []provenanceField{
		{"virtualParentId", true, func(p *Provenance) *string { return &p.VirtualParentID }},
		{"originalGrantId", true, func(p *Provenance) *string { return &p.OriginalGrantID }}}},
	{ProvenanceMerge, []provenanceField{{"source", true, func(p *Provenance) *string { return &p.Source }}}},
	{ProvenanceImport, []provenanceField{{"source", true, func(p *Provenance) *string { return &p.Source }}}},
	{ProvenanceReconciler, []provenanceField{{"integrationId", true, func(p *Provenance) *string { return &p.IntegrationID }}}},
	{ProvenanceSystem, []provenanceField{{"note", false, func(p *Provenance) *string { return &p.Note }}}},
}

func provenanceFields(kind ProvenanceKind) []provenanceField {
	for _, k := range provenanceKinds {
		if k.kind == kind {
			return k.fields
		}
	}
	return nil
}

// Normalize validates p (spec: application §1.6) and returns it with the
// members of its kind only. The error is a *WriteRejectedError with
// CodeValidation.
func (p Provenance) Normalize() (Provenance, error) {
	if p == (Provenance{}) {
		return p, Validation("provenance is required: an object with a kind of %s", kindList())
	}
	if p.Kind == "" {
		return p, Validation("provenance.kind is required (%s)", kindList())
	}
	fields := provenanceFields(p.Kind)
	if fields == nil {
		return p, Validation("unknown provenance kind %s (expected %s)", spell.Quote(string(p.Kind)), kindList())
	}
	kept := Provenance{Kind: p.Kind}
	for _, f := range fields {
		value := *f.of(&p)
		if f.required && value == "" {
			return p, Validation("provenance.%s is required for kind %s", f.name, spell.Quote(string(p.Kind)))
		}
		*f.of(&kept) = value
	}
	return kept, nil
}

// ParseProvenance reads provenance as a caller sent it and normalises it. What
// is no object, or holds a member of its kind with the wrong type, is refused
// with CodeValidation.
func ParseProvenance(raw json.RawMessage) (Provenance, error) {
	var members map[string]json.RawMessage
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &members) != nil {
		return Provenance{}, Validation("provenance is required: an object with a kind of %s", kindList())
	}
	kind, ok := stringMember(members["kind"])
	if !ok || kind == "" {
		return Provenance{}, Validation("provenance.kind is required (%s)", kindList())
	}
	p := Provenance{Kind: ProvenanceKind(kind)}
	for _, f := range provenanceFields(p.Kind) {
		value, ok := stringMember(members[f.name])
		switch {
		case ok:
			*f.of(&p) = value
		case f.required:
			return Provenance{}, Validation("provenance.%s is required for kind %s", f.name, spell.Quote(kind))
		default:
			return Provenance{}, Validation("provenance.%s must be a string when present", f.name)
		}
	}
	return p.Normalize()
}

// stringMember reads an absent or null member as "".
func stringMember(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", true
	}
	var s string
	ok := raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// Actor is whom the audit log names for a write with this provenance.
func (p Provenance) Actor() string {
	switch p.Kind {
	case ProvenanceAdmin:
		return p.ActorUserID
	case ProvenanceRequest:
		if p.ApprovedBy != "" {
			return p.ApprovedBy
		}
		return "auto"
	case ProvenanceMerge, ProvenanceImport:
		return string(p.Kind) + ":" + spell.EchoN(p.Source, auditSourceLimit)
	case ProvenanceReconciler:
		return "reconciler:" + p.IntegrationID
	}
	return "system"
}

// auditSourceLimit bounds text from a source in an audit actor or target.
const auditSourceLimit = 200

func kindList() string {
	names := make([]string, len(provenanceKinds))
	for i, k := range provenanceKinds {
		names[i] = string(k.kind)
	}
	return strings.Join(names, " | ")
}
