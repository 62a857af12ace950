package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/authz"
)

// RemoveSeat removes a seat, and with it the user's sessions, their admin keys with
// what those created, and the account rows of user:<id>.
func (s *Service) RemoveSeat(ctx context.Context, a *Access, userID string, match Match) error {
	return s.inSeats(ctx, a.Org.ID, func(ctx context.Context) error {
		row, err := s.seat(ctx, a.Org.ID, userID)
		if err != nil {
			return err
		}
		if err := match.check(row.Value.Etag); err != nil {
			return err
		}
		if row.Value.Kind == account.SeatOwner {
			if err := a.requireOwnerProof(ctx, "seat.remove"); err != nil {
				return err
			}
			if err := s.keepOwner(ctx, a.Org.ID, row.Value); err != nil {
				return err
			}
		}
		if err := s.mayUnseat(ctx, a, row.Value); err != nil {
			return err
		}
		return s.removeSeat(ctx, a, row)
	})
}

type removeDetail struct {
	Kind    string `json:"kind"`
	Grants  int    `json:"grants"`
	Revokes int    `json:"revokes"`
	Keys    int    `json:"keys"`
}

func (s *Service) removeSeat(ctx context.Context, a *Access, row account.Row[account.StoredSeat]) error {
	org, seat := a.Org.ID, row.Value
	now := s.Accounts.Now(ctx)
	detail := removeDetail{Kind: seat.Kind}
	tx := s.Accounts.Begin(ctx)
	for grant, err := range account.Grants.Under(ctx, s.Accounts, org, authz.SubjectOf(authz.SubjectUser, seat.UserID)) {
		if err != nil {
			return err
		}
		account.Grants.Delete(tx, org, grant.ID, grant.Version)
		detail.Grants++
	}
	for revoke, err := range account.Revokes.Under(ctx, s.Accounts, org, seat.UserID) {
		if err != nil {
			return err
		}
		account.Revokes.Delete(tx, org, revoke.ID, revoke.Version)
		detail.Revokes++
	}
	keys, err := s.keysOf(ctx, org, func(k account.StoredKey) bool { return k.Kind == account.KeyAdmin && k.UserID == seat.UserID })
	if err != nil {
		return err
	}
	if detail.Keys, err = s.revokeKeys(ctx, tx, org, a.Caller.Actor(), keys, now); err != nil {
		return err
	}
	if seat.State == account.SeatActive {
		if _, err := s.endSessionsOf(ctx, tx, seat.UserID); err != nil {
			return err
		}
	}
	seat.State, seat.RemovedAt, seat.Etag = account.SeatRemoved, &now, account.NextEtag(seat.Etag)
	account.Seats.Put(tx, org, seat.UserID, seat, row.Version)
	tx.Audit(org, a.Caller.Actor(), "seat.remove", seat.UserID, detail)
	return tx.Commit()
}

// RevokeSessions ends every session that may enter the org by the user's seat. An
// invited seat lets none in, so that an org can end no sessions of strangers by
// inviting them.
func (s *Service) RevokeSessions(ctx context.Context, a *Access, userID string) error {
	return account.Retry(func() error {
		row, err := s.seat(ctx, a.Org.ID, userID)
		if err != nil {
			return err
		}
		if row.Value.ActiveOwner() {
			if err := a.RequireOwner(ctx, "session.revoke_all"); err != nil {
				return err
			}
		}
		tx := s.Accounts.Begin(ctx)
		account.Seats.Require(tx, a.Org.ID, userID, row.Version)
		ended := 0
		if row.Value.State == account.SeatActive {
			if ended, err = s.endSessionsOf(ctx, tx, userID); err != nil {
				return err
			}
		}
		tx.Audit(a.Org.ID, a.Caller.Actor(), "session.revoke_all", userID, struct {
			Sessions int `json:"sessions"`
		}{ended})
		return tx.Commit()
	})
}
