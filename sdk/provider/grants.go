package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Grants administers grants.
type Grants interface {
	CreateGrant(ctx context.Context, in GrantInput, prov authz.Provenance) (authz.Grant, error)

	// CreateGrants writes all rows in one commit, or none.
	CreateGrants(ctx context.Context, in []GrantInput, prov authz.Provenance) ([]authz.Grant, error)
	DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error

	// ChangeGrants deletes, gives other expiries and creates in one commit, or does
	// nothing of it. It answers the rows created, in the order in which they were proposed.
	ChangeGrants(ctx context.Context, in GrantsChange, prov authz.Provenance) ([]authz.Grant, error)
	ListGrants(ctx context.Context, q GrantQuery) iter.Seq2[authz.Grant, error]
	CountGrants(ctx context.Context, q GrantQuery) (int64, error)

	// FindGrants lists the grants that a search selects, in its order.
	FindGrants(ctx context.Context, q GrantsQuery) iter.Seq2[authz.Grant, error]
}

// GrantInput proposes a grant: exactly one of RoleID and Pattern; Scope ""
// means "*".
type GrantInput struct {
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty" read:"nonempty"`
	Pattern   string       `json:"pattern,omitempty" read:"pattern"`
	Scope     string       `json:"scope,omitempty" read:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
}

// MaxGrantsChange bounds the grants of one GrantsChange: each that is named costs a read.
const MaxGrantsChange = 1000

// GrantsChange is a change of 1 to MaxGrantsChange grants. A grant stands in it once.
type GrantsChange struct {
	Delete []string      `json:"delete,omitempty"`
	Expire []GrantExpiry `json:"expire,omitempty"`
	Create []GrantInput  `json:"create,omitempty"`
}

// GrantExpiry gives a grant another expiry, an instant in epoch milliseconds; nil takes it
// away.
type GrantExpiry struct {
	GrantID   string `json:"grantId" read:"required"`
	ExpiresAt *int64 `json:"expiresAt" read:"required,null" doc:"Null: the grant no longer expires."`
}

// GrantQuery selects grants; nil members are absent.
type GrantQuery struct {
	Subject *string `json:"subject,omitempty" read:"filter"`
	Scope   *string `json:"scope,omitempty" read:"filter"`
	RoleID  *string `json:"roleId,omitempty" read:"filter"`
	Paging  `json:"-"`
}

// GrantsQuery is a search, and the page of it that is wanted. Paging.After is the text of a
// place in its order.
type GrantsQuery struct {
	authz.GrantSearch
	Paging `json:"-"`
}

type (
	grantOut struct {
		Grant authz.Grant `json:"grant"`
	}
	grantsOut struct {
		Grants []authz.Grant `json:"grants"`
	}
	countOut struct {
		Count int64 `json:"count"`
	}

	createGrantIn struct {
		Input grantWithProvenance `json:"input" read:"required"`
	}
	grantWithProvenance struct {
		GrantInput
		Provenance authz.Provenance `json:"provenance"`
	}
	createGrantsIn struct {
		Inputs     []GrantInput     `json:"inputs" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	changeGrantsIn struct {
		GrantsChange
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	deleteGrantIn struct {
		GrantID    string           `json:"grantId" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	listGrantsIn struct {
		Paged
		Filter GrantQuery `json:"filter"`
	}
	findGrantsIn struct {
		Paged
		Filter GrantsQuery `json:"filter"`
	}
	countGrantsIn struct {
		Filter GrantQuery `json:"filter"`
	}
)

var opCreateGrant = declare(Operation{Op: "createGrant", Kind: Write, Method: "CreateGrant",
	Tag: "grants", Summary: "Grant a role or a pattern to a subject", Answer: "The row that was stored."},
	func(ctx context.Context, to Provider, in *createGrantIn) (grantOut, error) {
		row, err := to.CreateGrant(ctx, in.Input.GrantInput, in.Input.Provenance)
		return grantOut{row}, err
	})

func (c Calls) CreateGrant(ctx context.Context, in GrantInput, prov authz.Provenance) (authz.Grant, error) {
	out, err := ask(ctx, c, opCreateGrant, createGrantIn{grantWithProvenance{in, prov}})
	return out.Grant, err
}

var opCreateGrants = declare(Operation{Op: "createGrants", Kind: Write, Method: "CreateGrants",
	Tag: "grants", Summary: "Write several grants, all or none", Answer: "In the order of `inputs`."},
	func(ctx context.Context, to Provider, in *createGrantsIn) (grantsOut, error) {
		rows, err := to.CreateGrants(ctx, in.Inputs, in.Provenance)
		return grantsOut{orNone(rows)}, err
	})

func (c Calls) CreateGrants(ctx context.Context, in []GrantInput, prov authz.Provenance) ([]authz.Grant, error) {
	out, err := ask(ctx, c, opCreateGrants, createGrantsIn{orNone(in), prov})
	return out.Grants, err
}

var opDeleteGrant = declare(Operation{Op: "deleteGrant", Kind: Write, Method: "DeleteGrant",
	Tag: "grants", Summary: "Delete a grant"},
	func(ctx context.Context, to Provider, in *deleteGrantIn) (none, error) {
		return none{}, to.DeleteGrant(ctx, in.GrantID, in.Provenance)
	})

func (c Calls) DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error {
	return tell(ctx, c, opDeleteGrant, deleteGrantIn{id, prov})
}

var opChangeGrants = declare(Operation{Op: "changeGrants", Kind: Write, Method: "ChangeGrants",
	Tag: "grants", Summary: "Delete grants, give others another expiry, and create some, all or nothing", Answer: "The rows created, in the order of `create`."},
	func(ctx context.Context, to Provider, in *changeGrantsIn) (grantsOut, error) {
		rows, err := to.ChangeGrants(ctx, in.GrantsChange, in.Provenance)
		return grantsOut{orNone(rows)}, err
	})

func (c Calls) ChangeGrants(ctx context.Context, in GrantsChange, prov authz.Provenance) ([]authz.Grant, error) {
	out, err := ask(ctx, c, opChangeGrants, changeGrantsIn{in, prov})
	return out.Grants, err
}

var opListGrants = declareList(Operation{Op: "listGrants", Method: "ListGrants", List: "grants",
	Tag: "grants", Summary: "List grants", Answer: "The rows, ascending by id."},
	func(g *authz.Grant) any { return g.ID },
	func(ctx context.Context, to Provider, in *listGrantsIn) iter.Seq2[authz.Grant, error] {
		in.Filter.Paging = in.paging()
		return to.ListGrants(ctx, in.Filter)
	})

func (c Calls) ListGrants(ctx context.Context, q GrantQuery) iter.Seq2[authz.Grant, error] {
	return rows(ctx, c, opListGrants, listGrantsIn{q.paged(), q})
}

var opFindGrants = declareOrdered(Operation{Op: "findGrants", Method: "FindGrants", List: "grants",
	Tag: "grants", Summary: "Find grants by what they say, in an order", Answer: "The rows in the order of the filter. In an order by time a page goes on after the instant of its last row, a colon and the id."},
	func(in *findGrantsIn, g *authz.Grant) any { return in.Filter.Order.Text(in.Filter.Order.Place(g)) },
	func(ctx context.Context, to Provider, in *findGrantsIn) iter.Seq2[authz.Grant, error] {
		in.Filter.Paging = in.paging()
		return to.FindGrants(ctx, in.Filter)
	})

func (c Calls) FindGrants(ctx context.Context, q GrantsQuery) iter.Seq2[authz.Grant, error] {
	return rows(ctx, c, opFindGrants, findGrantsIn{q.paged(), q})
}

var opCountGrants = declare(Operation{Op: "countGrants", Kind: Read, Method: "CountGrants",
	Tag: "grants", Summary: "Count grants", Answer: "As many as the list would hold."},
	func(ctx context.Context, to Provider, in *countGrantsIn) (countOut, error) {
		n, err := to.CountGrants(ctx, in.Filter)
		return countOut{n}, err
	})

func (c Calls) CountGrants(ctx context.Context, q GrantQuery) (int64, error) {
	out, err := ask(ctx, c, opCountGrants, countGrantsIn{q})
	return out.Count, err
}
