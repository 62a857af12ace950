package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
)

// envelopeVersion is the form of entries in the shared tier.
const envelopeVersion = 1

// envelope is an entry of the shared tier. Seq and Identity are the head of the log
// that the writer vouches for, nil for none; FreshUntil is epoch milliseconds. The side
// that it belongs to has one of Data and Chain.
type envelope struct {
	V          int             `json:"v"`
	Seq        *int64          `json:"seq"`
	Identity   string          `json:"identity,omitempty"`
	FreshUntil *int64          `json:"freshUntil"`
	Data       json.RawMessage `json:"data,omitempty"`
	Chain      json.RawMessage `json:"chain,omitempty"`
}

var errNotWhole = errors.New("the entry is not whole")
var errMismatch = errors.New("the entry is about another key")

// payload says how one side of the cache is kept in envelopes. Nothing that
// decode returns without an error is less than what a provider supplies.
type payload[V any] struct {
	key    func(cacheKey) string
	encode func(V, *envelope) error
	decode func(cacheKey, envelope) (V, error)
}

var subjectPayload = payload[*subject]{
	key: func(k cacheKey) string {
		if k.service {
			return "sub:s:" + k.id
		}
		return "sub:u:" + k.id
	},
	encode: func(s *subject, e *envelope) (err error) {
		e.Data, err = json.Marshal(s.rows)
		return err
	},
	decode: func(k cacheKey, e envelope) (*subject, error) {
		rows, err := wholeSubject(e.Data)
		if err != nil {
			return nil, err
		}
		p := authz.UserPrincipal(k.id)
		if k.service {
			p = authz.ServicePrincipal(k.id)
		}
		if aboutPrincipal(rows, p) != nil {
			return nil, errMismatch
		}
		return &subject{rows: rows}, nil
	},
}

func chainPayload(v *compiled.Vocabulary) payload[*compiled.Chain] {
	return payload[*compiled.Chain]{
		key: func(k cacheKey) string { return "obj:" + k.id },
		encode: func(c *compiled.Chain, e *envelope) (err error) {
			e.Chain, err = json.Marshal(c.Scopes())
			return err
		},
		decode: func(k cacheKey, e envelope) (*compiled.Chain, error) {
			var scopes []string
			if len(e.Chain) == 0 || json.Unmarshal(e.Chain, &scopes) != nil || len(scopes) < 2 || slices.Contains(scopes, "") {
				return nil, errNotWhole
			}
			if scopes[0] != k.id {
				return nil, errMismatch
			}
			chain := v.NewChain(k.id, scopes[1:])
			if !slices.Equal(chain.Scopes(), scopes) {
				return nil, errNotWhole
			}
			return chain, nil
		},
	}
}

// wholeSubject reads what a writer of the shared tier made of a closure. Absent
// members, and rows that no provider would supply for it, make it not whole.
func wholeSubject(data []byte) (*authz.SubjectAccess, error) {
	var wire struct {
		UserID            json.RawMessage `json:"userId"`
		Closure           *[]string       `json:"closure"`
		Grants            *[]authz.Grant  `json:"grants"`
		Revokes           *[]authz.Revoke `json:"revokes"`
		Roles             *[]authz.Role   `json:"roles"`
		ManagerChain      *[]string       `json:"managerChain"`
		UnresolvedRoleIDs *[]string       `json:"unresolvedRoleIds"`
		Active            *bool           `json:"active"`
	}
	if len(data) == 0 || json.Unmarshal(data, &wire) != nil || wire.UserID == nil || wire.Closure == nil ||
		wire.Grants == nil || wire.Revokes == nil || wire.Roles == nil || wire.ManagerChain == nil ||
		wire.UnresolvedRoleIDs == nil || wire.Active == nil {
		return nil, errNotWhole
	}
	rows := &authz.SubjectAccess{Closure: *wire.Closure, Grants: *wire.Grants, Revokes: *wire.Revokes, Roles: *wire.Roles,
		ManagerChain: *wire.ManagerChain, UnresolvedRoleIDs: *wire.UnresolvedRoleIDs, Active: *wire.Active}
	if !bytes.Equal(wire.UserID, []byte("null")) && json.Unmarshal(wire.UserID, &rows.UserID) != nil {
		return nil, errNotWhole
	}
	if !wholeRows(rows) {
		return nil, errNotWhole
	}
	return rows, nil
}

func wholeRows(rows *authz.SubjectAccess) bool {
	closure := make(map[string]bool, len(rows.Closure))
	for _, s := range rows.Closure {
		if _, _, ok := authz.ParseSubject(s); !ok {
			return false
		}
		closure[s] = true
	}
	roles := make(map[string]bool, len(rows.Roles))
	for i := range rows.Roles {
		r := &rows.Roles[i]
		if r.ID == "" || r.Patterns == nil || slices.Contains(r.Patterns, "") {
			return false
		}
		roles[r.ID] = true
	}
	for _, id := range rows.UnresolvedRoleIDs {
		roles[id] = true
	}
	for i := range rows.Grants {
		// A role that the entry does not name could change without busting it.
		g := &rows.Grants[i]
		if g.ID == "" || g.Scope == "" || !closure[g.Subject] || g.Pattern == "" && !roles[g.RoleID] {
			return false
		}
	}
	for i := range rows.Revokes {
		r := &rows.Revokes[i]
		if r.ID == "" || r.Scope == "" || r.Pattern == "" || rows.UserID == nil || r.UserID != *rows.UserID {
			return false
		}
	}
	return !slices.Contains(rows.ManagerChain, "") && !roles[""]
}
