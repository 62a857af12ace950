package authz

import (
	"cmp"
	"strconv"
	"strings"
)

// GrantOrder is the order in which grants are found.
type GrantOrder string

// The orders of grants.
const (
	GrantsByID     GrantOrder = ""           // by id
	GrantsNewest   GrantOrder = "-createdAt" // the newest first; of one instant the greater id first
	GrantsExpiring GrantOrder = "expiresAt"  // those that expire, the next one first; then by id
)

// GrantSearch selects and orders grants. Members that are present combine with AND. From
// is inclusive, To exclusive. A grant that never expires has no instant of expiry: neither
// ExpiresFrom nor ExpiresTo nor GrantsExpiring finds it.
type GrantSearch struct {
	Subject *string `json:"subject,omitempty" read:"filter"`
	Scope   *string `json:"scope,omitempty" read:"filter"`
	RoleID  *string `json:"roleId,omitempty" read:"filter"`
	Pattern *string `json:"pattern,omitempty" read:"filter" doc:"Of the row itself, never that of its role."`
	Actor   *string `json:"actor,omitempty" read:"filter" doc:"Whom the provenance names as who wrote or approved the row."`

	Instances bool `json:"instances,omitempty" doc:"Without the grants at *."`

	Expires     *bool      `json:"expires,omitempty" doc:"Whether they expire at all."`
	ExpiresFrom *int64     `json:"expiresFrom,omitempty"`
	ExpiresTo   *int64     `json:"expiresTo,omitempty"`
	CreatedFrom *int64     `json:"createdFrom,omitempty"`
	CreatedTo   *int64     `json:"createdTo,omitempty"`
	Order       GrantOrder `json:"order,omitempty"`
}

// GrantPlace is where a grant stands in an order. At is 0 in the order by id.
type GrantPlace struct {
	At int64
	ID string
}

// Known reports that there is such an order.
func (o GrantOrder) Known() bool {
	return o == GrantsByID || o == GrantsNewest || o == GrantsExpiring
}

// Place is where a grant stands.
func (o GrantOrder) Place(g *Grant) GrantPlace {
	switch o {
	case GrantsNewest:
		return GrantPlace{g.CreatedAt, g.ID}
	case GrantsExpiring:
		at, _ := g.ExpiresAt.At()
		return GrantPlace{at, g.ID}
	}
	return GrantPlace{ID: g.ID}
}

// Text tells a place to a reader of pages: the id, in an order by time behind its instant.
func (o GrantOrder) Text(at GrantPlace) string {
	if o == GrantsByID || at.ID == "" {
		return at.ID
	}
	return strconv.FormatInt(at.At, 10) + ":" + at.ID
}

// Parse undoes Text; false of a text that is no place in this order.
func (o GrantOrder) Parse(text string) (GrantPlace, bool) {
	if o == GrantsByID || text == "" {
		return GrantPlace{ID: text}, true
	}
	instant, id, _ := strings.Cut(text, ":")
	at, err := strconv.ParseInt(instant, 10, 64)
	return GrantPlace{At: at, ID: id}, err == nil && id != "" && ValidInstant(at)
}

// Compare orders places.
func (o GrantOrder) Compare(a, b GrantPlace) int {
	if o == GrantsNewest {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.ID, b.ID))
}

// Selects is the plain definition of which grants a search finds.
func (q *GrantSearch) Selects(g *Grant) bool {
	expiry, expires := g.ExpiresAt.At()
	among := func(at int64, from, to *int64) bool { return (from == nil || at >= *from) && (to == nil || at < *to) }
	return wanted(q.Subject, g.Subject) && wanted(q.Scope, g.Scope) && named(q.RoleID, g.RoleID) && named(q.Pattern, g.Pattern) &&
		named(q.Actor, cmp.Or(g.Provenance.ActorUserID, g.Provenance.ApprovedBy)) &&
		!(q.Instances && g.Scope == Global) &&
		wanted(q.Expires, expires) &&
		(expires || q.ExpiresFrom == nil && q.ExpiresTo == nil && q.Order != GrantsExpiring) && among(expiry, q.ExpiresFrom, q.ExpiresTo) &&
		among(g.CreatedAt, q.CreatedFrom, q.CreatedTo)
}

func wanted[T comparable](member *T, value T) bool { return member == nil || *member == value }

// named is wanted of a member that a row may lack: "" is never one.
func named(member *string, value string) bool {
	return wanted(member, value) && (member == nil || value != "")
}
