package service

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/service/account"
)

const (
	sweepPage = 500 // records that are looked at, and at most deleted, at once

	// keysKept is how long, in milliseconds, a key that has ended is still listed. The
	// account log keeps what became of it.
	keysKept = int64(90 * 24 * time.Hour / time.Millisecond)
)

// SweepSessions deletes the sessions that have ended, of users who did not sign in
// again since.
func (s *Service) SweepSessions(ctx context.Context) error {
	now := s.Clock()
	return sweep(ctx, s.Accounts, account.Sessions, "", func(tx *account.Tx, row account.Row[account.StoredSession]) error {
		if !row.Value.Live(now) {
			account.Sessions.Delete(tx, "", row.ID, row.Version)
		}
		return nil
	})
}

// SweepKeys deletes the keys of an org that were revoked, or expired, long ago.
func (s *Service) SweepKeys(ctx context.Context, org string) error {
	ended := s.Clock() - keysKept
	past := func(at *int64) bool { return at != nil && *at < ended }
	return sweep(ctx, s.Accounts, account.Keys, org, func(tx *account.Tx, row account.Row[account.StoredKey]) error {
		if !past(row.Value.RevokedAt) && !past(row.Value.ExpiresAt) {
			return nil
		}
		account.Keys.Delete(tx, org, row.ID, row.Version)
		whose, found, err := account.KeyOrgs.Get(ctx, s.Accounts, "", row.ID)
		if err == nil && found {
			account.KeyOrgs.Delete(tx, "", row.ID, whose.Version)
		}
		return err
	})
}

// sweep looks through a collection page by page, a commit each. Where another host
// was there first, or a record was used meanwhile, the page is left to the next
// round.
func sweep[T any](ctx context.Context, s *account.Store, c account.Collection[T], org string, look func(*account.Tx, account.Row[T]) error) error {
	after := ""
	for {
		var page []account.Row[T] // read to its end first: the commit takes its own time
		for row, err := range c.Page(ctx, s, org, after, sweepPage) {
			if err != nil {
				return err
			}
			page = append(page, row)
		}
		tx := s.Begin(ctx)
		for _, row := range page {
			if err := look(tx, row); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil && err != error(account.ErrMoved) {
			return err
		}
		if len(page) < sweepPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}
