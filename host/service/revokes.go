package service

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type revokeDetail struct {
	UserID  string `json:"userId"`
	Pattern string `json:"pattern"`
	Scope   string `json:"scope"`
}

// MayCreateAccountRevoke is the gate of CreateAccountRevoke. A revoke confers
// nothing, so that the caller need not hold what it takes away; but from an active
// owner only owners take.
func (s *Service) MayCreateAccountRevoke(ctx context.Context, a *Access, in provider.RevokeInput) error {
	if in.UserID == a.Caller.UserID {
		a = a.ordinary()
	}
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	_, err := s.mayTake(ctx, a, in.UserID, "revoke.create")
	return err
}

// CreateAccountRevoke writes a revoke of account data.
func (s *Service) CreateAccountRevoke(ctx context.Context, a *Access, in provider.RevokeInput) (authz.Revoke, error) {
	if err := s.MayCreateAccountRevoke(ctx, a, in); err != nil {
		return authz.Revoke{}, err
	}
	row := authz.Revoke{ID: account.NewID(ctx), UserID: in.UserID, Pattern: in.Pattern, Scope: in.Scope,
		Provenance: a.Caller.Provenance(), CreatedAt: s.Accounts.Now(ctx)}
	if row.Scope == "" {
		row.Scope = authz.Global
	}
	if row.UserID == "" || !newID(row.UserID, maxUser) {
		return authz.Revoke{}, fault.Rejected(authz.CodeValidation, "userId must be 1 to %d bytes of text without control characters", maxUser)
	}
	if err := accountPattern(in.Pattern); err != nil {
		return authz.Revoke{}, err
	}
	err := s.beside(ctx, a.Org.ID, func(ctx context.Context) error {
		if err := s.accountScope(ctx, a.Org.ID, row.Scope); err != nil {
			return err
		}
		return s.TakeFrom(ctx, a, row.UserID, "revoke.create", func(ctx context.Context) error {
			tx := s.Accounts.Begin(ctx)
			account.Revokes.Put(tx, a.Org.ID, row.ID, row, 0)
			tx.Audit(a.Org.ID, a.Caller.Actor(), "revoke.create", row.ID, revokeDetail{row.UserID, row.Pattern, row.Scope})
			return tx.Commit()
		})
	}, slices.Values([]string{row.Scope}))
	if err != nil {
		return authz.Revoke{}, err
	}
	return row, nil
}

// AccountRevoke reads a revoke of account data.
func (s *Service) AccountRevoke(ctx context.Context, org, id string) (authz.Revoke, bool, error) {
	row, found, err := account.Revokes.Get(ctx, s.Accounts, org, id)
	return row.Value, found, err
}

// AccountRevokes lists revokes of account data by id.
func (s *Service) AccountRevokes(ctx context.Context, org string, q provider.RevokeQuery) iter.Seq2[authz.Revoke, error] {
	rows := account.Revokes.All(ctx, s.Accounts, org)
	if q.UserID != nil {
		rows = account.Revokes.Under(ctx, s.Accounts, org, *q.UserID)
	}
	return selected(values(rows), func(r authz.Revoke) bool {
		return (q.UserID == nil || r.UserID == *q.UserID) && (q.Scope == nil || r.Scope == *q.Scope)
	}, func(r authz.Revoke) string { return r.ID }, q.Paging)
}

// DeleteAccountRevoke removes a revoke of account data. What it gives back the
// caller must hold, and nobody removes one that names themself.
func (s *Service) DeleteAccountRevoke(ctx context.Context, a *Access, id string) error {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	return account.Retry(func() error {
		row, found, err := account.Revokes.Get(ctx, s.Accounts, a.Org.ID, id)
		if err != nil {
			return err
		}
		if !found {
			return fault.Rejected(authz.CodeNotFound, "revoke not found")
		}
		if row.Value.UserID == a.Caller.UserID {
			return fault.Cloud("escalation_refused", "nobody deletes a revoke that names themself").
				With("missing", []Missing{{row.Value.Pattern, row.Value.Scope}})
		}
		if err := a.holdsAll(ctx, []conferred{{[]string{row.Value.Pattern}, row.Value.Scope}}); err != nil {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		account.Revokes.Delete(tx, a.Org.ID, id, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "revoke.delete", id, struct {
			UserID string `json:"userId"`
		}{row.Value.UserID})
		return tx.Commit()
	})
}
