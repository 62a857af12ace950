package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Revokes administers personal revokes.
type Revokes interface {
	CreateRevoke(ctx context.Context, in RevokeInput, prov authz.Provenance) (authz.Revoke, error)
	DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error
	ListRevokes(ctx context.Context, q RevokeQuery) iter.Seq2[authz.Revoke, error]
}

// RevokeInput proposes a revoke; Scope "" means "*".
type RevokeInput struct {
	UserID  string `json:"userId"`
	Pattern string `json:"pattern"`
	Scope   string `json:"scope,omitempty" read:"scope"`
}

// RevokeQuery selects revokes; nil members are absent.
type RevokeQuery struct {
	UserID *string `json:"userId,omitempty" read:"filter"`
	Scope  *string `json:"scope,omitempty" read:"filter"`
	Paging `json:"-"`
}

type (
	revokeOut struct {
		Revoke authz.Revoke `json:"revoke"`
	}

	createRevokeIn struct {
		Input revokeWithProvenance `json:"input" read:"required"`
	}
	revokeWithProvenance struct {
		RevokeInput
		Provenance authz.Provenance `json:"provenance"`
	}
	deleteRevokeIn struct {
		RevokeID   string           `json:"revokeId" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	listRevokesIn struct {
		Paged
		Filter RevokeQuery `json:"filter" doc:"All members must hold; null is refused."`
	}
)

var opCreateRevoke = declare(Operation{Op: "createRevoke", Kind: Write, Method: "CreateRevoke",
	Tag: "revokes", Summary: "Take a pattern away from a user", Answer: "The row that was stored."},
	func(ctx context.Context, to Provider, in *createRevokeIn) (revokeOut, error) {
		row, err := to.CreateRevoke(ctx, in.Input.RevokeInput, in.Input.Provenance)
		return revokeOut{row}, err
	})

func (c Calls) CreateRevoke(ctx context.Context, in RevokeInput, prov authz.Provenance) (authz.Revoke, error) {
	out, err := ask(ctx, c, opCreateRevoke, createRevokeIn{revokeWithProvenance{in, prov}})
	return out.Revoke, err
}

var opDeleteRevoke = declare(Operation{Op: "deleteRevoke", Kind: Write, Method: "DeleteRevoke",
	Tag: "revokes", Summary: "Delete a revoke"},
	func(ctx context.Context, to Provider, in *deleteRevokeIn) (none, error) {
		return none{}, to.DeleteRevoke(ctx, in.RevokeID, in.Provenance)
	})

func (c Calls) DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error {
	return tell(ctx, c, opDeleteRevoke, deleteRevokeIn{id, prov})
}

var opListRevokes = declareList(Operation{Op: "listRevokes", Method: "ListRevokes", List: "revokes",
	Tag: "revokes", Summary: "List revokes", Answer: "The rows, ascending by id."},
	func(r *authz.Revoke) any { return r.ID },
	func(ctx context.Context, to Provider, in *listRevokesIn) iter.Seq2[authz.Revoke, error] {
		in.Filter.Paging = in.paging()
		return to.ListRevokes(ctx, in.Filter)
	})

func (c Calls) ListRevokes(ctx context.Context, q RevokeQuery) iter.Seq2[authz.Revoke, error] {
	return rows(ctx, c, opListRevokes, listRevokesIn{q.paged(), q})
}
