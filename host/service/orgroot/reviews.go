package orgroot

import (
	"context"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The reports for auditors, of an application, or of the org root where it is "".

// SodViolations is a page of the users who break the separation of duties.
func (r *Root) SodViolations(ctx context.Context, a *service.Access, application string, q provider.ReviewQuery) (page provider.SodViolationsPage, err error) {
	if err := r.bareReviewed(ctx, a.Org.ID, q); err != nil {
		return page, err
	}
	return evaluated(ctx, r, a.Org.ID, application, authz.Global, func(to applications.Asked) (provider.SodViolationsPage, error) {
		page, err := to.Relay.ReviewSodViolations(ctx, q)
		page.Users, err = matching(page.Users, err, to.ID, func(u access.Violations) bool { return reviews(q, u.UserID) })
		return page, err
	})
}

// Entitlements is a page of what the rows of users confer.
func (r *Root) Entitlements(ctx context.Context, a *service.Access, application string, q provider.ReviewQuery) (page provider.EntitlementsPage, err error) {
	if err := r.bareReviewed(ctx, a.Org.ID, q); err != nil {
		return page, err
	}
	return evaluated(ctx, r, a.Org.ID, application, authz.Global, func(to applications.Asked) (provider.EntitlementsPage, error) {
		page, err := to.Relay.ReviewEntitlements(ctx, q)
		page.Users, err = matching(page.Users, err, to.ID, func(u access.UserEntitlements) bool { return reviews(q, u.UserID) })
		return page, err
	})
}

// WildcardDrift is a page of the wildcards that gained keys since a publication.
func (r *Root) WildcardDrift(ctx context.Context, a *service.Access, application string, q provider.DriftQuery) (provider.DriftPage, error) {
	return evaluated(ctx, r, a.Org.ID, application, authz.Global, func(to applications.Asked) (provider.DriftPage, error) {
		return to.Relay.ReviewWildcardDrift(ctx, q)
	})
}

// AuditChain verifies a part of a log.
func (r *Root) AuditChain(ctx context.Context, a *service.Access, application string, q provider.AuditChainQuery) (provider.AuditChainPart, error) {
	return evaluated(ctx, r, a.Org.ID, application, authz.Global, func(to applications.Asked) (provider.AuditChainPart, error) {
		return to.Relay.ReviewAuditChain(ctx, q)
	})
}

func (r *Root) bareReviewed(ctx context.Context, org string, q provider.ReviewQuery) error {
	if q.UserIDs == nil {
		return nil
	}
	for _, id := range *q.UserIDs {
		if err := r.BareUser(ctx, org, "userId", id); err != nil {
			return err
		}
	}
	return nil
}

// reviews tells that a report is about a user.
func reviews(q provider.ReviewQuery, userID string) bool {
	if q.UserIDs == nil {
		return userID > q.After
	}
	return slices.Contains(*q.UserIDs, userID)
}
