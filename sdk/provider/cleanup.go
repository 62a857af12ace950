package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Cleanup removes what names a subject or a resource that is gone, so that a
// reused id never inherits its access.
type Cleanup interface {
	// DeleteSubject removes the subject's rows. For a user it also removes the record
	// and the pending requests.
	DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (CleanupResult, error)

	// DeleteScope removes the rows at exactly this scope and cancels the pending
	// requests for it.
	DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (CleanupResult, error)
}

// CleanupResult counts the rows that were removed.
type CleanupResult struct {
	DeletedGrants  int `json:"deletedGrants"`
	DeletedRevokes int `json:"deletedRevokes"`
}

type (
	deleteSubjectIn struct {
		Subject    string           `json:"subject" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	deleteScopeIn struct {
		Scope      string           `json:"scope" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
)

var opDeleteSubject = declare(Operation{Op: "deleteSubject", Kind: Write, Method: "DeleteSubject", Lenient: true,
	Tag: "cleanup", Summary: "Remove what names a subject",
	Notes: "So that an id used again does not inherit access. Of a user also the revokes, pending requests, memberships and record go.", Answer: "What was removed."},
	func(ctx context.Context, to Provider, in *deleteSubjectIn) (CleanupResult, error) {
		return to.DeleteSubject(ctx, in.Subject, in.Provenance)
	})

func (c Calls) DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (CleanupResult, error) {
	return ask(ctx, c, opDeleteSubject, deleteSubjectIn{subject, prov})
}

var opDeleteScope = declare(Operation{Op: "deleteScope", Kind: Write, Method: "DeleteScope", Lenient: true,
	Tag: "cleanup", Summary: "Remove what names a scope",
	Notes: "Grants and revokes at exactly this scope go; pending requests at it are cancelled. `*` is refused.", Answer: "What was removed."},
	func(ctx context.Context, to Provider, in *deleteScopeIn) (CleanupResult, error) {
		return to.DeleteScope(ctx, in.Scope, in.Provenance)
	})

func (c Calls) DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (CleanupResult, error) {
	return ask(ctx, c, opDeleteScope, deleteScopeIn{scope, prov})
}
